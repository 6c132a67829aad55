// test_innovation.c - one number a key, for the whole run.
#include "genome/innovation.h"

#include "genome_fixture.h"

#include <criterion/criterion.h>

static uint64_t edge(innovation_table *table, uint32_t from, uint32_t to) {
    uint64_t number = 0;
    cr_assert_eq(innovation_of_edge(table, from, to, &number, NULL), HOX_OK);
    return number;
}

static uint32_t split(innovation_table *table, uint64_t innovation, uint32_t channels, uint32_t n) {
    uint32_t id = 0;
    cr_assert_eq(innovation_of_split(table, innovation, channels, n, &id, NULL), HOX_OK);
    return id;
}

static uint32_t resize(innovation_table *table, uint32_t node, map_size size, uint32_t n) {
    uint32_t id = 0;
    cr_assert_eq(innovation_of_resize(table, node, size, n, &id, NULL), HOX_OK);
    return id;
}

Test(innovation, numbers_edges_from_1_and_nodes_behind_the_output) {
    innovation_table *table = innovation_table_create(NULL);
    cr_expect_eq(edge(table, 0, 1), 1);
    cr_expect_eq(split(table, 1, 3, 0), 2);
    cr_expect_eq(edge(table, 0, 2), 2);
    cr_expect_eq(edge(table, 2, 1), 3);
    cr_expect_eq(resize(table, 2, SIZE(3, 4, 4), 0), 3);
    cr_expect_eq(edge(table, 0, 3), 4);
    innovation_table_destroy(table);
    innovation_table_destroy(NULL);
}

Test(innovation, equal_keys_have_equal_numbers) {
    innovation_table *table = innovation_table_create(NULL);
    const uint64_t first = edge(table, 0, 1);
    const uint32_t node = split(table, first, 3, 0), other = resize(table, node, SIZE(3, 9, 7), 1);
    edge(table, 0, node);
    cr_expect_eq(edge(table, 0, 1), first);
    cr_expect_eq(split(table, first, 3, 0), node);
    cr_expect_eq(resize(table, node, SIZE(3, 9, 7), 1), other);
    innovation_table_destroy(table);
}

Test(innovation, each_part_of_a_key_counts) {
    innovation_table *table = innovation_table_create(NULL);
    const uint64_t edges[] = {edge(table, 2, 3), edge(table, 3, 2), edge(table, 2, 4),
                              edge(table, 5, 3)};
    const uint32_t nodes[] = {
        split(table, 2, 3, 0),
        split(table, 3, 3, 0),
        split(table, 2, 8, 0),
        split(table, 2, 3, 1),
        split(table, 2 + (UINT64_C(1) << 32), 3, 0),
        resize(table, 2, SIZE(3, 0, 0), 0), // shaped like the first split's key
        resize(table, 2, SIZE(3, 4, 5), 0),
        resize(table, 2, SIZE(3, 5, 4), 0),
        resize(table, 2, SIZE(4, 4, 5), 0),
        resize(table, 3, SIZE(3, 4, 5), 0),
        resize(table, 2, SIZE(3, 4, 5), 1),
    };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(edges[i], edges[k], "edges %zu and %zu", i, k);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(nodes[i], nodes[k], "nodes %zu and %zu", i, k);
    innovation_table_destroy(table);
}

Test(innovation, stays_right_over_thousands) {
    enum { SIDE = 100 };
    innovation_table *table = innovation_table_create(NULL);
    uint64_t next = 1;
    for (int round = 0; round < 2; round++) { // numbered in the first, the same in the second
        uint64_t number = 1;
        uint32_t node = 2;
        for (uint32_t from = 0; from < SIDE; from++)
            for (uint32_t to = 0; to < SIDE; to++) {
                cr_assert_eq(edge(table, from, to), number++);
                cr_assert_eq(split(table, number, 3, to % 3), node++);
            }
        next = number;
    }
    cr_expect_eq(edge(table, SIDE, SIDE), next);
    innovation_table_destroy(table);
}
