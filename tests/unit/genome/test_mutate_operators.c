// test_mutate_operators.c - what each operator does, one at a time.
#include "genome/mutate.h"

#include "mutation_fixture.h"
#include "plan/value_hash.h"
#include "reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_zero(const kernel *k) {
    for (uint64_t i = 0; i < kernel_value_count(k); i++)
        if (k->values[i] != 0.0F) return false;
    return true;
}

// Mean of square of the weights, bias left out, in the edge's sigma squared.
static double relative_square(const kernel *k) {
    double sum = 0.0;
    for (uint64_t i = 0; i < kernel_weight_count(k); i++)
        sum += (double)k->values[i] * k->values[i];
    return sum / (double)kernel_weight_count(k) / (kernel_sigma(k) * kernel_sigma(k));
}

// ---- weights ----

typedef struct moments {
    double count, sum, square;
} moments;

static void add_moment(moments *m, double x) {
    m->count++;
    m->sum += x;
    m->square += x * x;
}

static void expect_standard(const moments *m, const char *what) {
    cr_expect(fabs(m->sum / m->count) < 5.0 / sqrt(m->count), "%s: mean %g", what,
              m->sum / m->count);
    cr_expect(fabs(m->square / m->count - 1.0) < 5.0 * sqrt(2.0 / m->count), "%s: variance %g",
              what, m->square / m->count);
}

// Changes of weights and biases of one edge, in the step that the rates ask for.
static void check_steps(map_size input, double step) {
    mutation_fixture f;
    mutation_init(&f, 20);
    f.rates.weights_replace = 0.0;
    f.rates.weights_step = step;
    genome *g = start_genome(&f, input);
    moments weights = {0}, biases = {0};
    for (int round = 0; round < 400; round++) {
        kernel *before = kernel_retain(g->edges[0].kernel);
        cr_assert_eq(mutate_weights(g, &f.context, NULL), HOX_OK);
        const kernel *after = g->edges[0].kernel;
        cr_assert_neq(after, before);
        const double scale = step * sqrt(2.0 / (input.channels * input.height * input.width));
        const uint64_t weight_count = kernel_weight_count(after);
        for (uint64_t i = 0; i < kernel_value_count(after); i++)
            add_moment(i < weight_count ? &weights : &biases,
                       ((double)after->values[i] - before->values[i]) / scale);
        kernel_release(before);
    }
    expect_standard(&weights, "weights");
    expect_standard(&biases, "biases");
    genome_destroy(g);
    mutation_deinit(&f);
}

Test(mutate_operators, weights_step_by_their_share_of_sigma) {
    check_steps(SIZE(3, 8, 8), 0.1);
    check_steps(SIZE(1, 2, 3), 2.0);
}

Test(mutate_operators, weights_can_be_drawn_anew_with_bias_0) {
    mutation_fixture f;
    mutation_init(&f, 21);
    f.rates.weights_replace = 1.0;
    genome *g = start_genome(&f, SIZE(3, 8, 8));
    g->edges[0].kernel->values[0] = 1000.0F;
    g->edges[0].kernel->values[576] = 1000.0F; // 3 x 3 x 8 x 8 weights: the first bias
    cr_assert_eq(mutate_weights(g, &f.context, NULL), HOX_OK);
    cr_expect_lt(fabsf(g->edges[0].kernel->values[0]), 1.0F);
    cr_expect_eq(g->edges[0].kernel->values[576], 0.0F);
    cr_expect(fabs(relative_square(g->edges[0].kernel) - 1.0) < 5.0 * sqrt(2.0 / 576.0));
    genome_destroy(g);
    mutation_deinit(&f);
}

// Ten edges: the output and nine ways to it.
static genome *wide_genome(mutation_fixture *f) {
    genome *g = start_genome(f, SIZE(1, 2, 2));
    for (uint32_t id = 1000; id < 1009; id++) {
        put_node(g, id, SIZE(1, 1, 1), HOX_ACTIVATION_RELU);
        connect(f, g, 0, id);
    }
    return g;
}

