// test_distance.c - distances worked out by hand.
#include "genome/distance.h"

#include "genome_fixture.h"

#include <criterion/criterion.h>
#include <math.h>

static const distance_config defaults = {.excess = 1.0, .disjoint = 1.0, .weights = 0.4};

// Up to 8 hidden nodes of 1 x 1 pixel; gene i is 0 -> i + 1, its weight and bias both weights[i].
static genome *genome_with(const uint64_t *genes, size_t gene_count, float weight) {
    genome *g = genome_of(SIZE(1, 1, 1), SIZE(1, 1, 1));
    for (size_t i = 0; i < gene_count; i++) {
        const uint32_t to = (uint32_t)genes[i] + 1;
        put_node(g, to, SIZE(1, 1, 1), 0);
        float *values = put_edge(g, genes[i], 0, to)->kernel->values;
        values[0] = values[1] = weight;
    }
    return g;
}

static double between(const genome *a, const genome *b, const distance_config *config) {
    const double distance = distance_between(a, b, config);
    cr_expect_eq(distance_between(b, a, config), distance, "not symmetric");
    cr_expect_eq(distance_between(a, a, config), 0.0);
    cr_expect_eq(distance_between(b, b, config), 0.0);
    return distance;
}

static bool is_near(double a, double b) {
    return fabs(a - b) < 1e-12;
}

// a: 1 2 . 4 5 . . 8        N = 5
// b: 1 . 3 4 . 6            E = 1 (8), D = 4 (2, 3, 5, 6), matching 1 and 4
Test(distance, excess_and_disjoint_genes_over_the_larger_number) {
    genome *a = genome_with((const uint64_t[]){1, 2, 4, 5, 8}, 5, 0.5F);
    genome *b = genome_with((const uint64_t[]){1, 3, 4, 6}, 4, 0.5F);
    cr_expect(is_near(between(a, b, &defaults), 1.0 / 5 + 4.0 / 5));
    cr_expect(is_near(between(a, b, &(distance_config){.excess = 10.0}), 10.0 / 5));
    cr_expect(is_near(between(a, b, &(distance_config){.disjoint = 10.0}), 40.0 / 5));
    cr_expect_eq(between(a, b, &(distance_config){.weights = 10.0}), 0.0);
    genome_destroy(a);
    genome_destroy(b);
}

// sigma of a 1 x 1 kernel of one channel is sqrt(2); 0.25 apart in weight and bias.
Test(distance, weights_are_compared_in_sigma_biases_too) {
    genome *a = genome_with((const uint64_t[]){1, 2}, 2, 0.5F);
    genome *b = genome_with((const uint64_t[]){1, 2}, 2, 0.25F);
    cr_expect(is_near(between(a, b, &defaults), 0.4 * 0.25 / sqrt(2.0)));
    b->edges[0].kernel->values[0] = 0.5F; // the bias of 1 and all of 2 are left: mean of 1/2 and 1
    cr_expect(is_near(between(a, b, &defaults), 0.4 * 0.75 * 0.25 / sqrt(2.0)));
    genome_destroy(a);
    genome_destroy(b);
}

// Genes without a match leave the mean as it is.
Test(distance, weights_are_the_mean_over_matching_edges_alone) {
    genome *a = genome_with((const uint64_t[]){1, 2, 4, 5, 8}, 5, 0.5F);
    genome *b = genome_with((const uint64_t[]){1, 3, 4, 6}, 4, 0.25F);
    cr_expect(is_near(between(a, b, &defaults), 5.0 / 5 + 0.4 * 0.25 / sqrt(2.0)));
    genome_destroy(a);
    genome_destroy(b);
}

// 3 channels of 4 x 2 pixels into 2 of 1 x 1: 50 values, sigma = sqrt(2 / (3 x 4 x 2)).
Test(distance, sigma_is_that_of_the_source_side) {
    genome *a = genome_of(SIZE(3, 4, 2), SIZE(2, 1, 1)), *b;
    put_edge(a, 1, 0, 1);
    b = genome_copy(a, NULL);
    genome_replace_kernel(&b->edges[0], kernel_copy(a->edges[0].kernel, NULL));
    cr_assert_eq(kernel_value_count(b->edges[0].kernel), 2 * 3 * 4 * 2 + 2);
    const double before = b->edges[0].kernel->values[7];
    b->edges[0].kernel->values[7] -= 1.5F;
    const double moved = before - b->edges[0].kernel->values[7]; // 1.5 but for rounding
    cr_expect(is_near(between(a, b, &defaults), 0.4 * moved / 50.0 / sqrt(2.0 / 24.0)));
    genome_destroy(a);
    genome_destroy(b);
}

