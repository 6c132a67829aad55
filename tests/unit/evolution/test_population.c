// test_population.c - who is fitter.
#include "evolution/population.h"

#include "genome_fixture.h"

#include <criterion/criterion.h>
#include <math.h>

// In the order of their ranks; edges are genes.
static const struct {
    bool has_fitness;
    double fitness;
    size_t edge_count;
    uint64_t id;
} ranked[] = {
    {true, 0.9, 3, 40},   {true, 0.5, 1, 41},                        // fewer genes
    {true, 0.5, 2, 7},                                               // the lower id
    {true, 0.5, 2, 8},    {true, -0.0, 1, 3},                        // 0 and -0 tie
    {true, 0.0, 1, 4},    {true, -1e300, 1, 1}, {false, 0.0, 1, 30}, // without fitness: behind all
    {false, 99.0, 1, 31}, {false, 99.0, 2, 2},
};
enum { COUNT = sizeof ranked / sizeof *ranked };

static void make_one(individual *one, size_t row) {
    genome *g = genome_of(SIZE(1, 1, 1), SIZE(1, 1, 1));
    put_edge(g, 1, 0, 1)->is_enabled = false; // disabled genes count
    for (uint32_t i = 1; i < ranked[row].edge_count; i++) {
        put_node(g, 1 + i, SIZE(1, 1, 1), 0);
        put_edge(g, 1 + i, 0, 1 + i);
    }
    g->id = ranked[row].id;
    *one = (individual){
        .genome = g, .has_fitness = ranked[row].has_fitness, .fitness = ranked[row].fitness};
}

Test(population, ranks_by_fitness_then_fewer_genes_then_lower_id) {
    for (size_t shift = 0; shift < COUNT; shift++) { // from any order
        population p;
        size_t order[COUNT];
        cr_assert_eq(population_init(&p, COUNT, NULL), HOX_OK);
        for (size_t i = 0; i < COUNT; i++)
            make_one(&p.items[(i * 7 + shift) % COUNT], i);
        population_rank(&p, order);
        for (size_t i = 0; i < COUNT; i++)
            cr_expect_eq(p.items[order[i]].genome->id, ranked[i].id, "rank %zu", i);
        population_deinit(&p);
        cr_expect(p.items == NULL && p.count == 0);
        population_deinit(&p);
    }
}

Test(population, fitter_is_a_total_order) {
    individual all[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        make_one(&all[i], i);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < COUNT; k++)
            cr_expect_eq(individual_is_fitter(&all[i], &all[k]), i < k, "%zu, %zu", i, k);
    for (size_t i = 0; i < COUNT; i++)
        genome_destroy(all[i].genome);
}