static double changed_edges(double rate, int rounds, int *least, int hits[10]) {
    mutation_fixture f;
    mutation_init(&f, 22);
    f.rates.weights_edge = rate;
    genome *g = wide_genome(&f);
    int sum = 0;
    *least = 10;
    memset(hits, 0, 10 * sizeof *hits);
    for (int round = 0; round < rounds; round++) {
        genome *child = genome_copy(g, NULL);
        cr_assert_eq(mutate_weights(child, &f.context, NULL), HOX_OK);
        int changed = 0;
        for (size_t i = 0; i < 10; i++) {
            const bool is_new = child->edges[i].kernel != g->edges[i].kernel;
            changed += is_new;
            hits[i] += is_new;
        }
        if (changed < *least) *least = changed;
        sum += changed;
        genome_destroy(child);
    }
    genome_destroy(g);
    mutation_deinit(&f);
    return (double)sum / rounds;
}

Test(mutate_operators, weights_of_each_edge_change_at_their_rate_and_of_one_at_least) {
    int least, hits[10];
    // 10 x 0.3, and one where none was chosen, 0.7^10; variance 2.1
    const double mean = changed_edges(0.3, 2000, &least, hits);
    cr_expect(fabs(mean - 3.0 - pow(0.7, 10)) < 5.0 * sqrt(2.1 / 2000.0), "%g", mean);
    cr_expect_eq(least, 1);
    cr_expect_eq(changed_edges(1.0, 20, &least, hits), 10.0);
    cr_expect_eq(changed_edges(0.0, 2000, &least, hits), 1.0);
    for (int i = 0; i < 10; i++) // any of them
        cr_expect(abs(hits[i] - 200) < 5 * sqrt(180.0), "edge %d: %d", i, hits[i]);
}

// ---- growth ----

Test(mutate_operators, add_edge_joins_two_nodes_with_a_small_kernel) {
    mutation_fixture f;
    mutation_init(&f, 23);
    genome *g = start_genome(&f, SIZE(3, 24, 20));
    put_node(g, 1000, SIZE(3, 12, 10), HOX_ACTIVATION_RELU);
    connect(&f, g, 0, 1000);
    int done_count = 0;
    for (int i = 0; i < 100; i++) { // the one edge left to add is 1000 -> 1
        genome *child = genome_copy(g, NULL);
        if (try_operator(&f, mutate_add_edge, child)) {
            done_count++;
            const genome_edge *edge = genome_find_edge(child, 1000, 1);
            cr_assert_eq(child->edge_count, 3);
            cr_assert_not_null(edge);
            cr_expect(edge->is_enabled);
            cr_expect(edge->geometry.rows.kernel == 12 && edge->geometry.columns.kernel == 10);
            const double square = relative_square(edge->kernel) / 1e-4;
            cr_expect(fabs(square - 1.0) < 5.0 * sqrt(2.0 / 1080.0), "%g", square);
            for (int bias = 1080; bias < 1083; bias++)
                cr_expect_eq(edge->kernel->values[bias], 0.0F);
        }
        genome_destroy(child);
    }
    cr_expect(done_count > 0 && done_count < 50, "%d", done_count); // 1 of 9 pairs
    f.limits.max_edges = 2;
    for (int i = 0; i < 100; i++)
        cr_assert_not(try_operator(&f, mutate_add_edge, g));
    genome_destroy(g);
    mutation_deinit(&f);
}

static bool connects(mutation_fixture *f, genome *g, uint32_t from, uint32_t to, bool is_enabled) {
    bool is_done = true;
    const size_t before = g->edge_count;
    cr_assert_eq(mutate_connect(g, &f->context, from, to, 1.0, is_enabled, &is_done, NULL), HOX_OK);
    cr_assert_eq(g->edge_count, before + is_done);
    return is_done;
}

