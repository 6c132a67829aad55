// test_genome.c - order of nodes and edges, adding, removing, copies that share kernels.
#include "genome/genome.h"

#include "genome_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

// 0 -> 2 -> 1 and 0 -> 1, put in out of order.
static genome *small_genome(void) {
    genome *g = genome_create(HOX_READOUT_MEAN, NULL);
    put_node(g, 2, SIZE(3, 4, 4), HOX_ACTIVATION_RELU);
    put_node(g, 0, SIZE(3, 8, 8), HOX_ACTIVATION_IDENTITY);
    put_node(g, 1, SIZE(3, 1, 1), HOX_ACTIVATION_IDENTITY);
    put_edge(g, 9, 2, 1);
    put_edge(g, 4, 0, 1);
    put_edge(g, 7, 0, 2);
    return g;
}

Test(genome, keeps_nodes_by_id_and_edges_by_innovation) {
    genome *g = small_genome();
    cr_assert_eq(g->node_count, 3);
    cr_assert_eq(g->edge_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        cr_expect_eq(g->nodes[i].id, i);
    cr_expect(g->edges[0].innovation == 4 && g->edges[1].innovation == 7 &&
              g->edges[2].innovation == 9);
    cr_expect(g->edges[0].to == 1 && g->edges[1].to == 2 && g->edges[2].from == 2);
    genome_destroy(g);
}

Test(genome, finds_nodes_and_edges) {
    genome *g = small_genome();
    cr_expect_eq(genome_find_node(g, 2)->size.height, 4);
    cr_expect_eq(genome_find_node(g, 0)->size.height, 8);
    cr_expect_null(genome_find_node(g, 3));
    cr_expect_eq(genome_find_edge(g, 2, 1)->innovation, 9);
    cr_expect_null(genome_find_edge(g, 1, 2));
    genome *empty = genome_create(HOX_READOUT_SUM, NULL);
    cr_expect_null(genome_find_node(empty, 0));
    cr_expect_null(genome_find_edge(empty, 0, 1));
    genome_destroy(empty);
    genome_destroy(g);
}

Test(genome, refuses_a_number_given_twice_and_takes_the_kernel_anyway) {
    genome *g = small_genome();
    hox_error error = HOX_ERROR_INIT, second = HOX_ERROR_INIT;
    cr_expect_eq(genome_add_node(g, (genome_node){.id = 2}, &error), HOX_INVALID_ARGUMENT);
    cr_expect_str_eq(error.message, "node 2: given twice");
    genome_edge edge = g->edges[1];
    edge.from = 2;
    edge.to = 0;
    kernel_retain(edge.kernel);
    cr_expect_eq(genome_add_edge(g, edge, &second), HOX_INVALID_ARGUMENT);
    cr_expect_str_eq(second.message, "edge 2 -> 0: innovation 7 is given twice");
    cr_expect_eq(edge.kernel->reference_count, 1);
    cr_expect(g->node_count == 3 && g->edge_count == 3);
    genome_destroy(g);
}

Test(genome, removes_an_edge_and_keeps_the_order) {
    genome *g = small_genome();
    genome_remove_edge(g, 1);
    cr_assert_eq(g->edge_count, 2);
    cr_expect(g->edges[0].innovation == 4 && g->edges[1].innovation == 9);
    genome_destroy(g);
}

Test(genome, removes_a_node_with_its_edges) {
    genome *g = small_genome();
    genome_remove_node(g, 2);
    cr_expect_eq(g->node_count, 2);
    cr_expect_null(genome_find_node(g, 2));
    cr_assert_eq(g->edge_count, 1);
    cr_expect_eq(g->edges[0].innovation, 4);
    genome_remove_node(g, 77);
    cr_expect_eq(g->node_count, 2);
    genome_destroy(g);
}

Test(genome, lonely_nodes_are_hidden_ones_without_a_gene) {
    genome *g = small_genome();
    put_node(g, 5, SIZE(3, 2, 2), HOX_ACTIVATION_RELU);
    put_node(g, 3, SIZE(3, 2, 2), HOX_ACTIVATION_RELU);
    genome_remove_edge(g, 0);
    g->edges[0].is_enabled = g->edges[1].is_enabled = false; // disabled genes are genes
    genome_remove_lonely_nodes(g);
    cr_assert_eq(g->node_count, 3);
    cr_expect_not_null(genome_find_node(g, 2));
    genome_remove_edge(g, 0);
    genome_remove_edge(g, 0);
    genome_remove_lonely_nodes(g);
    cr_assert_eq(g->node_count, 2);
    cr_expect(genome_find_node(g, 0) && genome_find_node(g, 1));
    genome_destroy(g);
}

Test(genome, copy_shares_kernels_and_nothing_else) {
    genome *g = small_genome();
    g->id = 12;
    g->parent_ids[0] = 5;
    g->parent_ids[1] = 3;
    genome *copy = genome_copy(g, NULL);
    cr_expect(genome_is_same(copy, g));
    cr_expect(copy->id == 12 && copy->parent_ids[0] == 5 && copy->parent_ids[1] == 3);
    cr_expect_eq(copy->edges[0].kernel, g->edges[0].kernel);
    cr_expect_eq(g->edges[0].kernel->reference_count, 2);
    put_node(copy, 4, SIZE(3, 2, 2), HOX_ACTIVATION_RELU);
    put_edge(copy, 5, 0, 4);
    genome_replace_kernel(&copy->edges[0], kernel_copy(g->edges[0].kernel, NULL));
    copy->edges[0].kernel->values[0] += 1.0F;
    cr_expect_neq(g->edges[0].kernel->values[0], copy->edges[0].kernel->values[0]);
    cr_expect_eq(g->edges[0].kernel->reference_count, 1);
    cr_expect(g->node_count == 3 && g->edge_count == 3);
    genome_destroy(g);
    cr_expect_eq(copy->edges[2].kernel->reference_count, 1);
    cr_expect_eq(copy->edges[2].kernel->values[0], copy->edges[2].kernel->values[0]);
    genome_destroy(copy);
    genome_destroy(NULL);
}

Test(genome, copies_an_empty_one) {
    genome *empty = genome_create(HOX_READOUT_SUM, NULL);
    genome *copy = genome_copy(empty, NULL);
    put_node(copy, 0, SIZE(1, 1, 1), 0);
    put_node(copy, 1, SIZE(1, 1, 1), 0);
    put_edge(copy, 1, 0, 1);
    cr_expect(copy->node_count == 2 && copy->edge_count == 1);
    genome_destroy(copy);
    genome_destroy(empty);
}

Test(genome, counts_weights_and_enabled_edges) {
    genome *g = small_genome();
    // 0 -> 1: 9 x 8 x 8 + 3; 0 -> 2: 9 x 5 x 5 + 3; 2 -> 1: 9 x 4 x 4 + 3
    cr_expect_eq(genome_weight_count(g), 579 + 228 + 147);
    cr_expect_eq(genome_enabled_edge_count(g), 3);
    g->edges[1].is_enabled = false;
    cr_expect_eq(genome_weight_count(g), 579 + 228 + 147);
    cr_expect_eq(genome_enabled_edge_count(g), 2);
    genome_destroy(g);
}

Test(genome, holds_many_in_any_order) {
    genome *g = genome_of(SIZE(1, 1, 1), SIZE(1, 1, 1));
    enum { COUNT = 500 };
    for (uint32_t i = 0; i < COUNT; i++)
        put_node(g, 2 + i * 367 % COUNT, SIZE(1, 1, 1), 0); // 367 and 500 have no common divisor
    for (uint32_t i = 0; i < COUNT; i++)
        put_edge(g, 1 + i * 367 % COUNT, 0, 2 + i);
    for (uint32_t i = 1; i < g->node_count; i++)
        cr_assert_gt(g->nodes[i].id, g->nodes[i - 1].id);
    for (uint32_t i = 1; i < g->edge_count; i++)
        cr_assert_gt(g->edges[i].innovation, g->edges[i - 1].innovation);
    genome_destroy(g);
}
