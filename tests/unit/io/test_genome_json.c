// test_genome_json.c - genomes to JSON and back to the bit; what files may get wrong, in words.
#include "io/genome_json.h"
#include "random.h"
#include "temp_folder.h"

#include <criterion/criterion.h>
#include <float.h>
#include <stdbool.h>
#include <string.h>

// ---- there and back ----

static float random_float(test_random *r) {
    static const float special[] = {0.0F,    -0.0F,    1e-45F,   -1e-45F,  1.1754942e-38F,
                                    FLT_MIN, -FLT_MIN, FLT_MAX,  -FLT_MAX, 16777217.0F,
                                    0.1F,    1.0F / 3, -2.5e-41F};
    if (random_below(r, 3) == 0) return special[random_below(r, sizeof special / sizeof *special)];
    uint32_t bits = (uint32_t)random_next(r);
    if ((bits & 0x7f800000U) == 0x7f800000U) bits &= ~0x800000U; // neither infinite nor NaN
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void add_random_edge(genome *g, test_random *r, const genome_node *from,
                            const genome_node *to, uint64_t innovation) {
    const genome_config rules = {.same3 = (int32_t)random_below(r, 2),
                                 .stride2 = (int32_t)random_below(r, 2)};
    genome_edge edge = {.innovation = innovation,
                        .from = from->id,
                        .to = to->id,
                        .geometry = geometry_between(from->size, to->size, &rules),
                        .is_enabled = random_below(r, 3) > 0};
    edge.kernel = kernel_create(from->size, to->size, edge.geometry, NULL);
    for (uint64_t i = 0; i < kernel_value_count(edge.kernel); i++)
        edge.kernel->values[i] = random_float(r);
    cr_assert_eq(genome_add_edge(g, edge, NULL), HOX_OK);
}

// Maps of any shape; edges lead from lower to higher place, the output being the last.
static genome *random_genome(uint64_t seed) {
    test_random r = {seed};
    genome *g = genome_create(random_below(&r, HOX_READOUT_COUNT), NULL);
    g->id = random_next(&r) >> 1;
    g->parent_ids[0] = random_next(&r) >> 1;
    g->parent_ids[1] = random_next(&r) >> 1;
    const uint32_t count = 2 + random_below(&r, 5);
    genome_node nodes[7];
    uint32_t id = 1;
    for (uint32_t i = 0; i < count; i++) {
        id += 1 + random_below(&r, 1U << 28);
        nodes[i] = (genome_node){
            .id = i == 0           ? GENOME_INPUT
                  : i == count - 1 ? GENOME_OUTPUT
                                   : id,
            .activation = i == 0 ? HOX_ACTIVATION_IDENTITY : random_below(&r, HOX_ACTIVATION_COUNT),
            .size = {1 + random_below(&r, 3), 1 + random_below(&r, 7), 1 + random_below(&r, 9)}};
        cr_assert_eq(genome_add_node(g, nodes[i], NULL), HOX_OK);
    }
    uint64_t innovation = 0;
    for (uint32_t to = 1; to < count; to++)
        for (uint32_t from = 0; from < to; from++)
            if (random_below(&r, 2)) {
                innovation += 1 + (random_next(&r) >> 8);
                add_random_edge(g, &r, &nodes[from], &nodes[to], innovation);
            }
    return g;
}

static bool edge_equals(const genome_edge *a, const genome_edge *b) {
    return a->innovation == b->innovation && a->from == b->from && a->to == b->to &&
           a->is_enabled == b->is_enabled &&
           memcmp(&a->geometry, &b->geometry, sizeof a->geometry) == 0 &&
           kernel_value_count(a->kernel) == kernel_value_count(b->kernel) &&
           memcmp(a->kernel->values, b->kernel->values,
                  kernel_value_count(a->kernel) * sizeof(float)) == 0;
}

static bool genome_equals(const genome *a, const genome *b) {
    bool equal = a->id == b->id && a->parent_ids[0] == b->parent_ids[0] &&
                 a->parent_ids[1] == b->parent_ids[1] && a->readout == b->readout &&
                 a->node_count == b->node_count && a->edge_count == b->edge_count &&
                 memcmp(a->nodes, b->nodes, a->node_count * sizeof *a->nodes) == 0;
    for (size_t i = 0; equal && i < a->edge_count; i++)
        equal = edge_equals(&a->edges[i], &b->edges[i]);
    return equal;
}

Test(genome_json, gives_back_every_bit) {
    const temp_folder folder = temp_folder_make();
    char *path = temp_path(&folder, "genome.json");
    size_t edges = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        genome *g = random_genome(seed), *back;
        hox_error error = HOX_ERROR_INIT;
        cr_assert_eq(genome_json_save(path, g, &error), HOX_OK, "%s", error.message);
        cr_assert_eq(genome_json_load(path, 0, 0, NULL, &back, &error), HOX_OK, "seed %zu: %s",
                     (size_t)seed, error.message);
        cr_expect(genome_equals(g, back), "seed %zu", (size_t)seed);
        edges += g->edge_count;
        genome_destroy(g);
        genome_destroy(back);
    }
    cr_expect_gt(edges, 300);
    free(path);
    temp_folder_remove(&folder);
}

