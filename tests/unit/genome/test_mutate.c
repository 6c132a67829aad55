// test_mutate.c - one mutation as a whole: what is drawn how often, what counts as a failed try.
#include "genome/mutate.h"

#include "mutation_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(mutate, defaults_are_those_of_the_specification) {
    mutation_fixture f;
    mutation_init(&f, 1);
    const mutation_config *r = &f.rates;
    cr_expect(r->weights == 0.80 && r->weights_edge == 0.3 && r->weights_step == 0.1 &&
              r->weights_replace == 0.05);
    cr_expect(r->add_edge == 0.12 && r->add_node == 0.08 && r->remove_edge == 0.05 &&
              r->remove_node == 0.03 && r->toggle_edge == 0.02 && r->resize_node == 0.03 &&
              r->channels == 0.03 && r->activation == 0.0);
    cr_expect(r->add_edge_scale == 0.01 && r->split_keeps_edge == 1 && r->tries == 20);
    const genome_config *l = &f.limits;
    cr_expect(l->max_nodes == 64 && l->max_edges == 256 && !l->same3 && !l->stride2);
    cr_expect(l->allowed_channels.count == 1 && l->allowed_channels.values[0] == 3);
    cr_expect(l->output_size.count == 3 && l->output_size.values[0] == 3 &&
              l->output_size.values[1] == 1 && l->output_size.values[2] == 1);
    cr_expect(l->output_readout == HOX_READOUT_SUM &&
              l->output_activation == HOX_ACTIVATION_IDENTITY);
    mutation_deinit(&f);
}

// 0 -> 2 -> 1, 0 -> 1 and, disabled, 0 -> 3 -> 2: something for each operator to work on.
static genome *fruitful_genome(mutation_fixture *f) {
    genome *g = start_genome(f, SIZE(3, 8, 8));
    put_node(g, 1000, SIZE(3, 5, 5), HOX_ACTIVATION_RELU);
    put_node(g, 1001, SIZE(3, 6, 6), HOX_ACTIVATION_RELU);
    connect(f, g, 0, 1000);
    connect(f, g, 1000, 1);
    connect(f, g, 0, 1001)->is_enabled = false;
    connect(f, g, 1001, 1000)->is_enabled = false;
    return g;
}

Test(mutate, rates_of_0_switch_everything_off) {
    mutation_fixture f;
    mutation_init(&f, 2);
    only_change(&f, MUTATION_NONE, 0.0);
    genome *g = fruitful_genome(&f), *before = genome_copy(g, NULL);
    for (int i = 0; i < 500; i++) {
        const mutation_record record = mutate_next(&f, &g);
        cr_assert(!record.has_new_weights && !record.has_new_structure && record.change == 0 &&
                  record.failed_count == 0);
    }
    cr_expect(genome_is_same(g, before));
    genome_destroy(before);
    genome_destroy(g);
    mutation_deinit(&f);
}

// Mutates copies of one genome; how often each change was drawn.
static void count_changes(mutation_fixture *f, int count, int drawn[MUTATION_COUNT]) {
    genome *g = fruitful_genome(f);
    memset(drawn, 0, MUTATION_COUNT * sizeof *drawn);
    for (int i = 0; i < count; i++) {
        genome *child = genome_copy(g, NULL);
        const mutation_record record = mutate_next(f, &child);
        drawn[record.change]++;
        cr_assert_eq(record.has_new_structure, !genome_is_same(child, g), "%s",
                     mutation_names[record.change]);
        genome_destroy(child);
    }
    genome_destroy(g);
}

