// test_mutate_walk.c - thousands of mutations, and what must hold after each of them.
#include "genome/mutate.h"

#include "genome/validate.h"
#include "mutation_fixture.h"
#include "soundness_fixture.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

enum { WALKERS = 3, STEPS = 250 };

// The table of the run gives the number again.
static void check_numbers(const mutation_fixture *f, const genome *g) {
    for (size_t i = 0; i < g->edge_count; i++) {
        uint64_t number;
        cr_assert_eq(
            innovation_of_edge(f->innovations, g->edges[i].from, g->edges[i].to, &number, NULL),
            HOX_OK);
        cr_assert_eq(number, g->edges[i].innovation);
    }
}

static void check_genome(const mutation_fixture *f, const genome *g, meanings *m) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(genome_validate(g, (uint32_t)f->limits.max_kernel, &error), HOX_OK, "%s",
                 error.message);
    check_sound(g, &f->limits, m);
    check_numbers(f, g);
}

static const struct {
    map_size input;
    int64_t max_nodes, max_edges, max_kernel;
    int32_t is_classic, same3, stride2;
    hox_int_list channels;
    double growth, shrinkage; // rate of each operator that adds, and of each that removes
} rows[] = {
    {{3, 12, 10}, 64, 256, 32, 0, 0, 0, {1, {3}}, 0.3, 0.02},
    {{3, 12, 10}, 64, 256, 32, 1, 0, 0, {1, {3}}, 0.15, 0.1},
    {{1, 8, 8}, 64, 256, 8, 0, 0, 0, {3, {1, 2, 4}}, 0.2, 0.05}, // wider maps break max_kernel
    {{3, 9, 9}, 5, 7, 32, 0, 1, 1, {2, {3, 5}}, 0.2, 0.02},
    {{2, 10, 7}, 8, 256, 32, 1, 0, 1, {2, {1, 2}}, 0.2, 0.05},
};

static void init_row(mutation_fixture *f, size_t row) {
    mutation_init(f, 40 + row);
    f->limits.max_nodes = rows[row].max_nodes;
    f->limits.max_edges = rows[row].max_edges;
    f->limits.max_kernel = rows[row].max_kernel;
    f->limits.same3 = rows[row].same3;
    f->limits.stride2 = rows[row].stride2;
    f->limits.allowed_channels = rows[row].channels;
    f->rates.split_keeps_edge = !rows[row].is_classic;
    f->rates.weights = 0.2;
    f->rates.add_edge = f->rates.add_node = rows[row].growth;
    f->rates.remove_edge = f->rates.remove_node = rows[row].shrinkage;
    f->rates.toggle_edge = f->rates.resize_node = f->rates.channels = f->rates.activation = 0.08;
}

ParameterizedTestParameters(mutate_walk, leaves_a_genome_each_time) {
    static size_t indices[sizeof rows / sizeof *rows];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        indices[i] = i;
    return cr_make_param_array(size_t, indices, sizeof rows / sizeof *rows);
}

// Walkers share the run's numbers, as the genomes of a population do.
ParameterizedTest(size_t *row, mutate_walk, leaves_a_genome_each_time) {
    mutation_fixture f;
    genome *walkers[WALKERS];
    int done[MUTATION_COUNT] = {0};
    size_t most_nodes = 0;
    meanings *m = meanings_create();
    init_row(&f, *row);
    for (int i = 0; i < WALKERS; i++)
        walkers[i] = start_genome(&f, rows[*row].input);
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < WALKERS; i++) {
            const mutation_record record = mutate_next(&f, &walkers[i]);
            cr_assert(record.has_new_structure || record.change == MUTATION_NONE ||
                      record.failed_count == 20);
            done[record.change] += record.has_new_structure;
            check_genome(&f, walkers[i], m);
            if (walkers[i]->node_count > most_nodes) most_nodes = walkers[i]->node_count;
        }
    for (uint32_t i = 1; i < MUTATION_COUNT; i++)
        cr_expect(done[i] > 0 || (i == MUTATION_CHANNELS && rows[*row].channels.count == 1),
                  "%s never worked", mutation_names[i]);
    cr_expect_geq(most_nodes, 5, "the walk stays among %zu nodes", most_nodes);
    for (int i = 0; i < WALKERS; i++)
        genome_destroy(walkers[i]);
    meanings_destroy(m);
    mutation_deinit(&f);
}
