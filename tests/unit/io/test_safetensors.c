// test_safetensors.c - read back by the format's description: eight bytes of header length, a JSON
// header, raw data.
#include "io/safetensors.h"
#include "temp_folder.h"

#include <criterion/criterion.h>
#include <jansson.h>

static void add_edge(genome *g, uint64_t innovation, uint32_t from, uint32_t to, map_size source,
                     map_size target, bool is_enabled, float first) {
    genome_edge edge = {.innovation = innovation,
                        .from = from,
                        .to = to,
                        .geometry = geometry_between(source, target, &(genome_config){0}),
                        .is_enabled = is_enabled};
    edge.kernel = kernel_create(source, target, edge.geometry, NULL);
    for (uint64_t i = 0; i < kernel_value_count(edge.kernel); i++)
        edge.kernel->values[i] = first + (float)i;
    cr_assert_eq(genome_add_edge(g, edge, NULL), HOX_OK);
}

static const char *shape_text(const json_t *tensor) {
    static char text[64];
    text[0] = 0;
    size_t i;
    json_t *side;
    json_array_foreach(json_object_get(tensor, "shape"), i, side)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i ? " " : "",
                 (int)json_integer_value(side));
    return text;
}

// Offsets and the first and last value.
static void check_tensor(const json_t *header, const char *data, const char *name,
                         const char *shape, size_t begin, size_t count, float first) {
    const json_t *tensor = json_object_get(header, name);
    cr_assert_not_null(tensor, "%s", name);
    const json_t *offsets = json_object_get(tensor, "data_offsets");
    cr_expect_str_eq(json_string_value(json_object_get(tensor, "dtype")), "F32");
    cr_expect_str_eq(shape_text(tensor), shape, "%s", name);
    cr_expect_eq(json_array_size(offsets), 2);
    cr_expect_eq(json_integer_value(json_array_get(offsets, 0)), (json_int_t)begin, "%s", name);
    cr_expect_eq(json_integer_value(json_array_get(offsets, 1)), (json_int_t)(begin + 4 * count),
                 "%s", name);
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, data + begin + 4 * i, sizeof value);
        cr_expect_eq(value, first + (float)i, "%s[%zu]", name, i);
    }
}

// 2 x 3 x 4 to 3 x 2 x 2: kernel 2 x 3, 36 weights and 3 biases; to 1 x 1 x 1: kernel 2 x 2, 12
// and 1.
Test(safetensors, holds_every_edge_where_the_header_says) {
    const temp_folder folder = temp_folder_make();
    char *path = temp_path(&folder, "weights.safetensors");
    const map_size in = {2, 3, 4}, hidden = {3, 2, 2}, out = {1, 1, 1};
    genome *g = genome_create(HOX_READOUT_SUM, NULL);
    cr_assert_eq(genome_add_node(g, (genome_node){0, 0, in}, NULL), HOX_OK);
    cr_assert_eq(genome_add_node(g, (genome_node){1, 0, out}, NULL), HOX_OK);
    cr_assert_eq(genome_add_node(g, (genome_node){7, 0, hidden}, NULL), HOX_OK);
    add_edge(g, 12, 7, 1, hidden, out, false, 1000);
    add_edge(g, 3, 0, 7, in, hidden, true, 1);
    cr_assert_eq(safetensors_save(path, g, NULL), HOX_OK);

    size_t size;
    char *bytes = temp_read(path, &size);
    uint64_t header_size = 0;
    for (int i = 0; i < 8; i++)
        header_size |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    cr_expect_eq(header_size % 8, 0);
    cr_assert_eq(size, 8 + header_size + 4 * (36 + 3 + 12 + 1));
    cr_expect_eq(bytes[8], '{');
    json_t *header = json_loadb(bytes + 8, header_size, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(header);
    cr_expect_eq(json_object_size(header), 4);
    const char *data = bytes + 8 + header_size;
    check_tensor(header, data, "edge.3.weight", "3 2 2 3", 0, 36, 1);
    check_tensor(header, data, "edge.3.bias", "3", 4 * 36, 3, 37);
    check_tensor(header, data, "edge.12.weight", "1 3 2 2", 4 * 39, 12, 1000);
    check_tensor(header, data, "edge.12.bias", "1", 4 * 51, 1, 1012);
    json_decref(header);
    free(bytes);
    genome_destroy(g);
    free(path);
    temp_folder_remove(&folder);
}

Test(safetensors, says_where_it_could_not_write) {
    genome *g = genome_create(HOX_READOUT_SUM, NULL);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(safetensors_save("/proc/nowhere/weights", g, &error), HOX_IO);
    cr_expect(strstr(error.message, "/proc/nowhere/weights"), "%s", error.message);
    genome_destroy(g);
}
