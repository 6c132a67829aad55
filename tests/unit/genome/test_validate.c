// test_validate.c - what is refused, with the node or edge in the message.
#include "genome/validate.h"

#include "genome_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

// 0 (3 x 8 x 8) -> 2 (3 x 5 x 6) -> 3 (4 x 3 x 3) -> 1 (3 x 1 x 1), and 0 -> 1.
static genome *good_genome(void) {
    genome *g = genome_of(SIZE(3, 8, 8), SIZE(3, 1, 1));
    put_node(g, 2, SIZE(3, 5, 6), HOX_ACTIVATION_RELU);
    put_node(g, 3, SIZE(4, 3, 3), HOX_ACTIVATION_SILU);
    put_edge(g, 1, 0, 1);
    put_edge(g, 2, 0, 2);
    put_edge(g, 3, 2, 3);
    put_edge(g, 4, 3, 1);
    return g;
}

static genome_node *node(genome *g, uint32_t id) {
    return &g->nodes[genome_find_node(g, id) - g->nodes];
}

static void no_change(genome *g) {
    (void)g;
}
static void drop_input(genome *g) {
    genome_remove_node(g, 0);
}
static void drop_output(genome *g) {
    genome_remove_node(g, 1);
}
static void no_rows(genome *g) {
    node(g, 2)->size.height = 0;
}
static void no_columns(genome *g) {
    node(g, 3)->size.width = 0;
}
static void no_channels(genome *g) {
    node(g, 3)->size.channels = 0;
}
static void input_of_size_0(genome *g) {
    node(g, 0)->size.height = 0;
}
static void too_many_columns(genome *g) {
    node(g, 2)->size.width = 65537;
}
static void unknown_activation(genome *g) {
    node(g, 3)->activation = HOX_ACTIVATION_COUNT;
}
static void unknown_readout(genome *g) {
    g->readout = HOX_READOUT_COUNT;
}
static void unknown_source(genome *g) {
    genome_find_edge(g, 2, 3)->from = 9;
}
static void unknown_target(genome *g) {
    genome_find_edge(g, 3, 1)->to = 17;
}
static void into_input(genome *g) {
    put_edge(g, 5, 2, 0);
}
static void out_of_output(genome *g) {
    put_edge(g, 5, 1, 3);
}
static void wrong_kernel_rows(genome *g) {
    genome_find_edge(g, 0, 2)->geometry.rows.kernel = 3;
}
static void wrong_stride(genome *g) {
    genome_find_edge(g, 0, 2)->geometry.columns.stride = 2;
}
static void stride_0(genome *g) {
    genome_find_edge(g, 0, 2)->geometry.columns.stride = 0;
}
static void wrong_padding(genome *g) {
    genome_find_edge(g, 3, 1)->geometry.columns.padding = 1;
}
static void wide_stride(genome *g) {
    genome_find_edge(g, 0, 2)->geometry.rows.stride = 65537;
}
static void wide_padding(genome *g) {
    genome_find_edge(g, 3, 1)->geometry.columns.padding = UINT32_C(1) << 31;
}
static void kernel_of_other_shape(genome *g) {
    genome_edge *edge = genome_find_edge(g, 2, 3);
    genome_replace_kernel(edge, kernel_retain(genome_find_edge(g, 0, 2)->kernel));
}
static void kernel_of_other_channels(genome *g) {
    genome_edge *edge = genome_find_edge(g, 2, 3);
    genome_replace_kernel(edge, kernel_create(SIZE(3, 5, 6), SIZE(3, 3, 3), edge->geometry, NULL));
}
static void weight_nan(genome *g) {
    genome_find_edge(g, 0, 1)->kernel->values[5] = NAN;
}
static void bias_infinite(genome *g) {
    kernel *k = genome_find_edge(g, 3, 1)->kernel;
    k->values[kernel_value_count(k) - 1] = INFINITY;
}
static void twins(genome *g) {
    put_edge(g, 5, 0, 3)->to = 2;
    genome_edge *twin = &g->edges[4];
    twin->geometry = genome_find_edge(g, 0, 2)->geometry;
    genome_replace_kernel(twin, kernel_retain(genome_find_edge(g, 0, 2)->kernel));
}
static void disabled_twins(genome *g) {
    twins(g);
    g->edges[4].is_enabled = false;
}
static void self_loop(genome *g) {
    put_edge(g, 5, 3, 3);
}
static void cycle(genome *g) {
    put_edge(g, 5, 3, 2);
}
static void cycle_apart(genome *g) { // 2 and 3 hang behind the cycle 5 -> 7 -> 6 -> 5
    for (uint32_t id = 5; id <= 7; id++)
        put_node(g, id, SIZE(1, 2, 2), 0);
    put_edge(g, 5, 5, 7);
    put_edge(g, 6, 7, 6);
    put_edge(g, 7, 6, 5);
    put_edge(g, 8, 6, 2);
}
static void disabled_cycle(genome *g) {
    put_edge(g, 5, 3, 2)->is_enabled = false;
    put_edge(g, 6, 2, 2)->is_enabled = false;
}
static void cut(genome *g) {
    genome_find_edge(g, 0, 1)->is_enabled = false;
    genome_find_edge(g, 3, 1)->is_enabled = false;
}
static void stored_geometry(genome *g) { // 8 -> 5 as 4 -> floor((8 + 2 - 2) / 2) + 1
    genome_edge *edge = genome_find_edge(g, 0, 2);
    edge->geometry = (geometry){{2, 2, 1}, {3, 1, 0}};
    genome_replace_kernel(edge, kernel_create(SIZE(3, 8, 8), SIZE(3, 5, 6), edge->geometry, NULL));
}