Test(mutate_operators, connect_refuses_what_no_genome_may_have) {
    mutation_fixture f;
    mutation_init(&f, 24);
    genome *g = start_genome(&f, SIZE(3, 24, 20));
    put_node(g, 1000, SIZE(3, 12, 10), HOX_ACTIVATION_RELU);
    put_node(g, 1001, SIZE(3, 40, 4), HOX_ACTIVATION_RELU);
    put_node(g, 1002, SIZE(3, 33, 33), HOX_ACTIVATION_RELU);
    cr_expect(connects(&f, g, 0, 1000, true));
    cr_expect_not(connects(&f, g, 0, 1000, true), "twice");
    cr_expect_not(connects(&f, g, 1000, 0, true), "into the input");
    cr_expect_not(connects(&f, g, 1, 1000, true), "out of the output");
    cr_expect_not(connects(&f, g, 1000, 1000, true), "onto itself");
    cr_expect_not(connects(&f, g, 1000, 7, true), "to nowhere");
    cr_expect_not(connects(&f, g, 1001, 1, true), "a kernel of 40 rows");
    cr_expect_not(connects(&f, g, 1002, 1, true), "a kernel of 33 rows");
    cr_expect(connects(&f, g, 1000, 1001, true));
    cr_expect(connects(&f, g, 1001, 1002, true));
    cr_expect_not(connects(&f, g, 1002, 1000, true), "a cycle of three");
    cr_expect(connects(&f, g, 1002, 1000, false), "which is none where it is disabled");
    genome_destroy(g);
    mutation_deinit(&f);
}

// Splits the edge 0 -> 1 of a genome that has no other; the new node.
static genome_node split_only_edge(mutation_fixture *f, genome *g) {
    cr_assert(try_operator(f, mutate_add_node, g));
    cr_assert_eq(g->node_count, 3);
    cr_assert_eq(g->edge_count, 3);
    return g->nodes[2];
}

static void check_split_size(map_size input, map_size output, uint32_t height, uint32_t width) {
    mutation_fixture f;
    mutation_init(&f, 25);
    f.limits.hidden_activation = HOX_ACTIVATION_TANH;
    f.limits.output_size = (hox_int_list){3, {output.channels, output.height, output.width}};
    genome *g = start_genome(&f, input);
    const genome_node node = split_only_edge(&f, g);
    cr_expect(node.size.height == height && node.size.width == width, "%u x %u", node.size.height,
              node.size.width);
    cr_expect_eq(node.size.channels, input.channels);
    cr_expect_eq(node.activation, HOX_ACTIVATION_TANH);
    genome_destroy(g);
    mutation_deinit(&f);
}

Test(mutate_operators, add_node_takes_the_middle_size_and_the_channels_of_its_source) {
    check_split_size(SIZE(3, 32, 32), SIZE(3, 1, 1), 16, 16);
    check_split_size(SIZE(5, 28, 9), SIZE(3, 1, 4), 14, 6);
    check_split_size(SIZE(1, 1, 2), SIZE(8, 1, 1), 1, 1);
    check_split_size(SIZE(1, 2, 4), SIZE(8, 9, 5), 5, 4);
}

Test(mutate_operators, add_node_keeps_the_edge_and_starts_as_no_change) {
    mutation_fixture f;
    mutation_init(&f, 26);
    genome *g = start_genome(&f, SIZE(3, 24, 24));
    const uint32_t id = split_only_edge(&f, g).id;
    const genome_edge *in = genome_find_edge(g, 0, id), *out = genome_find_edge(g, id, 1);
    cr_expect(genome_find_edge(g, 0, 1)->is_enabled);
    cr_assert(in && out && in->is_enabled && out->is_enabled);
    cr_expect(fabs(relative_square(in->kernel) - 1.0) < 5.0 * sqrt(2.0 / 1521.0)); // 9 x 13 x 13
    cr_expect(is_zero(out->kernel));
    genome_destroy(g);
    mutation_deinit(&f);
}

Test(mutate_operators, add_node_in_the_classic_form_disables_the_edge) {
    mutation_fixture f;
    mutation_init(&f, 27);
    f.rates.split_keeps_edge = 0;
    genome *g = start_genome(&f, SIZE(3, 24, 24));
    const uint32_t id = split_only_edge(&f, g).id;
    const genome_edge *in = genome_find_edge(g, 0, id), *out = genome_find_edge(g, id, 1);
    cr_expect_not(genome_find_edge(g, 0, 1)->is_enabled);
    cr_assert(in && out && in->is_enabled && out->is_enabled);
    cr_expect_not(is_zero(in->kernel));
    cr_expect_not(is_zero(out->kernel));
    cr_expect_not(try_operator(&f, mutate_add_node, g) && g->node_count != 4);
    genome_destroy(g);
    mutation_deinit(&f);
}

