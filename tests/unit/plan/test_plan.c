// test_plan.c - what of a genome is executed, in which order, and the numbers that follow from it.
#include "plan/plan.h"

#include "genome_fixture.h"
#include "plan/value_hash.h"
#include "reference.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

static void plan_of(plan *p, const genome *g) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(plan_init(p, g, &error), HOX_OK, "%s", error.message);
}

// Nodes 0, 5, 3 and 1 run, in this order: 3 waits for 5. The rest is dead or disabled.
static genome *mixed_genome(void) {
    genome *g = genome_of(SIZE(2, 6, 5), SIZE(3, 1, 1));
    put_node(g, 3, SIZE(2, 4, 4), HOX_ACTIVATION_TANH);
    put_node(g, 4, SIZE(3, 9, 9), HOX_ACTIVATION_RELU);
    put_node(g, 5, SIZE(3, 4, 4), HOX_ACTIVATION_SILU);
    put_node(g, 7, SIZE(3, 2, 2), HOX_ACTIVATION_RELU);
    put_edge(g, 10, 0, 5); // kernel 3 x 2
    put_edge(g, 2, 0, 3);  // kernel 3 x 2
    put_edge(g, 7, 5, 3);  // kernel 1 x 1
    put_edge(g, 1, 5, 1);  // kernel 4 x 4
    put_edge(g, 4, 3, 1);  // kernel 4 x 4
    put_edge(g, 3, 3, 5)->is_enabled = false;
    put_edge(g, 9, 0, 1)->is_enabled = false;
    put_edge(g, 5, 4, 3); // nothing leads to 4
    put_edge(g, 6, 5, 7); // 7 leads nowhere
    return g;
}

Test(plan, holds_the_executed_part_in_order) {
    static const uint32_t ids[] = {0, 5, 3, 1}, channels[] = {2, 3, 2, 3}, heights[] = {6, 4, 4, 1},
                          widths[] = {5, 4, 4, 1}, begin[] = {0, 0, 1, 3, 5},
                          last_use[] = {2, 3, 3, 3};
    static const uint32_t activations[] = {HOX_ACTIVATION_IDENTITY, HOX_ACTIVATION_SILU,
                                           HOX_ACTIVATION_TANH, HOX_ACTIVATION_IDENTITY};
    static const uint32_t innovations[] = {10, 2, 7, 1, 4}, sources[] = {0, 0, 1, 1, 2},
                          kernel_h[] = {3, 3, 1, 4, 4}, kernel_w[] = {2, 2, 1, 4, 4};
    // 3 x 2 x 3 x 2 + 3 = 39, 2 x 2 x 3 x 2 + 2 = 26, 2 x 3 + 2 = 8, 3 x 3 x 16 + 3 = 147
    static const uint64_t offsets[] = {0, 39, 65, 73, 220};
    genome *g = mixed_genome();
    plan p;
    plan_of(&p, g);
    const hox_plan *v = &p.view;
    cr_assert(p.has_path);
    cr_expect_eq(v->struct_size, sizeof *v);
    cr_assert_eq(v->node_count, 4);
    cr_assert_eq(v->edge_count, 5);
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect_eq(g->nodes[p.node_index[i]].id, ids[i]);
        cr_expect_eq(v->node_channels[i], channels[i]);
        cr_expect_eq(v->node_height[i], heights[i]);
        cr_expect_eq(v->node_width[i], widths[i]);
        cr_expect_eq(v->node_activation[i], activations[i]);
        cr_expect_eq(v->node_last_use[i], last_use[i], "node %u: %u", i, v->node_last_use[i]);
    }
    for (uint32_t i = 0; i < 5; i++) {
        cr_expect_eq(v->node_edge_begin[i], begin[i]);
        cr_expect_eq(g->edges[p.edge_index[i]].innovation, innovations[i]);
        cr_expect_eq(v->edge_source[i], sources[i]);
        cr_expect(v->edge_kernel_h[i] == kernel_h[i] && v->edge_kernel_w[i] == kernel_w[i]);
        cr_expect(v->edge_stride_h[i] == 1 && v->edge_stride_w[i] == 1);
        cr_expect(v->edge_padding_h[i] == 0 && v->edge_padding_w[i] == 0);
        cr_expect_eq(v->edge_weight_offset[i], offsets[i]);
    }
    cr_expect_eq(v->weight_count, 220 + 99); // 3 x 2 x 16 + 3
    // 2 x weights x pixels: 72 x 16 + 48 x 16 + 12 x 16 + 288 + 192
    cr_expect_eq(v->flops_per_sample, 2592);
    // (60 + 48 + 32 + 3) x 4 = 572; 572 x 27 / 20 = 772.2
    cr_expect_eq(v->bytes_per_sample, 772);
    plan_deinit(&p);
    genome_destroy(g);
}

