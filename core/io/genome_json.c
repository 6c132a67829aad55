#include "io/genome_json.h"

#include "base/file.h"
#include "genome/validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char format_name[] = "hox-genome/1";
enum { MAX_FILE_BYTES = 1 << 30 };

// ---- printing ----

static json_t *print_floats(const float *values, uint64_t count) {
    json_t *array = json_array();
    for (uint64_t i = 0; i < count; i++)
        json_array_append_new(array, json_real((double)values[i]));
    return array;
}

static json_t *print_node(const genome_node *node) {
    return json_pack("{s:I, s:[I,I,I], s:s}", "id", (json_int_t)node->id, "size",
                     (json_int_t)node->size.channels, (json_int_t)node->size.height,
                     (json_int_t)node->size.width, "activation",
                     activation_names[node->activation]);
}

static json_t *print_edge(const genome_edge *edge) {
    const geometry g = edge->geometry;
    const uint64_t weight_count = kernel_weight_count(edge->kernel);
    return json_pack(
        "{s:I, s:I, s:I, s:b, s:[I,I], s:[I,I], s:[I,I], s:o, s:o}", "innovation",
        (json_int_t)edge->innovation, "from", (json_int_t)edge->from, "to", (json_int_t)edge->to,
        "enabled", edge->is_enabled, "kernel", (json_int_t)g.rows.kernel,
        (json_int_t)g.columns.kernel, "stride", (json_int_t)g.rows.stride,
        (json_int_t)g.columns.stride, "padding", (json_int_t)g.rows.padding,
        (json_int_t)g.columns.padding, "weights", print_floats(edge->kernel->values, weight_count),
        "bias", print_floats(edge->kernel->values + weight_count, edge->kernel->target_channels));
}

json_t *genome_json_print(const genome *g, hox_error *error) {
    json_t *nodes = json_array(), *edges = json_array();
    int failed = 0;
    for (size_t i = 0; i < g->node_count; i++)
        failed |= json_array_append_new(nodes, print_node(&g->nodes[i]));
    for (size_t i = 0; i < g->edge_count; i++)
        failed |= json_array_append_new(edges, print_edge(&g->edges[i]));
    json_t *json = json_pack("{s:s, s:I, s:[I,I], s:s, s:o, s:o}", "format", format_name, "id",
                             (json_int_t)g->id, "parents", (json_int_t)g->parent_ids[0],
                             (json_int_t)g->parent_ids[1], "readout", readout_names[g->readout],
                             "nodes", nodes, "edges", edges);
    if (json && !failed) return json;
    json_decref(json);
    hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
    return NULL;
}

// ---- reading: small parts ----

// place: "/nodes/3", for messages.
static hox_status wrong(const char *place, const char *key, const char *what, hox_error *error) {
    return hox_error_set(error, HOX_CORRUPT, "%s/%s: %s", place, key, what);
}

static hox_status read_number(const json_t *object, const char *place, const char *key,
                              uint64_t most, uint64_t *number, hox_error *error) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) return wrong(place, key, "expected an integer", error);
    if (json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) > most)
        return hox_error_set(error, HOX_CORRUPT, "%s/%s: %lld is outside 0..%llu", place, key,
                             (long long)json_integer_value(value), (unsigned long long)most);
    *number = (uint64_t)json_integer_value(value);
    return HOX_OK;
}

static hox_status read_u32(const json_t *object, const char *place, const char *key,
                           uint32_t *number, hox_error *error) {
    uint64_t wide = 0;
    HOX_TRY(read_number(object, place, key, UINT32_MAX, &wide, error));
    *number = (uint32_t)wide;
    return HOX_OK;
}

static hox_status read_list(const json_t *object, const char *place, const char *key, size_t count,
                            uint32_t *numbers, hox_error *error) {
    const json_t *list = json_object_get(object, key);
    if (json_array_size(list) != count)
        return hox_error_set(error, HOX_CORRUPT, "%s/%s: expected %zu integers", place, key, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        const json_int_t number = json_integer_value(value);
        if (!json_is_integer(value) || number < 0 || number > INT32_MAX)
            return hox_error_set(error, HOX_CORRUPT, "%s/%s/%zu: expected an integer from 0 to %d",
                                 place, key, i, INT32_MAX);
        numbers[i] = (uint32_t)number;
    }
    return HOX_OK;
}

