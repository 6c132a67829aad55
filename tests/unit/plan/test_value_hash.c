// test_value_hash.c - equal names for equal maps, in one genome or another, and for nothing else.
#include "plan/value_hash.h"

#include "genome_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

// A genome with its plan and weights.
typedef struct prepared {
    const genome *g;
    plan p;
    plan_weights weights;
} prepared;

static void prepare(prepared *it, const genome *g) {
    it->g = g;
    cr_assert_eq(plan_init(&it->p, g, NULL), HOX_OK);
    cr_assert(it->p.has_path);
    cr_assert_eq(plan_weights_init(&it->weights, &it->p, g, NULL), HOX_OK);
}

static void put_away(prepared *it) {
    plan_weights_deinit(&it->weights);
    plan_deinit(&it->p);
}

static const uint64_t *node_hash(const prepared *it, uint32_t id) {
    uint32_t i = 0;
    while (i < it->p.view.node_count && it->g->nodes[it->p.node_index[i]].id != id)
        i++;
    cr_assert_lt(i, it->p.view.node_count, "node %u is not executed", id);
    return it->weights.view.node_value_hash + 2 * (size_t)i;
}

static const uint64_t *edge_hash(const prepared *it, uint32_t from, uint32_t to) {
    const genome_edge *wanted = genome_find_edge(it->g, from, to);
    uint32_t i = 0;
    while (i < it->p.view.edge_count && &it->g->edges[it->p.edge_index[i]] != wanted)
        i++;
    cr_assert_lt(i, it->p.view.edge_count, "edge %u -> %u is not executed", from, to);
    return it->weights.view.edge_value_hash + 2 * (size_t)i;
}

static bool is_same(const uint64_t *a, const uint64_t *b) {
    return a[0] == b[0] && a[1] == b[1];
}

// 0 -> 2 -> 3 -> 1 and 0 -> 3.
static genome *base_genome(void) {
    genome *g = genome_of(SIZE(2, 5, 5), SIZE(1, 1, 1));
    put_node(g, 2, SIZE(2, 3, 4), HOX_ACTIVATION_RELU);
    put_node(g, 3, SIZE(1, 3, 3), HOX_ACTIVATION_TANH);
    put_edge(g, 1, 0, 2);
    put_edge(g, 2, 2, 3);
    put_edge(g, 3, 0, 3);
    put_edge(g, 4, 3, 1);
    return g;
}

// The map of 3 again, as node 40 fed by node 20, in a genome with more beside and behind it.
static genome *other_genome(const genome *base) {
    genome *g = genome_of(SIZE(2, 5, 5), SIZE(4, 2, 2));
    put_node(g, 9, SIZE(2, 2, 2), HOX_ACTIVATION_SILU);
    put_node(g, 20, SIZE(2, 3, 4), HOX_ACTIVATION_RELU);
    put_node(g, 40, SIZE(1, 3, 3), HOX_ACTIVATION_TANH);
    put_edge(g, 51, 0, 9);
    put_edge(g, 60, 0, 20);
    put_edge(g, 61, 20, 40);
    put_edge(g, 62, 0, 40);
    put_edge(g, 63, 9, 1);
    put_edge(g, 64, 40, 1);
    g->readout = HOX_READOUT_MEAN;
    for (size_t i = 0; i < 3; i++)
        genome_replace_kernel(&g->edges[i + 1], kernel_copy(base->edges[i].kernel, NULL));
    return g;
}

Test(value_hash, equal_maps_have_equal_names_in_different_genomes) {
    genome *a = base_genome(), *b = other_genome(a);
    prepared p, q;
    prepare(&p, a);
    prepare(&q, b);
    cr_expect(is_same(node_hash(&p, 0), node_hash(&q, 0)));
    cr_expect(is_same(node_hash(&p, 2), node_hash(&q, 20)));
    cr_expect(is_same(node_hash(&p, 3), node_hash(&q, 40)));
    cr_expect(is_same(edge_hash(&p, 0, 2), edge_hash(&q, 0, 20)));
    cr_expect(is_same(edge_hash(&p, 2, 3), edge_hash(&q, 20, 40)));
    cr_expect(is_same(edge_hash(&p, 0, 3), edge_hash(&q, 0, 40)));
    cr_expect_not(is_same(node_hash(&p, 1), node_hash(&q, 1)));
    cr_expect_neq(p.weights.view.version, q.weights.view.version);
    put_away(&q);
    put_away(&p);
    genome_destroy(b);
    genome_destroy(a);
}