Test(distance, an_edge_counts_2_at_most) {
    genome *a = genome_with((const uint64_t[]){1, 2}, 2, 0.0F);
    genome *b = genome_with((const uint64_t[]){1, 2}, 2, 0.0F);
    const float root = 1.41421356F;
    b->edges[0].kernel->values[0] = b->edges[0].kernel->values[1] = 1.875F * root;
    cr_expect(fabs(between(a, b, &defaults) - 0.4 * 1.875 / 2) < 1e-7);
    b->edges[0].kernel->values[0] = b->edges[0].kernel->values[1] = 1000.0F;
    cr_expect(is_near(between(a, b, &defaults), 0.4 * 2.0 / 2));
    b->edges[1].kernel->values[0] = 1e38F; // the other has its own cap: (2 + 2) / 2
    cr_expect(is_near(between(a, b, &defaults), 0.4 * 2.0));
    b->edges[1].kernel->values[1] = INFINITY;
    cr_expect(is_near(between(a, b, &defaults), 0.4 * 2.0));
    genome_destroy(a);
    genome_destroy(b);
}

Test(distance, kernels_of_another_shape_count_1) {
    genome *a = genome_with((const uint64_t[]){1, 2}, 2, 0.5F);
    genome *b = genome_with((const uint64_t[]){2}, 1, 0.5F);
    put_node(b, 2, SIZE(1, 2, 1), 0);
    put_edge(b, 1, 0, 2); // 2 x 1
    cr_expect(is_near(between(a, b, &defaults), 0.4 * (1.0 + 0.0) / 2));
    const geometry pixel = {{1, 1, 0}, {1, 1, 0}};
    genome_replace_kernel(&b->edges[0], kernel_create(SIZE(2, 1, 1), SIZE(1, 1, 1), pixel, NULL));
    cr_expect(is_near(between(a, b, &defaults), 0.4 * (1.0 + 0.0) / 2));
    genome_destroy(a);
    genome_destroy(b);
}

Test(distance, without_a_match_weights_count_nothing) {
    genome *a = genome_with((const uint64_t[]){1, 2}, 2, 0.5F);
    genome *b = genome_with((const uint64_t[]){3, 4, 5, 6}, 4, 100.0F);
    // newest of both: 2; all of a disjoint, all of b excess
    cr_expect(is_near(between(a, b, &(distance_config){1.0, 10.0, 100.0}), (4 + 10.0 * 2) / 4));
    genome_destroy(a);
    genome_destroy(b);
}

Test(distance, genomes_without_genes) {
    genome *a = genome_of(SIZE(1, 1, 1), SIZE(1, 1, 1));
    genome *b = genome_with((const uint64_t[]){3, 4}, 2, 0.5F);
    cr_expect_eq(between(a, a, &defaults), 0.0);
    cr_expect(is_near(between(a, b, &(distance_config){3.0, 50.0, 50.0}), 3.0)); // all excess
    genome_destroy(a);
    genome_destroy(b);
}

// Flags, sizes, activations and ids play no part; a copy shares its kernels, a twin does not.
Test(distance, equal_genes_are_at_0) {
    genome *a = genome_with((const uint64_t[]){1, 2, 7}, 3, 0.5F);
    genome *b = genome_with((const uint64_t[]){1, 2, 7}, 3, 0.5F), *copy = genome_copy(a, NULL);
    b->edges[1].is_enabled = false;
    b->id = 4;
    cr_expect_eq(between(a, b, &defaults), 0.0);
    cr_expect_eq(between(a, copy, &defaults), 0.0);
    genome_destroy(copy);
    genome_destroy(a);
    genome_destroy(b);
}

Test(distance, huge_numbers_of_genes_are_only_numbers) {
    genome *a = genome_with((const uint64_t[]){1}, 1, 0.5F);
    genome *b = genome_with((const uint64_t[]){1}, 1, 0.5F);
    put_node(a, 50, SIZE(1, 1, 1), 0);
    put_node(b, 51, SIZE(1, 1, 1), 0);
    put_edge(a, UINT64_MAX - 2, 0, 50);
    put_edge(b, UINT64_MAX - 1, 0, 51);
    // disjoint UINT64_MAX - 2, excess UINT64_MAX - 1
    cr_expect(is_near(between(a, b, &(distance_config){1.0, 10.0, 0.0}), (1.0 + 10.0) / 2));
    genome_destroy(a);
    genome_destroy(b);
}