static hox_status read_name(const json_t *object, const char *place, const char *key,
                            const char *const *names, uint32_t *number, hox_error *error) {
    const char *name = json_string_value(json_object_get(object, key));
    for (*number = 0; name && names[*number]; ++*number)
        if (strcmp(names[*number], name) == 0) return HOX_OK;
    return hox_error_set(error, HOX_CORRUPT, "%s/%s: %s%.40s", place, key,
                         name ? "unknown: " : "expected a string", name ? name : "");
}

static hox_status read_bool(const json_t *object, const char *place, const char *key, bool *value,
                            hox_error *error) {
    const json_t *found = json_object_get(object, key);
    if (!json_is_boolean(found)) return wrong(place, key, "expected true or false", error);
    *value = json_is_true(found);
    return HOX_OK;
}

static hox_status read_floats(const json_t *object, const char *place, const char *key,
                              uint64_t count, float *values, hox_error *error) {
    const json_t *list = json_object_get(object, key);
    if (json_array_size(list) != count)
        return hox_error_set(error, HOX_CORRUPT, "%s/%s: %zu numbers, expected %llu", place, key,
                             json_array_size(list), (unsigned long long)count);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        values[i] = (float)json_number_value(value);
        if (!json_is_number(value) || !isfinite(values[i]))
            return hox_error_set(error, HOX_CORRUPT, "%s/%s/%zu: expected a number within fp32",
                                 place, key, i);
    }
    return HOX_OK;
}

// What an array of objects holds, one by one.
typedef hox_status item_reader(const json_t *item, const char *place, size_t index, void *context,
                               hox_error *error);

static hox_status read_items(const json_t *root, const char *key, item_reader *read, void *context,
                             hox_error *error) {
    const json_t *list = json_object_get(root, key);
    if (!json_is_array(list)) return wrong("", key, "expected an array", error);
    for (size_t i = 0; i < json_array_size(list); i++) {
        char place[40];
        snprintf(place, sizeof place, "/%s/%zu", key, i);
        const json_t *item = json_array_get(list, i);
        if (!json_is_object(item)) return wrong(place, "", "expected an object { ... }", error);
        HOX_TRY(read(item, place, i, context, error));
    }
    return HOX_OK;
}

typedef struct reading {
    genome *genome;
    const log_sink *log;
    uint64_t seed;              // of a topology without weights
    uint32_t hidden_activation; // likewise
} reading;

// Where the ends of an edge are; *is_wanted false for a disabled edge to nowhere.
static hox_status find_ends(const reading *r, const genome_edge *edge, const char *place,
                            map_size *source, map_size *target, bool *is_wanted, hox_error *error) {
    const genome_node *from = genome_find_node(r->genome, edge->from);
    const genome_node *to = genome_find_node(r->genome, edge->to);
    *is_wanted = from && to;
    if (*is_wanted) {
        *source = from->size;
        *target = to->size;
        return HOX_OK;
    }
    const uint32_t missing = from ? edge->to : edge->from;
    if (edge->is_enabled)
        return hox_error_set(error, HOX_CORRUPT, "%s: edge %u -> %u: there is no node %u", place,
                             edge->from, edge->to, missing);
    log_line(r->log, HOX_LOG_WARNING,
             "%s: edge %u -> %u is dropped: it is disabled and there is no node %u", place,
             edge->from, edge->to, missing);
    return HOX_OK;
}

// Before memory is asked for by a number in a file.
static hox_status check_kernel_size(const genome_edge *edge, map_size source, map_size target,
                                    const char *place, hox_error *error) {
    const double count = (double)source.channels * target.channels * edge->geometry.rows.kernel *
                         edge->geometry.columns.kernel;
    if (count <= MAX_FILE_BYTES) return HOX_OK;
    return hox_error_set(error, HOX_CORRUPT, "%s: a kernel of %g weights is too large", place,
                         count);
}

// ---- hox-genome/1 ----

static hox_status read_node(const json_t *item, const char *place, size_t index, void *context,
                            hox_error *error) {
    (void)index;
    const reading *r = context;
    genome_node node;
    uint32_t size[3];
    HOX_TRY(read_u32(item, place, "id", &node.id, error));
    HOX_TRY(read_list(item, place, "size", 3, size, error));
    HOX_TRY(read_name(item, place, "activation", activation_names, &node.activation, error));
    node.size = (map_size){size[0], size[1], size[2]};
    return genome_add_node(r->genome, node, error);
}