Test(value_hash, no_two_of_a_genome_are_the_same) {
    genome *g = base_genome();
    prepared p;
    prepare(&p, g);
    // Edges lie in front of nodes in one array.
    const uint64_t *all = p.weights.view.edge_value_hash;
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < i; k++)
            cr_expect_not(is_same(all + 2 * i, all + 2 * k), "%zu, %zu", i, k);
    put_away(&p);
    genome_destroy(g);
}

// Two nodes of one genome with the same map.
Test(value_hash, twins_have_one_name) {
    genome *g = base_genome();
    put_node(g, 5, SIZE(2, 3, 4), HOX_ACTIVATION_RELU);
    genome_replace_kernel(put_edge(g, 8, 0, 5), kernel_retain(g->edges[0].kernel));
    put_edge(g, 9, 5, 1);
    prepared p;
    prepare(&p, g);
    cr_expect(is_same(node_hash(&p, 2), node_hash(&p, 5)));
    cr_expect(is_same(edge_hash(&p, 0, 2), edge_hash(&p, 0, 5)));
    put_away(&p);
    genome_destroy(g);
}

// Which names a change of base_genome leaves as they were.
static void expect_names(const genome *base, const genome *changed, bool of_2, bool of_3,
                         const char *what) {
    prepared p, q;
    prepare(&p, base);
    prepare(&q, changed);
    cr_expect(is_same(node_hash(&p, 0), node_hash(&q, 0)), "%s", what);
    cr_expect_eq(is_same(node_hash(&p, 2), node_hash(&q, 2)), of_2, "%s", what);
    cr_expect_eq(is_same(edge_hash(&p, 0, 2), edge_hash(&q, 0, 2)), of_2, "%s", what);
    cr_expect_eq(is_same(node_hash(&p, 3), node_hash(&q, 3)), of_3, "%s", what);
    cr_expect_not(is_same(node_hash(&p, 1), node_hash(&q, 1)), "%s", what);
    cr_expect_neq(p.weights.view.version, q.weights.view.version, "%s", what);
    put_away(&q);
    put_away(&p);
}

static void flip(float *value, int bit) {
    uint32_t bits;
    memcpy(&bits, value, sizeof bits);
    bits ^= UINT32_C(1) << bit;
    memcpy(value, &bits, sizeof bits);
}

Test(value_hash, every_bit_of_every_weight_counts) {
    genome *base = base_genome(), *changed = base_genome();
    for (size_t e = 0; e < base->edge_count; e++) {
        kernel *k = changed->edges[e].kernel;
        for (uint64_t i = 0; i < kernel_value_count(k); i++)
            for (int bit = 0; bit < 32; bit += i % 5 == 0 ? 1 : 31) {
                flip(&k->values[i], bit);
                expect_names(base, changed, e != 0, e == 3, "a bit");
                flip(&k->values[i], bit);
            }
    }
    genome_destroy(changed);
    genome_destroy(base);
}

Test(value_hash, activation_counts_for_the_node_and_what_follows) {
    genome *base = base_genome(), *changed = base_genome();
    changed->nodes[3].activation = HOX_ACTIVATION_GELU;
    expect_names(base, changed, true, false, "activation of 3");
    prepared p, q;
    prepare(&p, base);
    prepare(&q, changed);
    cr_expect(is_same(edge_hash(&p, 2, 3), edge_hash(&q, 2, 3)), "not for the edges into it");
    cr_expect_not(is_same(edge_hash(&p, 3, 1), edge_hash(&q, 3, 1)));
    put_away(&q);
    put_away(&p);
    genome_destroy(changed);
    genome_destroy(base);
}