Test(mutate_operators, add_node_gives_the_same_node_for_the_same_split) {
    mutation_fixture f;
    mutation_init(&f, 28);
    genome *a = start_genome(&f, SIZE(3, 8, 8)), *b = start_genome(&f, SIZE(3, 8, 8));
    const uint32_t id = split_only_edge(&f, a).id;
    cr_expect_eq(split_only_edge(&f, b).id, id);
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(a->edges[i].innovation, b->edges[i].innovation);
    // Again on 0 -> 1: the next n in both. The others are out of the way.
    uint32_t second[2];
    genome *both[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        genome_find_edge(both[i], 0, id)->is_enabled = false;
        genome_find_edge(both[i], id, 1)->is_enabled = false;
        while (!try_operator(&f, mutate_add_node, both[i]))
            ;
        cr_assert_eq(both[i]->node_count, 4);
        second[i] = both[i]->nodes[3].id;
    }
    cr_expect_eq(second[0], second[1]);
    cr_expect_neq(second[0], id);
    // A genome that lost the first node gets it back: the smallest n it lacks.
    genome_remove_node(b, id);
    genome_find_edge(b, 0, second[1])->is_enabled = false;
    genome_find_edge(b, second[1], 1)->is_enabled = false;
    while (!try_operator(&f, mutate_add_node, b))
        ;
    cr_expect_not_null(genome_find_node(b, id));
    genome_destroy(a);
    genome_destroy(b);
    mutation_deinit(&f);
}

Test(mutate_operators, add_node_keeps_the_limits) {
    mutation_fixture f;
    mutation_init(&f, 29);
    genome *g = start_genome(&f, SIZE(3, 8, 8));
    f.limits.max_nodes = 2;
    cr_expect_not(try_operator(&f, mutate_add_node, g));
    f.limits.max_nodes = 64;
    f.limits.max_edges = 2;
    cr_expect_not(try_operator(&f, mutate_add_node, g));
    f.limits.max_edges = 3;
    cr_expect(try_operator(&f, mutate_add_node, g));
    genome_destroy(g);
    mutation_deinit(&f);
}

static double logit_of(const genome *g, const float *image) {
    plan p;
    plan_weights weights;
    cr_assert_eq(plan_init(&p, g, NULL), HOX_OK);
    cr_assert(p.has_path);
    cr_assert_eq(plan_weights_init(&weights, &p, g, NULL), HOX_OK);
    const double logit = reference_evaluate(&p.view, weights.view.values, image).logit;
    plan_weights_deinit(&weights);
    plan_deinit(&p);
    return logit;
}

// Splits and weight changes in turn; each split leaves the logit as it was, bit for bit.
Test(mutate_operators, add_node_leaves_the_function_unchanged) {
    static const float image[3 * 6 * 5] = {0.25F, -1.0F, 0.5F, 3.0F, [20] = 0.75F, [77] = -2.0F};
    mutation_fixture f;
    mutation_init(&f, 30);
    genome *g = start_genome(&f, SIZE(3, 6, 5));
    for (int i = 0; i < 30; i++) {
        const double before = logit_of(g, image);
        const size_t node_count = g->node_count;
        cr_assert(try_operator(&f, mutate_add_node, g));
        cr_assert_eq(g->node_count, node_count + 1);
        const double after = logit_of(g, image);
        cr_assert_eq(after, before, "split %d: %.17g, was %.17g", i, after, before);
        cr_assert_eq(mutate_weights(g, &f.context, NULL), HOX_OK);
        cr_assert_neq(logit_of(g, image), before);
    }
    genome_destroy(g);
    mutation_deinit(&f);
}

// ---- shrinking and switching ----

// 0 -> 1000 -> 1 beside 0 -> 1.
static genome *ring_genome(mutation_fixture *f, map_size middle) {
    genome *g = start_genome(f, SIZE(3, 16, 12));
    put_node(g, 1000, middle, HOX_ACTIVATION_RELU);
    connect(f, g, 0, 1000);
    connect(f, g, 1000, 1);
    return g;
}

