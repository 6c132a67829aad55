// test_mutate_walk.c - thousands of mutations, and what must hold after each of them.
#include "genome/mutate.h"

#include "genome/graph.h"
#include "genome/validate.h"
#include "mutation_fixture.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

enum { WALKERS = 3, STEPS = 250, MOST_NUMBERS = 100000 };

// What the numbers of a run stood for when they were first seen; 0 and 0 = not seen.
typedef struct meanings {
    struct {
        uint32_t from, to;
    } edges[MOST_NUMBERS];
    map_size nodes[MOST_NUMBERS];
} meanings;

static void check_meaning_of_edges(const mutation_fixture *f, const genome *g, meanings *m) {
    for (size_t i = 0; i < g->edge_count; i++) {
        const genome_edge *edge = &g->edges[i];
        uint64_t number;
        cr_assert_lt(edge->innovation, MOST_NUMBERS);
        if (m->edges[edge->innovation].to == 0) {
            m->edges[edge->innovation].from = edge->from;
            m->edges[edge->innovation].to = edge->to;
        }
        cr_assert_eq(m->edges[edge->innovation].from, edge->from);
        cr_assert_eq(m->edges[edge->innovation].to, edge->to);
        cr_assert_eq(innovation_of_edge(f->innovations, edge->from, edge->to, &number, NULL),
                     HOX_OK);
        cr_assert_eq(number, edge->innovation);
        cr_assert(i == 0 || edge[-1].innovation < edge->innovation);
    }
}

static void check_meaning_of_nodes(const genome *g, meanings *m) {
    for (size_t i = 0; i < g->node_count; i++) {
        const genome_node *node = &g->nodes[i];
        cr_assert_lt(node->id, MOST_NUMBERS);
        if (m->nodes[node->id].channels == 0) m->nodes[node->id] = node->size;
        cr_assert(map_size_equals(m->nodes[node->id], node->size), "node %u changed its size",
                  node->id);
        cr_assert(i == 0 || node[-1].id < node->id);
    }
}

static void check_no_lonely_node(const genome *g) {
    genome *copy = genome_copy(g, NULL);
    genome_remove_lonely_nodes(copy);
    cr_assert_eq(copy->node_count, g->node_count);
    genome_destroy(copy);
}

static void check_genome(const mutation_fixture *f, const genome *g, meanings *m) {
    hox_error error = HOX_ERROR_INIT;
    bool has_path;
    cr_assert_eq(genome_validate(g, (uint32_t)f->limits.max_kernel, &error), HOX_OK, "%s",
                 error.message);
    cr_assert_leq(g->node_count, (size_t)f->limits.max_nodes);
    cr_assert_leq(g->edge_count, (size_t)f->limits.max_edges);
    cr_assert_eq(graph_has_path(g, GENOME_INPUT, GENOME_OUTPUT, &has_path, NULL), HOX_OK);
    cr_assert(has_path);
    check_no_lonely_node(g);
    check_meaning_of_edges(f, g, m);
    check_meaning_of_nodes(g, m);
}

// Geometry of every edge is what the rules give; the activations are as set.
static void check_rules(const mutation_fixture *f, const genome *g) {
    for (size_t i = 0; i < g->edge_count; i++) {
        const genome_edge *edge = &g->edges[i];
        const geometry expected = geometry_between(genome_find_node(g, edge->from)->size,
                                                   genome_find_node(g, edge->to)->size, &f->limits);
        cr_assert_eq(memcmp(&edge->geometry, &expected, sizeof expected), 0);
    }
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
    meanings *m = calloc(1, sizeof *m);
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
            check_rules(&f, walkers[i]);
            if (walkers[i]->node_count > most_nodes) most_nodes = walkers[i]->node_count;
        }
    for (uint32_t i = 1; i < MUTATION_COUNT; i++)
        cr_expect(done[i] > 0 || (i == MUTATION_CHANNELS && rows[*row].channels.count == 1),
                  "%s never worked", mutation_names[i]);
    cr_expect_geq(most_nodes, 5, "the walk stays among %zu nodes", most_nodes);
    for (int i = 0; i < WALKERS; i++)
        genome_destroy(walkers[i]);
    free(m);
    mutation_deinit(&f);
}
