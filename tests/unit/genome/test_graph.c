// test_graph.c - order, reach and cycles, against the slowest algorithm that is plainly right.
#include "genome/graph.h"

#include "genome_fixture.h"
#include "random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_NODES = 12 };

// joins[a][b]: an enabled edge from index a to index b.
typedef struct matrix {
    size_t node_count;
    bool joins[MOST_NODES][MOST_NODES];
} matrix;

// Ids with gaps, edges in random order of innovations, some disabled; cycles where is_cyclic.
static genome *random_graph(test_random *random, bool is_cyclic, matrix *m) {
    const uint32_t count = 2 + random_below(random, MOST_NODES - 1);
    uint32_t rank[MOST_NODES], ids[MOST_NODES] = {0, 1};
    *m = (matrix){.node_count = count};
    for (uint32_t i = 0; i < count; i++) {
        rank[i] = random_below(random, 1000); // edges lead from a lower to a higher rank
        if (i > 1) ids[i] = ids[i - 1] + 1 + random_below(random, 4);
    }
    genome *g = genome_of(SIZE(1, 1, 1), SIZE(1, 1, 1));
    for (uint32_t i = 2; i < count; i++)
        put_node(g, ids[i], SIZE(1, 1, 1), 0);
    const uint32_t density = 1 + random_below(random, 4);
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < count; b++) {
            if ((!is_cyclic && rank[a] >= rank[b]) || random_below(random, 6) >= density) continue;
            genome_edge *edge =
                put_edge(g, 1 + (a * MOST_NODES + b) * UINT64_C(89) % 145, ids[a], ids[b]);
            edge->is_enabled = m->joins[a][b] = random_below(random, 5) > 0;
        }
    return g;
}

// Takes the first node by index that has no source left, again and again.
static size_t slow_order(const matrix *m, const bool *keep, uint32_t *order) {
    bool is_done[MOST_NODES] = {0};
    size_t count = 0;
    for (bool found = true; found;) {
        found = false;
        for (uint32_t i = 0; i < m->node_count && !found; i++) {
            if (is_done[i] || !keep[i]) continue;
            bool is_ready = true;
            for (uint32_t source = 0; source < m->node_count; source++)
                if (m->joins[source][i] && keep[source] && !is_done[source]) is_ready = false;
            if (!is_ready) continue;
            is_done[i] = found = true;
            order[count++] = i;
        }
    }
    return count;
}

static void check_order(const genome_graph *graph, const matrix *m, const bool *keep,
                        bool all_kept) {
    uint32_t expected[MOST_NODES], got[MOST_NODES];
    size_t got_count;
    const size_t expected_count = slow_order(m, keep, expected);
    cr_assert_eq(graph_order(graph, all_kept ? NULL : keep, got, &got_count, NULL), HOX_OK);
    cr_assert_eq(got_count, expected_count);
    for (size_t i = 0; i < expected_count; i++)
        cr_assert_eq(got[i], expected[i]);
}

// Warshall: reach[a][b] = a path, of no edge at least.
static void check_reach(const genome *g, const genome_graph *graph, const matrix *m) {
    const size_t n = m->node_count;
    matrix reach = *m;
    for (size_t i = 0; i < n; i++)
        reach.joins[i][i] = true;
    for (size_t k = 0; k < n; k++)
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++)
                reach.joins[a][b] |= reach.joins[a][k] && reach.joins[k][b];
    for (size_t a = 0; a < n; a++) {
        bool forward[MOST_NODES], backward[MOST_NODES];
        cr_assert_eq(graph_reach(graph, a, true, forward, NULL), HOX_OK);
        cr_assert_eq(graph_reach(graph, a, false, backward, NULL), HOX_OK);
        for (size_t b = 0; b < n; b++) {
            bool has_path;
            cr_assert_eq(forward[b], reach.joins[a][b]);
            cr_assert_eq(backward[b], reach.joins[b][a]);
            cr_assert_eq(graph_has_path(g, g->nodes[a].id, g->nodes[b].id, &has_path, NULL),
                         HOX_OK);
            cr_assert_eq(has_path, reach.joins[a][b]);
        }
    }
}