Test(mutate_operators, remove_edge_takes_any_gene_away) {
    mutation_fixture f;
    mutation_init(&f, 31);
    int hits[3] = {0};
    for (int i = 0; i < 300; i++) {
        genome *g = ring_genome(&f, SIZE(3, 8, 8));
        cr_assert(try_operator(&f, mutate_remove_edge, g));
        cr_assert_eq(g->edge_count, 2);
        hits[0] += !genome_find_edge(g, 0, 1);
        hits[1] += !genome_find_edge(g, 0, 1000);
        hits[2] += !genome_find_edge(g, 1000, 1);
        genome_destroy(g);
    }
    for (int i = 0; i < 3; i++)
        cr_expect(abs(hits[i] - 100) < 5 * sqrt(300.0 * 2 / 9), "edge %d: %d", i, hits[i]);
    mutation_deinit(&f);
}

Test(mutate_operators, remove_node_takes_its_genes_along) {
    mutation_fixture f;
    mutation_init(&f, 32);
    genome *g = ring_genome(&f, SIZE(3, 8, 8));
    while (!try_operator(&f, mutate_remove_node, g))
        cr_assert(g->node_count == 3 && g->edge_count == 3);
    cr_expect_null(genome_find_node(g, 1000));
    cr_assert_eq(g->edge_count, 1);
    cr_expect_not_null(genome_find_edge(g, 0, 1));
    genome_destroy(g);
    mutation_deinit(&f);
}

Test(mutate_operators, toggle_switches_one_gene_off_and_on) {
    mutation_fixture f;
    mutation_init(&f, 33);
    genome *g = ring_genome(&f, SIZE(3, 8, 8));
    for (int i = 0; i < 100; i++) {
        bool was_enabled[3];
        int changed = 0;
        for (int e = 0; e < 3; e++)
            was_enabled[e] = g->edges[e].is_enabled;
        cr_assert(try_operator(&f, mutate_toggle_edge, g));
        for (int e = 0; e < 3; e++)
            changed += was_enabled[e] != g->edges[e].is_enabled;
        cr_assert_eq(changed, 1);
    }
    genome_destroy(g);
    mutation_deinit(&f);
}

Test(mutate_operators, toggle_closes_no_cycle) {
    mutation_fixture f;
    mutation_init(&f, 34);
    genome *g = genome_of(SIZE(3, 4, 4), SIZE(3, 1, 1));
    put_node(g, 2, SIZE(3, 4, 4), 0);
    put_node(g, 3, SIZE(3, 4, 4), 0);
    put_edge(g, 1, 2, 3);
    put_edge(g, 2, 3, 2)->is_enabled = false;
    for (int i = 0; i < 200; i++) {
        try_operator(&f, mutate_toggle_edge, g);
        cr_assert_not(g->edges[0].is_enabled && g->edges[1].is_enabled);
    }
    genome_destroy(g);
    mutation_deinit(&f);
}

// ---- another size, other channels, another activation ----

// Uniform over side +- max(1, side / 4).
static void check_resize(uint32_t side) {
    enum { ROUNDS = 400 };
    const uint32_t reach = side / 4 > 1 ? side / 4 : 1;
    int counts[64] = {0}, total = 0;
    mutation_fixture f;
    mutation_init(&f, 35 + side);
    for (int i = 0; i < ROUNDS; i++) {
        genome *g = ring_genome(&f, SIZE(3, side, side));
        if (try_operator(&f, mutate_resize_node, g)) {
            cr_assert_eq(g->node_count, 3);
            const map_size size = g->nodes[2].size;
            cr_assert_eq(size.height, size.width, "a square stays square");
            cr_assert_eq(size.channels, 3);
            cr_assert(size.height >= 1 && size.height + reach >= side &&
                          size.height <= side + reach && size.height != side,
                      "%u: %u", side, size.height);
            cr_assert_null(genome_find_node(g, 1000));
            counts[size.height]++;
            total++;
        }
        genome_destroy(g);
    }
    const uint32_t choices = side > 1 ? 2 * reach : 1; // the side itself is a failed try
    for (uint32_t s = 1; s < 64; s++)
        if (s + reach >= side && s <= side + reach && s != side)
            cr_expect(fabs((double)counts[s] - (double)total / choices) <=
                          5.0 * sqrt((double)total / choices),
                      "%u -> %u: %d of %d", side, s, counts[s], total);
    cr_expect_gt(total, ROUNDS / 20);
    mutation_deinit(&f);
}

Test(mutate_operators, resize_draws_evenly_around_the_old_size) {
    check_resize(1);
    check_resize(2);
    check_resize(7);
    check_resize(16);
}