Test(plan, keeps_rows_and_columns_apart) {
    genome *g = genome_of(SIZE(1, 12, 4), SIZE(1, 5, 9));
    genome_edge *edge = put_edge(g, 1, 0, 1);
    edge->geometry.rows = (axis_geometry){8, 2, 2};    // floor((12 + 4 - 8) / 2) + 1 = 5
    edge->geometry.columns = (axis_geometry){6, 1, 5}; // 4 + 10 - 6 + 1 = 9
    genome_replace_kernel(edge, kernel_create(SIZE(1, 12, 4), SIZE(1, 5, 9), edge->geometry, NULL));
    plan p;
    plan_of(&p, g);
    cr_expect(p.view.edge_kernel_h[0] == 8 && p.view.edge_kernel_w[0] == 6);
    cr_expect(p.view.edge_stride_h[0] == 2 && p.view.edge_stride_w[0] == 1);
    cr_expect(p.view.edge_padding_h[0] == 2 && p.view.edge_padding_w[0] == 5);
    cr_expect_eq(p.view.flops_per_sample, 2 * 48 * 45);
    plan_deinit(&p);
    genome_destroy(g);
}

Test(plan, without_a_path_is_empty) {
    genome *g = mixed_genome();
    genome_find_edge(g, 5, 1)->is_enabled = genome_find_edge(g, 3, 1)->is_enabled = false;
    static const hox_plan zero;
    plan p;
    plan_of(&p, g);
    cr_expect_not(p.has_path);
    cr_expect_eq(memcmp(&p.view, &zero, sizeof zero), 0);
    plan_deinit(&p);
    genome_destroy(g);
    g = genome_of(SIZE(3, 4, 4), SIZE(3, 1, 1));
    plan_of(&p, g);
    cr_expect_not(p.has_path);
    plan_deinit(&p);
    genome_destroy(g);
}

// ---- dead structure ----

// All that a runtime gets, and the logit: the same?
static void expect_same_execution(const genome *a, const genome *b) {
    static const float image[3 * 6 * 6] = {1.0F, -0.5F, 0.25F, [40] = 2.0F, [99] = -1.5F};
    plan p, q;
    plan_weights v, w;
    plan_of(&p, a);
    plan_of(&q, b);
    cr_assert_eq(plan_weights_init(&v, &p, a, NULL), HOX_OK);
    cr_assert_eq(plan_weights_init(&w, &q, b, NULL), HOX_OK);
    cr_expect_arr_eq(p.view.structure_hash, q.view.structure_hash, sizeof p.view.structure_hash);
    cr_assert_eq(p.view.node_count, q.view.node_count);
    cr_assert_eq(p.view.edge_count, q.view.edge_count);
    cr_expect_eq(p.view.bytes_per_sample, q.view.bytes_per_sample);
    cr_expect_eq(p.view.flops_per_sample, q.view.flops_per_sample);
    cr_assert_eq(v.view.count, w.view.count);
    cr_expect_arr_eq(v.view.values, w.view.values, v.view.count * sizeof *v.view.values);
    cr_expect_arr_eq(v.view.node_value_hash, w.view.node_value_hash,
                     p.view.node_count * 2 * sizeof(uint64_t));
    cr_expect_arr_eq(v.view.edge_value_hash, w.view.edge_value_hash,
                     p.view.edge_count * 2 * sizeof(uint64_t));
    cr_expect_eq(v.view.version, w.view.version);
    cr_expect_eq(reference_evaluate(&p.view, v.view.values, image).logit,
                 reference_evaluate(&q.view, w.view.values, image).logit);
    plan_weights_deinit(&v);
    plan_weights_deinit(&w);
    plan_deinit(&p);
    plan_deinit(&q);
}

// Case C15: 0 -> 2 -> 1, 0 -> 3 -> 1.
static genome *two_ways(void) {
    genome *g = genome_of(SIZE(3, 6, 6), SIZE(3, 1, 1));
    put_node(g, 2, SIZE(3, 4, 4), HOX_ACTIVATION_RELU);
    put_node(g, 3, SIZE(3, 5, 3), HOX_ACTIVATION_TANH);
    put_edge(g, 1, 0, 2);
    put_edge(g, 2, 0, 3);
    put_edge(g, 4, 2, 1);
    put_edge(g, 5, 3, 1);
    return g;
}

Test(plan, a_node_without_input_does_not_run_and_does_not_stop_what_it_feeds) {
    genome *without = two_ways(), *with = two_ways();
    put_node(with, 4, SIZE(3, 6, 6), HOX_ACTIVATION_RELU);
    put_edge(with, 3, 4, 3); // summed between the others, were it run
    plan p;
    plan_of(&p, with);
    cr_assert_eq(p.view.node_count, 4);
    cr_expect_eq(with->nodes[p.node_index[2]].id, 3);
    cr_expect_eq(p.view.edge_count, 4);
    plan_deinit(&p);
    expect_same_execution(without, with);
    genome_destroy(with);
    genome_destroy(without);
}