// message NULL: valid. limit: max_kernel; the largest kernel of the good genome is 8 x 8.
static const struct {
    void (*change)(genome *g);
    uint32_t limit;
    const char *message;
} rows[] = {
    {no_change, 0, NULL},
    {no_change, 8, NULL},
    {no_change, 7, "edge 0 -> 1: kernel 8 x 8 is larger than max_kernel 7"},
    {drop_input, 0, "node 0 (input) or node 1 (output) is missing"},
    {drop_output, 0, "node 0 (input) or node 1 (output) is missing"},
    {no_rows, 0, "node 2: size 3 x 0 x 6"},
    {no_columns, 0, "node 3: size 4 x 3 x 0"},
    {no_channels, 0, "node 3: size 0 x 3 x 3"},
    {input_of_size_0, 0, "node 0: size 3 x 0 x 8"},
    {too_many_columns, 0, "node 2: size 3 x 5 x 65537"},
    {unknown_activation, 0, "node 3: unknown activation 7"},
    {unknown_readout, 0, "unknown readout 3"},
    {unknown_source, 0, "edge 9 -> 3: there is no node 9"},
    {unknown_target, 0, "edge 3 -> 17: there is no node 17"},
    {into_input, 0, "edge 2 -> 0: leads into the input"},
    {out_of_output, 0, "edge 1 -> 3: leads out of the output"},
    {wrong_kernel_rows, 0, "edge 0 -> 2: kernel 3 x 3"},
    {wrong_stride, 0, "edge 0 -> 2: kernel 4 x 3, stride 1 x 2"},
    {stride_0, 0, "edge 0 -> 2: kernel 4 x 3, stride 1 x 0"},
    {wrong_padding, 0, "edge 3 -> 1: kernel 3 x 3, stride 1 x 1, padding 0 x 1"},
    {wide_stride, 0, "edge 0 -> 2: a stride or a padding is above 65536"},
    {wide_padding, 0, "edge 3 -> 1: a stride or a padding is above 65536"},
    {kernel_of_other_shape, 0, "edge 2 -> 3: the weights have another shape"},
    {kernel_of_other_channels, 0, "edge 2 -> 3: the weights have another shape"},
    {weight_nan, 0, "edge 0 -> 1: a weight is not finite"},
    {bias_infinite, 0, "edge 3 -> 1: a weight is not finite"},
    {twins, 0, "edge 0 -> 2: given twice"},
    {disabled_twins, 0, "edge 0 -> 2: given twice"},
    {self_loop, 0, "node 3: lies on a cycle"},
    {cycle, 0, "node "},
    {cycle_apart, 0, "node "},
    {disabled_cycle, 0, NULL},
    {cut, 0, NULL}, // without a path a genome is legal
    {stored_geometry, 0, NULL},
};

Test(validate, names_what_is_wrong_and_where) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hox_error error = HOX_ERROR_INIT;
        genome *g = good_genome();
        rows[i].change(g);
        const hox_status status = genome_validate(g, rows[i].limit, &error);
        const char *message = rows[i].message;
        cr_expect_eq(status, message ? HOX_INVALID_ARGUMENT : HOX_OK, "row %zu: %s", i,
                     error.message);
        cr_expect_eq(strncmp(error.message, message ? message : "", message ? strlen(message) : 1),
                     0, "row %zu: %s", i, error.message);
        genome_destroy(g);
    }
}

static uint32_t node_on_cycle(void (*change)(genome *g)) {
    hox_error error = HOX_ERROR_INIT;
    uint32_t id = 0;
    genome *g = good_genome();
    change(g);
    cr_assert_eq(genome_validate(g, 0, &error), HOX_INVALID_ARGUMENT);
    cr_assert_eq(sscanf(error.message, "node %u: lies on a cycle", &id), 1, "%s", error.message);
    genome_destroy(g);
    return id;
}

Test(validate, names_a_node_on_the_cycle_not_one_behind_it) {
    const uint32_t id = node_on_cycle(cycle), apart = node_on_cycle(cycle_apart);
    cr_expect(id == 2 || id == 3, "%u", id);
    cr_expect(apart >= 5 && apart <= 7, "%u", apart);
}