Test(mutate_operators, resize_makes_a_new_node_and_draws_all_its_edges_anew) {
    mutation_fixture f;
    mutation_init(&f, 36);
    genome *g = ring_genome(&f, SIZE(3, 8, 10));
    put_node(g, 1001, SIZE(3, 9, 9), HOX_ACTIVATION_RELU);
    connect(&f, g, 1000, 1001)->is_enabled = false;
    connect(&f, g, 1001, 1);
    const uint64_t old_in = genome_find_edge(g, 0, 1000)->innovation;
    genome *child = NULL;
    for (bool is_done = false; !is_done || genome_find_node(child, 1000);) {
        genome_destroy(child);
        child = genome_copy(g, NULL);
        is_done = try_operator(&f, mutate_resize_node, child);
    }
    cr_assert_eq(child->node_count, 4);
    cr_assert_eq(child->edge_count, 5);
    uint32_t id = 0;
    for (size_t i = 0; i < 4; i++)
        if (!genome_find_node(g, child->nodes[i].id)) id = child->nodes[i].id;
    const genome_edge *in = genome_find_edge(child, 0, id), *out = genome_find_edge(child, id, 1);
    const genome_edge *off = genome_find_edge(child, id, 1001);
    cr_assert(in && out && off);
    cr_expect(in->is_enabled && out->is_enabled && !off->is_enabled);
    cr_expect_neq(in->innovation, old_in);
    cr_expect_not(is_zero(in->kernel));
    cr_expect_not(is_zero(off->kernel));
    cr_expect_eq(genome_find_node(child, id)->activation, HOX_ACTIVATION_RELU);
    cr_expect_eq(genome_find_edge(child, 0, 1)->kernel, genome_find_edge(g, 0, 1)->kernel);
    uint32_t again;
    cr_assert_eq(innovation_of_resize(f.innovations, 1000, genome_find_node(child, id)->size, 0,
                                      &again, NULL),
                 HOX_OK);
    cr_expect_eq(again, id, "the same change, the same node");
    genome_destroy(child);
    genome_destroy(g);
    mutation_deinit(&f);
}

Test(mutate_operators, channels_takes_an_allowed_number) {
    mutation_fixture f;
    mutation_init(&f, 37);
    f.limits.allowed_channels = (hox_int_list){3, {3, 8, 16}};
    int eights = 0, total = 0;
    for (int i = 0; i < 600; i++) {
        genome *g = ring_genome(&f, SIZE(3, 6, 7));
        if (try_operator(&f, mutate_channels, g)) {
            const genome_node *node = &g->nodes[2];
            cr_assert(node->size.channels == 8 || node->size.channels == 16);
            cr_assert(node->size.height == 6 && node->size.width == 7);
            cr_assert_neq(node->id, 1000);
            cr_assert_eq(genome_find_edge(g, 0, node->id)->kernel->target_channels,
                         node->size.channels);
            cr_assert_eq(genome_find_edge(g, node->id, 1)->kernel->source_channels,
                         node->size.channels);
            eights += node->size.channels == 8;
            total++;
        }
        genome_destroy(g);
    }
    cr_expect(total > 60 && fabs(eights - total / 2.0) < 5.0 * sqrt(total / 4.0), "%d of %d",
              eights, total);
    mutation_deinit(&f);
}

Test(mutate_operators, activation_becomes_another) {
    mutation_fixture f;
    mutation_init(&f, 38);
    bool seen[HOX_ACTIVATION_COUNT] = {0};
    for (int i = 0; i < 300; i++) {
        genome *g = ring_genome(&f, SIZE(3, 6, 7));
        if (try_operator(&f, mutate_activation, g)) {
            cr_assert_eq(g->nodes[2].id, 1000);
            cr_assert_neq(g->nodes[2].activation, HOX_ACTIVATION_RELU);
            cr_assert_lt(g->nodes[2].activation, HOX_ACTIVATION_COUNT);
            seen[g->nodes[2].activation] = true;
        }
        cr_assert(g->nodes[0].activation == 0 && g->nodes[1].activation == 0);
        genome_destroy(g);
    }
    for (int i = 0; i < HOX_ACTIVATION_COUNT; i++)
        cr_expect(seen[i] || i == HOX_ACTIVATION_RELU, "%s", activation_names[i]);
    mutation_deinit(&f);
}