Test(value_hash, order_of_the_edges_counts) {
    genome *base = base_genome(), *changed = base_genome();
    const genome_edge second = changed->edges[1];
    changed->edges[1] = changed->edges[2];
    changed->edges[2] = second;
    changed->edges[1].innovation = 2;
    changed->edges[2].innovation = 3;
    expect_names(base, changed, true, false, "order");
    genome_destroy(changed);
    genome_destroy(base);
}

// 0 -> 2 and 0 -> 3 with one map size and one kernel, then 2 -> 4 and 3 -> 5 with another.
Test(value_hash, the_source_counts) {
    genome *g = genome_of(SIZE(1, 4, 4), SIZE(1, 1, 1));
    for (uint32_t id = 2; id <= 5; id++)
        put_node(g, id, SIZE(1, 3, 3), id == 3 ? HOX_ACTIVATION_TANH : HOX_ACTIVATION_RELU);
    put_edge(g, 1, 0, 2);
    genome_replace_kernel(put_edge(g, 2, 0, 3), kernel_retain(g->edges[0].kernel));
    put_edge(g, 3, 2, 4);
    genome_replace_kernel(put_edge(g, 4, 3, 5), kernel_retain(g->edges[2].kernel));
    put_edge(g, 5, 4, 1);
    put_edge(g, 6, 5, 1);
    prepared p;
    prepare(&p, g);
    cr_expect(is_same(edge_hash(&p, 0, 2), edge_hash(&p, 0, 3)));
    cr_expect_not(is_same(edge_hash(&p, 2, 4), edge_hash(&p, 3, 5)));
    cr_expect_not(is_same(node_hash(&p, 4), node_hash(&p, 5)));
    put_away(&p);
    genome_destroy(g);
}

// 6 -> 2 with a kernel of 3: floor((6 + 2 p - 3) / s) + 1 is 2 for each of these.
static const axis_geometry six_to_two[] = {{3, 3, 0}, {3, 2, 0}, {3, 3, 1}};

Test(value_hash, geometry_counts_where_the_weights_are_the_same) {
    genome *genomes[9];
    prepared all[9];
    for (size_t i = 0; i < 9; i++) {
        const geometry shape = {six_to_two[i / 3], six_to_two[i % 3]};
        rng r = rng_stream(1, 0, 0, 0);
        genomes[i] = genome_of(SIZE(1, 6, 6), SIZE(1, 2, 2));
        genome_edge *edge = put_edge(genomes[i], 1, 0, 1);
        edge->geometry = shape;
        genome_replace_kernel(edge,
                              kernel_draw(SIZE(1, 6, 6), SIZE(1, 2, 2), shape, 1.0, &r, NULL));
        prepare(&all[i], genomes[i]);
        for (size_t k = 0; k < i; k++) {
            cr_expect_not(is_same(edge_hash(&all[i], 0, 1), edge_hash(&all[k], 0, 1)), "%zu, %zu",
                          i, k);
            cr_expect_not(is_same(node_hash(&all[i], 1), node_hash(&all[k], 1)), "%zu, %zu", i, k);
        }
    }
    for (size_t i = 0; i < 9; i++) {
        put_away(&all[i]);
        genome_destroy(genomes[i]);
    }
}

Test(value_hash, weights_lie_where_the_plan_says) {
    genome *g = base_genome();
    prepared p;
    prepare(&p, g);
    cr_assert_eq(p.weights.view.struct_size, sizeof(hox_weights));
    cr_assert_eq(p.weights.view.count, p.p.view.weight_count);
    cr_assert_eq(p.weights.view.count, genome_weight_count(g));
    for (uint32_t i = 0; i < p.p.view.edge_count; i++) {
        const kernel *k = g->edges[p.p.edge_index[i]].kernel;
        cr_expect_arr_eq(p.weights.view.values + p.p.view.edge_weight_offset[i], k->values,
                         kernel_value_count(k) * sizeof *k->values);
    }
    put_away(&p);
    genome_destroy(g);
}