Test(plan, a_node_that_leads_nowhere_does_not_run) {
    genome *without = two_ways(), *with = two_ways();
    put_node(with, 5, SIZE(3, 60, 60), HOX_ACTIVATION_RELU);
    put_node(with, 6, SIZE(3, 2, 2), HOX_ACTIVATION_RELU);
    put_edge(with, 6, 0, 5);
    put_edge(with, 7, 5, 6);
    put_edge(with, 8, 5, 1)->is_enabled = false;
    plan p;
    plan_of(&p, with);
    cr_expect_eq(p.view.node_count, 4);
    cr_expect_eq(p.view.bytes_per_sample, 4 * (108 + 48 + 45 + 3) * 27 / 20); // 60 x 60 not in it
    plan_deinit(&p);
    expect_same_execution(without, with);
    genome_destroy(with);
    genome_destroy(without);
}

Test(plan, disabled_genes_and_even_their_cycles_change_nothing) {
    genome *without = two_ways(), *with = two_ways();
    put_edge(with, 3, 2, 3)->is_enabled = false;
    put_edge(with, 6, 3, 2)->is_enabled = false;
    put_edge(with, 7, 0, 1)->is_enabled = false;
    expect_same_execution(without, with);
    genome_destroy(with);
    genome_destroy(without);
}

// ---- bytes per sample ----

static uint64_t bytes_of(const json_t *sizes) {
    uint32_t channels[256], heights[256], widths[256];
    const size_t count = json_array_size(sizes);
    uint64_t bytes;
    cr_assert(count > 0 && count <= 256);
    for (size_t i = 0; i < count; i++) {
        const json_t *size = json_array_get(sizes, i);
        channels[i] = 3;
        heights[i] = (uint32_t)json_integer_value(json_array_get(size, 0));
        widths[i] = (uint32_t)json_integer_value(json_array_get(size, 1));
    }
    cr_assert(plan_bytes_per_sample(channels, heights, widths, count, &bytes));
    return bytes;
}

Test(plan, bytes_per_sample_are_those_of_the_worked_cases) {
    json_error_t where;
    json_t *cases = json_load_file(HOX_GOLDEN_DIR "/vram_cases.json", 0, &where);
    cr_assert_not_null(cases, "%s", where.text);
    size_t i;
    json_t *row;
    const json_t *rows = json_object_get(cases, "sample");
    cr_assert_geq(json_array_size(rows), 8);
    json_array_foreach(rows, i, row) {
        const uint64_t bytes = bytes_of(json_object_get(row, "executed_nodes_hw"));
        cr_expect_eq(bytes, (uint64_t)json_integer_value(json_object_get(row, "bytes_per_sample")),
                     "%s: %zu", json_string_value(json_object_get(row, "id")), (size_t)bytes);
    }
    json_decref(cases);
}

// floor(27 S / 20) for S = 4 C H W bytes. In the first row the float 1.35 gives one more.
static const struct {
    uint32_t channels, height, width;
    uint64_t bytes;
} large[] = {
    {3, 3, 86303, 4194325},                  // S = 3106908: 4194325.8
    {3, 1, 1000000, 16200000},               // S = 12000000, exact
    {1, 1, 1000003, 5400016},                // S = 4000012: 5400016.2
    {4096, 1, 1, 22118},                     // S = 16384: 22118.4
    {65536, 65536, 65536, 1519964874237542}, // S = 2^50: ...542.4
};

Test(plan, bytes_per_sample_are_worked_out_in_integers) {
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        uint64_t bytes;
        cr_assert(plan_bytes_per_sample(&large[i].channels, &large[i].height, &large[i].width, 1,
                                        &bytes));
        cr_expect_eq(bytes, large[i].bytes, "row %zu: %zu", i, (size_t)bytes);
    }
}

Test(plan, bytes_per_sample_say_where_they_overflow) {
    enum { COUNT = 304 }; // 304 x 2^50 x 27 is above 2^63, 303 x 2^50 x 27 below
    uint32_t sides[COUNT];
    uint64_t bytes;
    for (int i = 0; i < COUNT; i++)
        sides[i] = 65536;
    cr_expect(plan_bytes_per_sample(sides, sides, sides, COUNT - 1, &bytes));
    cr_expect_not(plan_bytes_per_sample(sides, sides, sides, COUNT, &bytes));
    const uint32_t most = UINT32_MAX;
    cr_expect_not(plan_bytes_per_sample(&most, &most, &most, 1, &bytes));
}

// ---- structure hash ----