static hox_status read_geometry(const json_t *item, const char *place, geometry *g,
                                hox_error *error) {
    uint32_t sides[2], stride[2], padding[2];
    HOX_TRY(read_list(item, place, "kernel", 2, sides, error));
    HOX_TRY(read_list(item, place, "stride", 2, stride, error));
    HOX_TRY(read_list(item, place, "padding", 2, padding, error));
    *g = (geometry){{sides[0], stride[0], padding[0]}, {sides[1], stride[1], padding[1]}};
    return HOX_OK;
}

static hox_status read_kernel(const json_t *item, const char *place, kernel *k, hox_error *error) {
    const uint64_t weight_count = kernel_weight_count(k);
    HOX_TRY(read_floats(item, place, "weights", weight_count, k->values, error));
    return read_floats(item, place, "bias", k->target_channels, k->values + weight_count, error);
}

static hox_status read_edge(const json_t *item, const char *place, size_t index, void *context,
                            hox_error *error) {
    (void)index;
    const reading *r = context;
    genome_edge edge = {0};
    map_size source, target;
    bool is_wanted;
    HOX_TRY(read_number(item, place, "innovation", INT64_MAX, &edge.innovation, error));
    HOX_TRY(read_u32(item, place, "from", &edge.from, error));
    HOX_TRY(read_u32(item, place, "to", &edge.to, error));
    HOX_TRY(read_bool(item, place, "enabled", &edge.is_enabled, error));
    HOX_TRY(read_geometry(item, place, &edge.geometry, error));
    HOX_TRY(find_ends(r, &edge, place, &source, &target, &is_wanted, error));
    if (!is_wanted) return HOX_OK;
    HOX_TRY(check_kernel_size(&edge, source, target, place, error));
    edge.kernel = kernel_create(source, target, edge.geometry, error);
    if (!edge.kernel) return HOX_OUT_OF_HOST_MEMORY;
    const hox_status status = read_kernel(item, place, edge.kernel, error);
    if (status != HOX_OK) {
        kernel_release(edge.kernel);
        return status;
    }
    return genome_add_edge(r->genome, edge, error);
}

// ---- a topology of the older system ----

static hox_status import_node(const json_t *item, const char *place, size_t index, void *context,
                              hox_error *error) {
    (void)index;
    const reading *r = context;
    genome_node node = {.size = {.channels = 3}};
    HOX_TRY(read_u32(item, place, "id", &node.id, error));
    HOX_TRY(read_u32(item, place, "size", &node.size.height, error));
    if (json_object_get(item, "channels"))
        HOX_TRY(read_u32(item, place, "channels", &node.size.channels, error));
    node.size.width = node.size.height;
    node.activation = node.id > GENOME_OUTPUT ? r->hidden_activation : HOX_ACTIVATION_IDENTITY;
    return genome_add_node(r->genome, node, error);
}

static hox_status import_edge(const json_t *item, const char *place, size_t index, void *context,
                              hox_error *error) {
    const reading *r = context;
    genome_edge edge = {.innovation = index + 1};
    map_size source, target;
    bool is_wanted;
    axis_geometry axis;
    HOX_TRY(read_u32(item, place, "from", &edge.from, error));
    HOX_TRY(read_u32(item, place, "to", &edge.to, error));
    HOX_TRY(read_u32(item, place, "kernel", &axis.kernel, error));
    HOX_TRY(read_u32(item, place, "stride", &axis.stride, error));
    HOX_TRY(read_u32(item, place, "padding", &axis.padding, error));
    HOX_TRY(read_bool(item, place, "enabled", &edge.is_enabled, error));
    edge.geometry = (geometry){axis, axis};
    const json_t *scale = json_object_get(item, "scale");
    if (scale && !json_is_null(scale) && !json_is_number(scale))
        return wrong(place, "scale", "expected a number or null", error);
    HOX_TRY(find_ends(r, &edge, place, &source, &target, &is_wanted, error));
    if (!is_wanted) return HOX_OK;
    HOX_TRY(check_kernel_size(&edge, source, target, place, error));
    rng random = rng_stream(r->seed, 0, (uint32_t)index, RNG_PURPOSE_IMPORT);
    edge.kernel = kernel_draw(source, target, edge.geometry, 1.0, &random, error);
    if (!edge.kernel) return HOX_OUT_OF_HOST_MEMORY;
    const float factor = json_is_number(scale) ? (float)json_number_value(scale) : 1.0f;
    for (uint64_t i = 0; i < kernel_value_count(edge.kernel); i++)
        edge.kernel->values[i] *= factor;
    return genome_add_edge(r->genome, edge, error);
}