Test(mutate, a_rate_of_0_is_never_drawn_and_1_always) {
    mutation_fixture f;
    mutation_init(&f, 3);
    f.limits.allowed_channels = (hox_int_list){2, {3, 5}};
    for (uint32_t change = 1; change < MUTATION_COUNT; change++) {
        int drawn[MUTATION_COUNT];
        only_change(&f, change, 1.0);
        count_changes(&f, 100, drawn);
        cr_expect_eq(drawn[change], 100, "%s", mutation_names[change]);
        for (uint32_t i = 1; i < MUTATION_COUNT; i++)
            *rate_of(&f, i) = i == change ? 0.0 : 1.0 / 7.0;
        count_changes(&f, 100, drawn);
        cr_expect_eq(drawn[change], 0, "%s", mutation_names[change]);
    }
    mutation_deinit(&f);
}

Test(mutate, changes_are_drawn_at_their_rates) {
    enum { COUNT = 4000 };
    static const double rates[MUTATION_COUNT] = {0.64, 0.12, 0.08, 0.05, 0.03,
                                                 0.02, 0.03, 0.03, 0.0};
    mutation_fixture f;
    mutation_init(&f, 4);
    f.rates.weights = 0.0;
    f.limits.allowed_channels = (hox_int_list){2, {3, 5}};
    int drawn[MUTATION_COUNT];
    count_changes(&f, COUNT, drawn);
    for (uint32_t i = 0; i < MUTATION_COUNT; i++)
        cr_expect(fabs((double)drawn[i] / COUNT - rates[i]) <=
                      5.0 * sqrt(rates[i] * (1.0 - rates[i]) / COUNT),
                  "%s: %d", mutation_names[i], drawn[i]);
    mutation_deinit(&f);
}

Test(mutate, channels_need_a_choice) {
    mutation_fixture f;
    mutation_init(&f, 5);
    only_change(&f, MUTATION_CHANNELS, 1.0);
    int drawn[MUTATION_COUNT];
    count_changes(&f, 50, drawn);
    cr_expect_eq(drawn[MUTATION_NONE], 50);
    mutation_deinit(&f);
}

static void expect_failure(uint32_t change, int64_t tries) {
    mutation_fixture f;
    mutation_init(&f, 6);
    only_change(&f, change, 1.0);
    f.rates.tries = tries;
    genome *g = start_genome(&f, SIZE(3, 8, 8)), *before = genome_copy(g, NULL);
    const mutation_record record = mutate_next(&f, &g);
    cr_expect_eq(record.change, change);
    cr_expect_eq(record.failed_count, tries, "%s: %u tries", mutation_names[change],
                 record.failed_count);
    cr_expect_not(record.has_new_structure);
    cr_expect(genome_is_same(g, before), "%s left a trace", mutation_names[change]);
    genome_destroy(before);
    genome_destroy(g);
    mutation_deinit(&f);
}

Test(mutate, counts_failed_tries_and_leaves_no_trace) {
    expect_failure(MUTATION_REMOVE_NODE, 20); // there is no hidden node
    expect_failure(MUTATION_RESIZE_NODE, 20);
    expect_failure(MUTATION_ACTIVATION, 3);
    expect_failure(MUTATION_ADD_EDGE, 20);    // there is no other pair of nodes
    expect_failure(MUTATION_REMOVE_EDGE, 20); // the last path
    expect_failure(MUTATION_TOGGLE_EDGE, 7);
}

Test(mutate, counts_the_failures_before_a_success) {
    mutation_fixture f;
    mutation_init(&f, 7);
    only_change(&f, MUTATION_REMOVE_NODE, 1.0); // a draw hits the one of three at a third
    genome *g = start_genome(&f, SIZE(3, 8, 8));
    put_node(g, 1000, SIZE(3, 5, 5), HOX_ACTIVATION_RELU);
    connect(&f, g, 0, 1000);
    uint32_t failed_count = 0;
    for (int i = 0; i < 300; i++) {
        genome *child = genome_copy(g, NULL);
        const mutation_record record = mutate_next(&f, &child);
        cr_assert(record.has_new_structure || record.failed_count == 20);
        failed_count += record.failed_count;
        genome_destroy(child);
    }
    // 2 failures a success on average, variance 6
    cr_expect(fabs(failed_count / 300.0 - 2.0) < 5.0 * sqrt(6.0 / 300.0), "%u", failed_count);
    genome_destroy(g);
    mutation_deinit(&f);
}