// ---- what is refused ----

static const char good[] =
    "{\"format\": \"hox-genome/1\", \"id\": 7, \"parents\": [3, 0], \"readout\": \"sum\",\n"
    " \"nodes\": [{\"id\": 0, \"size\": [1,2,3], \"activation\": \"identity\"},\n"
    "  {\"id\": 1, \"size\": [1,1,1], \"activation\": \"identity\"},\n"
    "  {\"id\": 2, \"size\": [2,2,2], \"activation\": \"tanh\"}],\n"
    " \"edges\": [{\"innovation\": 1, \"from\": 0, \"to\": 1, \"enabled\": true, \"kernel\": [2,3],"
    " \"stride\": [1,1], \"padding\": [0,0], \"weights\": [1,2,3,4,5,6], \"bias\": [0.5]},\n"
    "  {\"innovation\": 4, \"from\": 0, \"to\": 2, \"enabled\": true, \"kernel\": [1,2],"
    " \"stride\": [1,1], \"padding\": [0,0], \"weights\": [1,2,3,4], \"bias\": [0,0]},\n"
    "  {\"innovation\": 5, \"from\": 2, \"to\": 1, \"enabled\": false, \"kernel\": [2,2],"
    " \"stride\": [1,1], \"padding\": [0,0], \"weights\": [1,2,3,4,5,6,7,8], \"bias\": [0]}]}";

// In the text of good, or of a topology, the first old becomes new; then the second.
typedef struct refusal {
    const char *old[2], *new[2], *message;
} refusal;

#define KERNEL_0 "\"kernel\": [2,3]"
#define EDGE_1   "\"from\": 0, \"to\": 2"
#define SHAPE_1  "\"kernel\": [1,2]"
#define EDGES    "\"edges\": ["
#define NO_EDGES "\"edges\": [], \"rest\": ["
static const refusal refusals[] = {
    // the parts of the text
    {{"hox-genome/1"}, {"hox-genome/2"}, "/format: \"hox-genome/2\" where \"hox-genome/1\""},
    {{"\"hox-genome/1\""}, {"5"}, "/format: \"\" where"},
    {{"\"id\": 7"}, {"\"id\": -1"}, "/id: -1 is outside 0.."},
    {{"[3, 0]"}, {"[3.5, 0]"}, "/parents: expected two integers from 0"},
    {{"[3, 0]"}, {"[3, -1]"}, "/parents: expected two integers from 0"},
    {{"[3, 0]"}, {"[3]"}, "/parents: expected two integers"},
    {{"\"parents\": [3, 0]"}, {"\"parent\": 3"}, "/parents: expected two integers"},
    {{"\"readout\": \"sum\""}, {"\"readout\": \"max\""}, "/readout: unknown: max"},
    {{"\"readout\": \"sum\""}, {"\"readout\": 1"}, "/readout: expected a string"},
    {{"\"nodes\": ["}, {"\"nodes\": [null,"}, "/nodes/0"},
    {{EDGES}, {"\"edges\": 0, \"rest\": ["}, "/edges: expected an array"},
    {{"\"size\": [2,2,2]"}, {"\"size\": [2,2]"}, "/nodes/2/size: expected 3 integers"},
    {{"[2,2,2]"}, {"[2,-2,2]"}, "/nodes/2/size/1: expected an integer from 0"},
    {{"\"tanh\""}, {"\"softmax\""}, "/nodes/2/activation: unknown: softmax"},
    {{"\"innovation\": 4"}, {"\"innovation\": \"4\""}, "/edges/1/innovation: expected an integer"},
    {{"\"from\": 0"}, {"\"from\": 4294967296"}, "/edges/0/from: 4294967296 is outside"},
    {{"\"enabled\": true"}, {"\"enabled\": 1"}, "/edges/0/enabled: expected true or false"},
    {{KERNEL_0}, {"\"kernel\": 2"}, "/edges/0/kernel: expected 2 integers"},
    {{"[1,2,3,4]"}, {"[1,2,3]"}, "/edges/1/weights: 3 numbers, expected 4"},
    {{"[1,2,3,4]"}, {"[1,2,1e39,4]"}, "/edges/1/weights/2: expected a number within fp32"},
    {{"[1,2,3,4]"}, {"[1,null,3,4]"}, "/edges/1/weights/1: expected a number"},
    {{"[0.5]"}, {"[0.5, 1]"}, "/edges/0/bias: 2 numbers, expected 1"},
    // the genome
    {{"\"id\": 2"}, {"\"id\": 1"}, "node 1: given twice"},
    {{"\"id\": 0", EDGES}, {"\"id\": 9", NO_EDGES}, "node 0 (input) or node 1"},
    {{"[1,1,1]"}, {"[1,0,1]"}, "node 1: size 1 x 0 x 1"},
    {{"[1,1,1]", EDGES}, {"[70000,1,1]", NO_EDGES}, "node 1: size 70000 x 1 x 1"},
    {{"\"innovation\": 4"}, {"\"innovation\": 1"}, "innovation 1"},
    {{EDGE_1}, {"\"from\": 0, \"to\": 3"}, "edge 0 -> 3: there is no node 3"},
    {{EDGE_1}, {"\"from\": 8, \"to\": 2"}, "edge 8 -> 2: there is no node 8"},
    {{EDGE_1, "[0,0]}"}, {"\"from\": 2, \"to\": 0", "[0]}"}, "edge 2 -> 0: leads into the input"},
    {{EDGE_1}, {"\"from\": 1, \"to\": 2"}, "edge 1 -> 2: leads out of the output"},
    {{KERNEL_0}, {"\"kernel\": [2,2]"}, "/edges/0/weights: 6 numbers, expected 4"},
    {{SHAPE_1}, {"\"kernel\": [2,1]"}, "edge 0 -> 2: kernel 2 x 1"},
    {{"\"stride\": [1,1]"}, {"\"stride\": [0,1]"}, "edge 0 -> 1: kernel"},
    {{SHAPE_1, "[1,2,3,4]"}, {"\"kernel\": [0,2]", "[]"}, "edge 0 -> 2: kernel 0 x 2"},
    {{SHAPE_1}, {"\"kernel\": [2147483647,2147483647]"}, "/edges/1: a kernel of"},
    {{EDGE_1, SHAPE_1}, {"\"from\": 2, \"to\": 2", "\"kernel\": [1,1]"}, "node 2: lies on a cycle"},
};