static hox_status import_topology(const json_t *json, reading *r, hox_error *error) {
    r->hidden_activation = HOX_ACTIVATION_IDENTITY;
    if (!json_is_null(json_object_get(json, "activation")))
        HOX_TRY(read_name(json, "", "activation", activation_names, &r->hidden_activation, error));
    HOX_TRY(read_name(json, "", "output_readout", readout_names, &r->genome->readout, error));
    HOX_TRY(read_items(json, "nodes", import_node, r, error));
    return read_items(json, "edges", import_edge, r, error);
}

static hox_status read_parents(const json_t *json, uint64_t parents[2], hox_error *error) {
    const json_t *list = json_object_get(json, "parents");
    if (json_array_size(list) != 2) return wrong("", "parents", "expected two integers", error);
    for (size_t i = 0; i < 2; i++) {
        const json_t *id = json_array_get(list, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0)
            return wrong("", "parents", "expected two integers from 0", error);
        parents[i] = (uint64_t)json_integer_value(id);
    }
    return HOX_OK;
}

static hox_status read_genome(const json_t *json, reading *r, hox_error *error) {
    HOX_TRY(read_number(json, "", "id", INT64_MAX, &r->genome->id, error));
    HOX_TRY(read_parents(json, r->genome->parent_ids, error));
    HOX_TRY(read_name(json, "", "readout", readout_names, &r->genome->readout, error));
    HOX_TRY(read_items(json, "nodes", read_node, r, error));
    return read_items(json, "edges", read_edge, r, error);
}

// ---- either ----

static hox_status read_either(const json_t *json, reading *r, hox_error *error) {
    if (!json_is_object(json))
        return hox_error_set(error, HOX_CORRUPT, "expected an object { ... }");
    const json_t *format = json_object_get(json, "format");
    if (!format && !json_object_get(json, "nodes"))
        return hox_error_set(error, HOX_CORRUPT,
                             "not a genome: it has neither \"format\" nor \"nodes\"");
    if (!format) return import_topology(json, r, error);
    const char *name = json_string_value(format);
    if (!name || strcmp(name, format_name) != 0)
        return hox_error_set(error, HOX_CORRUPT, "/format: \"%.40s\" where \"%s\" is read",
                             name ? name : "", format_name);
    return read_genome(json, r, error);
}

hox_status genome_json_read(const json_t *json, uint64_t seed, uint32_t max_kernel,
                            const log_sink *log, genome **out, hox_error *error) {
    *out = NULL;
    reading r = {.genome = genome_create(HOX_READOUT_SUM, error), .log = log, .seed = seed};
    if (!r.genome) return HOX_OUT_OF_HOST_MEMORY;
    hox_error why = HOX_ERROR_INIT;
    hox_status status = read_either(json, &r, &why);
    if (status == HOX_OK) status = genome_validate(r.genome, max_kernel, &why);
    if (status == HOX_OK) {
        *out = r.genome;
        return HOX_OK;
    }
    genome_destroy(r.genome);
    if (status == HOX_INVALID_ARGUMENT) status = HOX_CORRUPT; // here the argument is a file
    return hox_error_pass(error, status, &why);
}

hox_status genome_json_load(const char *path, uint64_t seed, uint32_t max_kernel,
                            const log_sink *log, genome **out, hox_error *error) {
    *out = NULL;
    char *text;
    size_t size;
    json_error_t where;
    hox_error why = HOX_ERROR_INIT;
    HOX_TRY(file_read(path, MAX_FILE_BYTES, &text, &size, error));
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    free(text);
    if (!json)
        return hox_error_set(error, HOX_CORRUPT, "%s:%d:%d: %s", path, where.line, where.column,
                             where.text);
    const hox_status status = genome_json_read(json, seed, max_kernel, log, out, &why);
    json_decref(json);
    if (status == HOX_OK) return HOX_OK;
    return hox_error_set(error, status, "%s: %.400s", path, why.message);
}

hox_status genome_json_save(const char *path, const genome *g, hox_error *error) {
    json_t *json = genome_json_print(g, error);
    if (!json) return HOX_OUT_OF_HOST_MEMORY;
    char *text = json_dumps(json, GENOME_JSON_FLAGS);
    json_decref(json);
    if (!text) return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
    const hox_status status = file_write(path, text, strlen(text), error);
    free(text);
    return status;
}
