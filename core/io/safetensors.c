#include "io/safetensors.h"

#include "base/array.h"
#include "base/file.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *tensor(json_t *shape, uint64_t first_byte, uint64_t count) {
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", "F32", "shape", shape, "data_offsets",
                     (json_int_t)first_byte, (json_int_t)(first_byte + count * sizeof(float)));
}

static json_t *header_of(const genome *g) {
    json_t *header = json_object();
    uint64_t at = 0;
    for (size_t i = 0; i < g->edge_count; i++) {
        const kernel *k = g->edges[i].kernel;
        char name[64];
        snprintf(name, sizeof name, "edge.%" PRIu64 ".weight", g->edges[i].innovation);
        json_object_set_new(header, name,
                            tensor(json_pack("[I,I,I,I]", (json_int_t)k->target_channels,
                                             (json_int_t)k->source_channels, (json_int_t)k->height,
                                             (json_int_t)k->width),
                                   at, kernel_weight_count(k)));
        at += kernel_weight_count(k) * sizeof(float);
        snprintf(name, sizeof name, "edge.%" PRIu64 ".bias", g->edges[i].innovation);
        json_object_set_new(
            header, name,
            tensor(json_pack("[I]", (json_int_t)k->target_channels), at, k->target_channels));
        at += k->target_channels * sizeof(float);
    }
    return header;
}

// Header padded with spaces to a multiple of 8, as the format asks; floats are little-endian as on
// our machines.
static hox_status save(const char *path, const genome *g, const char *header, hox_error *error) {
    const size_t text_size = strlen(header), header_size = (text_size + 7) / 8 * 8;
    const size_t total = 8 + header_size + genome_weight_count(g) * sizeof(float);
    char *bytes = array_create(total, 1, error);
    if (!bytes) return HOX_OUT_OF_HOST_MEMORY;
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(header_size >> 8 * i & 0xff);
    memset(bytes + 8, ' ', header_size);
    memcpy(bytes + 8, header, text_size);
    char *at = bytes + 8 + header_size;
    for (size_t i = 0; i < g->edge_count; i++) {
        const size_t size = kernel_value_count(g->edges[i].kernel) * sizeof(float);
        memcpy(at, g->edges[i].kernel->values, size);
        at += size;
    }
    const hox_status status = file_write(path, bytes, total, error);
    free(bytes);
    return status;
}

hox_status safetensors_save(const char *path, const genome *g, hox_error *error) {
    json_t *header = header_of(g);
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (!text) return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
    const hox_status status = save(path, g, text, error);
    free(text);
    return status;
}