static const char topology[] =
    "{\"input\": [3,4,4], \"input_node\": 0, \"output_node\": 1, \"activation\": null,\n"
    " \"output_readout\": \"mean\",\n"
    " \"nodes\": [{\"id\": 0, \"size\": 4}, {\"id\": 1, \"size\": 1},\n"
    "  {\"id\": 5, \"size\": 3, \"channels\": 8}],\n"
    " \"edges\": [{\"from\": 0, \"to\": 5, \"kernel\": 2, \"padding\": 0, \"stride\": 1,"
    " \"enabled\": true, \"scale\": null},\n"
    "  {\"from\": 5, \"to\": 1, \"kernel\": 3, \"padding\": 0, \"stride\": 1, \"enabled\": true}]}";

static const refusal topology_refusals[] = {
    {{"null,"}, {"\"swish\","}, "/activation: unknown: swish"},
    {{"\"mean\""}, {"\"median\""}, "/output_readout: unknown: median"},
    {{"\"output_readout\""}, {"\"readout\""}, "/output_readout: expected a string"},
    {{"\"size\": 4"}, {"\"size\": [3,4,4]"}, "/nodes/0/size: expected an integer"},
    {{"\"channels\": 8"}, {"\"channels\": 0"}, "node 5: size 0 x 3 x 3"},
    {{"\"scale\": null"}, {"\"scale\": \"1\""}, "/edges/0/scale: expected a number or null"},
    {{"\"kernel\": 3"}, {"\"kernel\": 2"}, "edge 5 -> 1: kernel 2 x 2"},
    {{"\"to\": 5"}, {"\"to\": 6"}, "edge 0 -> 6: there is no node 6"},
    {{"\"scale\": null"}, {"\"scale\": 1e300"}, "edge 0 -> 5: a weight is not finite"},
};

// In place; text has room.
static void replace(char *text, const char *old, const char *new) {
    char *at = strstr(text, old);
    cr_assert_not_null(at, "no %s", old);
    const size_t old_size = strlen(old), new_size = strlen(new);
    memmove(at + new_size, at + old_size, strlen(at + old_size) + 1);
    memcpy(at, new, new_size);
}

static hox_status read_text(const char *text, uint32_t max_kernel, const log_sink *log, genome **g,
                            hox_error *error) {
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    cr_assert_not_null(json, "the test's own JSON: %s", text);
    const hox_status status = genome_json_read(json, 1, max_kernel, log, g, error);
    json_decref(json);
    return status;
}