static void no_change(genome *g) {
    (void)g;
}
static void more_weight(genome *g) {
    genome_find_edge(g, 0, 2)->kernel->values[0] += 1.0F;
}
static void disabled_edge(genome *g) {
    put_edge(g, 9, 0, 1)->is_enabled = false;
}
static void later_numbers(genome *g) { // another id and other innovations, in equal order
    g->nodes[3].id = 77;
    for (size_t i = 0; i < g->edge_count; i++) {
        genome_edge *edge = &g->edges[i];
        edge->innovation += 1000 + i;
        if (edge->from == 3) edge->from = 77;
        if (edge->to == 3) edge->to = 77;
    }
}
static void other_activation(genome *g) {
    g->nodes[2].activation = HOX_ACTIVATION_GELU;
}
static void output_activation(genome *g) {
    g->nodes[1].activation = HOX_ACTIVATION_TANH;
}
static void other_readout(genome *g) {
    g->readout = HOX_READOUT_MEAN;
}
static void one_edge_more(genome *g) {
    put_edge(g, 9, 0, 1);
}
static void one_edge_less(genome *g) {
    genome_find_edge(g, 2, 1)->is_enabled = false;
}
static void swapped_order(genome *g) { // 2 -> 1 and 3 -> 1 are summed the other way round
    const genome_edge third = g->edges[2];
    g->edges[2] = g->edges[3];
    g->edges[3] = third;
    g->edges[2].innovation = 4;
    g->edges[3].innovation = 5;
}

// Node 3 with another size, or the edge into it with another geometry.
static void resize(genome *g, map_size size, const geometry *in) {
    genome_remove_node(g, 3);
    put_node(g, 3, size, HOX_ACTIVATION_TANH);
    genome_edge *edge = put_edge(g, 2, 0, 3);
    if (in) {
        edge->geometry = *in;
        genome_replace_kernel(edge, kernel_create(g->nodes[0].size, size, *in, NULL));
    }
    put_edge(g, 5, 3, 1);
}
static void other_height(genome *g) {
    resize(g, SIZE(3, 4, 3), NULL);
}
static void other_width(genome *g) {
    resize(g, SIZE(3, 5, 4), NULL);
}
static void other_channels(genome *g) {
    resize(g, SIZE(4, 5, 3), NULL);
}
static void other_kernel(genome *g) { // rows 6 -> 5 by k 4, p 1; was k 2, p 0
    resize(g, SIZE(3, 5, 3), &(geometry){{4, 1, 1}, {4, 1, 0}});
}
static void other_stride(genome *g) { // columns 6 -> 3 by k 2, s 2; was k 4, s 1
    resize(g, SIZE(3, 5, 3), &(geometry){{2, 1, 0}, {2, 2, 0}});
}
static void same_again(genome *g) {
    resize(g, SIZE(3, 5, 3), NULL);
}

static const struct {
    const char *name;
    void (*change)(genome *g);
    bool is_same;
} changes[] = {
    {"none", no_change, true},
    {"weights", more_weight, true},
    {"a disabled edge", disabled_edge, true},
    {"ids and innovations", later_numbers, true},
    {"taken apart and put together", same_again, true},
    {"activation", other_activation, false},
    {"activation of the output", output_activation, false},
    {"readout", other_readout, false},
    {"an edge more", one_edge_more, false},
    {"an edge less", one_edge_less, false},
    {"order of edges", swapped_order, false},
    {"height", other_height, false},
    {"width", other_width, false},
    {"channels", other_channels, false},
    {"kernel", other_kernel, false},
    {"stride", other_stride, false},
};

Test(plan, structure_hash_names_the_executed_structure_and_nothing_else) {
    genome *base = two_ways();
    plan p, q;
    plan_of(&p, base);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        genome *g = two_ways();
        changes[i].change(g);
        plan_of(&q, g);
        cr_expect_eq(memcmp(p.view.structure_hash, q.view.structure_hash, 16) == 0,
                     changes[i].is_same, "%s", changes[i].name);
        plan_deinit(&q);
        genome_destroy(g);
    }
    plan_deinit(&p);
    genome_destroy(base);
}

// 6 -> 2 with a kernel of 3: floor((6 + 2 p - 3) / s) + 1 is 2 for each of these.
static const axis_geometry six_to_two[] = {{3, 3, 0}, {3, 2, 0}, {3, 3, 1}};

Test(plan, structure_hash_tells_stride_and_padding_on_each_axis) {
    plan plans[9];
    for (size_t i = 0; i < 9; i++) {
        genome *g = two_ways();
        resize(g, SIZE(3, 2, 2), &(geometry){six_to_two[i / 3], six_to_two[i % 3]});
        plan_of(&plans[i], g);
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(memcmp(plans[i].view.structure_hash, plans[k].view.structure_hash, 16), 0,
                          "%zu, %zu", i, k);
        genome_destroy(g);
    }
    for (size_t i = 0; i < 9; i++)
        plan_deinit(&plans[i]);
}