Test(mutate, a_genome_without_a_path_may_change_freely) {
    mutation_fixture f;
    mutation_init(&f, 8);
    only_change(&f, MUTATION_REMOVE_EDGE, 1.0);
    genome *g = start_genome(&f, SIZE(3, 8, 8));
    g->edges[0].is_enabled = false;
    cr_expect(mutate_next(&f, &g).has_new_structure);
    cr_expect_eq(g->edge_count, 0);
    cr_expect_not(mutate_next(&f, &g).has_new_structure);
    f.rates.weights = 1.0; // no edge, no weights
    cr_expect_not(mutate_next(&f, &g).has_new_weights);
    genome_destroy(g);
    mutation_deinit(&f);
}

static uint64_t sum_of_bits(const genome *g) {
    uint64_t sum = 0;
    for (size_t i = 0; i < g->edge_count; i++)
        for (uint64_t k = 0; k < kernel_value_count(g->edges[i].kernel); k++) {
            uint32_t bits;
            memcpy(&bits, &g->edges[i].kernel->values[k], sizeof bits);
            sum = sum * 31 + bits;
        }
    return sum;
}

Test(mutate, never_writes_to_what_the_parent_shares) {
    mutation_fixture f;
    mutation_init(&f, 9);
    f.rates.weights = 1.0;
    genome *parent = fruitful_genome(&f);
    const uint64_t before = sum_of_bits(parent);
    for (int i = 0; i < 200; i++) {
        genome *child = genome_copy(parent, NULL);
        cr_assert(mutate_next(&f, &child).has_new_weights);
        cr_assert_eq(sum_of_bits(parent), before);
        genome_destroy(child);
    }
    genome_destroy(parent);
    mutation_deinit(&f);
}

// The same child twice, with a setting of its own each.
static void make_two(mutation_fixture *f, const genome *parent, const mutation_config *other,
                     genome *children[2]) {
    const mutation_config own = f->rates;
    for (int i = 0; i < 2; i++) {
        children[i] = genome_copy(parent, NULL);
        f->rates = i ? *other : own;
        mutate_next(f, &children[i]);
        f->mutation_count--;
    }
    f->rates = own;
    f->mutation_count++;
}

Test(mutate, weights_and_structure_draw_apart) {
    mutation_fixture f;
    mutation_init(&f, 10);
    only_change(&f, MUTATION_REMOVE_EDGE, 1.0);
    f.rates.weights = 1.0;
    genome *parent = fruitful_genome(&f), *children[2];
    mutation_config no_weights = f.rates, no_structure = f.rates;
    no_weights.weights = 0.0;
    no_structure.remove_edge = 0.0;
    for (int i = 0; i < 100; i++) {
        make_two(&f, parent, &no_weights, children); // the same edge goes
        cr_assert_eq(children[0]->edge_count, children[1]->edge_count);
        for (size_t e = 0; e < children[0]->edge_count; e++)
            cr_assert_eq(children[0]->edges[e].innovation, children[1]->edges[e].innovation);
        genome_destroy(children[0]);
        genome_destroy(children[1]);
        make_two(&f, parent, &no_structure, children); // what is left has the same weights
        for (size_t e = 0; e < children[0]->edge_count; e++) {
            const genome_edge *edge = &children[0]->edges[e];
            const kernel *twin = genome_find_edge(children[1], edge->from, edge->to)->kernel;
            cr_assert_arr_eq(edge->kernel->values, twin->values,
                             kernel_value_count(twin) * sizeof(float));
        }
        genome_destroy(children[0]);
        genome_destroy(children[1]);
    }
    genome_destroy(parent);
    mutation_deinit(&f);
}