static void check_graphs(bool is_cyclic, uint64_t seed) {
    test_random random = {seed};
    for (int round = 0; round < 300; round++) {
        matrix m;
        bool all[MOST_NODES], some[MOST_NODES];
        genome_graph graph;
        genome *g = random_graph(&random, is_cyclic, &m);
        for (size_t i = 0; i < MOST_NODES; i++) {
            all[i] = true;
            some[i] = random_below(&random, 3) > 0;
        }
        cr_assert_eq(graph_init(&graph, g, NULL), HOX_OK);
        check_order(&graph, &m, all, true);
        check_order(&graph, &m, some, false);
        check_reach(g, &graph, &m);
        graph_deinit(&graph);
        genome_destroy(g);
    }
}

Test(graph, agrees_with_the_slow_way_on_random_graphs) {
    check_graphs(false, 1);
}

Test(graph, agrees_with_the_slow_way_on_graphs_with_cycles) {
    check_graphs(true, 2);
}

Test(graph, orders_ties_by_id) {
    genome *g = genome_of(SIZE(1, 1, 1), SIZE(1, 1, 1));
    for (uint32_t id = 2; id < 7; id++)
        put_node(g, id, SIZE(1, 1, 1), 0);
    put_edge(g, 1, 0, 6);
    put_edge(g, 2, 6, 2);
    put_edge(g, 3, 0, 5);
    put_edge(g, 4, 5, 3);
    put_edge(g, 5, 2, 1);
    put_edge(g, 6, 3, 1);
    put_edge(g, 7, 0, 4)->is_enabled = false;
    // Ready: 0 and 4 (nothing leads to it); then 4, 5, 6 ... always the lowest id.
    static const uint32_t expected[] = {0, 4, 5, 3, 6, 2, 1};
    genome_graph graph;
    uint32_t order[7];
    size_t count;
    cr_assert_eq(graph_init(&graph, g, NULL), HOX_OK);
    cr_assert_eq(graph_order(&graph, NULL, order, &count, NULL), HOX_OK);
    cr_assert_eq(count, 7);
    for (size_t i = 0; i < 7; i++)
        cr_expect_eq(order[i], expected[i], "%zu: %u", i, order[i]);
    graph_deinit(&graph);
    genome_destroy(g);
}

Test(graph, leaves_out_edges_to_nodes_that_are_not_there) {
    genome *g = genome_of(SIZE(1, 1, 1), SIZE(1, 1, 1));
    put_edge(g, 1, 0, 1)->to = 9;
    bool has_path = true;
    cr_expect_eq(graph_has_path(g, 0, 1, &has_path, NULL), HOX_OK);
    cr_expect_not(has_path);
    cr_expect_eq(graph_has_path(g, 0, 9, &has_path, NULL), HOX_OK);
    cr_expect_not(has_path);
    genome_destroy(g);
}

// Recursion would need a frame a node, and a pair of loops 10^10 steps.
Test(graph, takes_a_chain_of_100000_nodes, .timeout = 60) {
    enum { COUNT = 100000 };
    genome *g = genome_of(SIZE(1, 1, 1), SIZE(1, 1, 1));
    for (uint32_t id = 2; id < COUNT; id++)
        put_node(g, id, SIZE(1, 1, 1), 0);
    put_edge(g, 1, 0, COUNT - 1); // 0, COUNT - 1, ... 3, 2, 1: against the order of the ids
    for (uint32_t id = COUNT - 1; id > 1; id--)
        put_edge(g, 1 + COUNT - id, id, id - 1)->is_enabled = true;
    genome_graph graph;
    size_t count;
    bool has_path = false;
    uint32_t *order = calloc(COUNT, sizeof *order);
    const clock_t start = clock();
    cr_assert_eq(graph_init(&graph, g, NULL), HOX_OK);
    cr_assert_eq(graph_order(&graph, NULL, order, &count, NULL), HOX_OK);
    cr_assert_eq(graph_has_path(g, 0, 1, &has_path, NULL), HOX_OK);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    cr_expect(has_path);
    cr_assert_eq(count, COUNT);
    for (uint32_t i = 1; i < COUNT; i++)
        cr_assert_eq(order[i], COUNT - i);
    cr_expect_lt(seconds, 3.0, "%g s", seconds);
    free(order);
    graph_deinit(&graph);
    genome_destroy(g);
}