static void check_refusals(const char *text, const refusal *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char changed[2048];
        snprintf(changed, sizeof changed, "%s", text);
        for (int k = 0; k < 2 && rows[i].old[k]; k++)
            replace(changed, rows[i].old[k], rows[i].new[k]);
        hox_error error = HOX_ERROR_INIT;
        genome *g = (genome *)&error;
        cr_expect_eq(read_text(changed, 0, NULL, &g, &error), HOX_CORRUPT, "%s", rows[i].message);
        cr_expect(strstr(error.message, rows[i].message), "%s: %s", rows[i].message, error.message);
        cr_expect_null(g);
    }
}

Test(genome_json, names_the_place_of_what_it_refuses) {
    genome *g;
    cr_assert_eq(read_text(good, 0, NULL, &g, NULL), HOX_OK);
    genome_destroy(g);
    check_refusals(good, refusals, sizeof refusals / sizeof *refusals);
}

Test(genome_json, names_the_place_in_a_topology_too) {
    genome *g;
    cr_assert_eq(read_text(topology, 0, NULL, &g, NULL), HOX_OK);
    genome_destroy(g);
    check_refusals(topology, topology_refusals,
                   sizeof topology_refusals / sizeof *topology_refusals);
}

Test(genome_json, holds_to_the_largest_kernel) {
    hox_error error = HOX_ERROR_INIT;
    genome *g;
    cr_expect_eq(read_text(good, 2, NULL, &g, &error), HOX_CORRUPT);
    cr_expect(strstr(error.message, "edge 0 -> 1: kernel 2 x 3 is larger than max_kernel 2"), "%s",
              error.message);
    cr_assert_eq(read_text(good, 3, NULL, &g, NULL), HOX_OK);
    genome_destroy(g);
}

Test(genome_json, refuses_what_is_no_object) {
    hox_error error = HOX_ERROR_INIT;
    genome *g;
    cr_expect_eq(read_text("[1]", 0, NULL, &g, &error), HOX_CORRUPT);
    cr_expect(strstr(error.message, "expected an object"), "%s", error.message);
}

// ---- disabled edges to nowhere ----

static void keep_line(void *context, uint32_t level, const char *line) {
    char *kept = context;
    snprintf(kept, 256, "%u %s", level, line);
}

Test(genome_json, drops_disabled_edges_to_nowhere_with_a_warning) {
    char text[2048], line[256];
    const log_sink log = {.level = HOX_LOG_DEBUG, .write = keep_line, .context = line};
    genome *g;
    snprintf(text, sizeof text, "%s", good);
    replace(text, "\"from\": 2, \"to\": 1", "\"from\": 2, \"to\": 99");
    cr_assert_eq(read_text(text, 0, &log, &g, NULL), HOX_OK);
    cr_expect_eq(g->edge_count, 2);
    cr_expect_str_eq(line, "2 /edges/2: edge 2 -> 99 is dropped: it is disabled and there is no "
                           "node 99");
    genome_destroy(g);

    snprintf(text, sizeof text, "%s", topology);
    replace(text, "\"to\": 5", "\"to\": 6");
    replace(text, "true", "false");
    cr_assert_eq(read_text(text, 0, &log, &g, NULL), HOX_OK);
    cr_expect_eq(g->edge_count, 1);
    cr_expect_eq(g->edges[0].innovation, 2, "the place in the file stays the innovation");
    cr_expect(strstr(line, "/edges/0: edge 0 -> 6 is dropped"), "%s", line);
    genome_destroy(g);
}

// ---- files ----

Test(genome_json, names_file_line_and_column) {
    const temp_folder folder = temp_folder_make();
    char *path = temp_path(&folder, "genome.json"), expected[256];
    static const struct {
        const char *text, *message;
        hox_status status;
    } rows[] = {
        {"{\n  \"id\": ,\n}", ":2:9: ", HOX_CORRUPT},
        {"{\"id\": 1, \"id\": 2}", ": duplicate object key", HOX_CORRUPT},
        {"{\"format\": 3}", ": /format: ", HOX_CORRUPT},
        {"", ":1:0: ", HOX_CORRUPT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hox_error error = HOX_ERROR_INIT;
        genome *g;
        temp_write(path, rows[i].text);
        cr_expect_eq(genome_json_load(path, 0, 0, NULL, &g, &error), rows[i].status);
        cr_expect_eq(strncmp(error.message, path, strlen(path)), 0, "%s", error.message);
        cr_expect(strstr(error.message, rows[i].message), "%s: %s", rows[i].message, error.message);
    }
    hox_error error = HOX_ERROR_INIT;
    genome *g;
    snprintf(expected, sizeof expected, "%s: cannot open: No such file or directory", path);
    remove(path);
    cr_expect_eq(genome_json_load(path, 0, 0, NULL, &g, &error), HOX_IO);
    cr_expect_str_eq(error.message, expected);
    cr_expect_null(g);
    free(path);
    temp_folder_remove(&folder);
}
