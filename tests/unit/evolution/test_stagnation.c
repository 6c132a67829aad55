// test_stagnation.c - who may go on.
#include "evolution/stagnation.h"

#include <criterion/criterion.h>

// By id; of species with equal bests the lower id is the better.
static species all[] = {
    {.id = 2, .has_best = true, .best_fitness = 5.0, .improved_generation = 10},
    {.id = 3, .has_best = true, .best_fitness = 9.0, .improved_generation = 4},
    {.id = 7, .has_best = false, .best_fitness = 99.0, .improved_generation = 6},
    {.id = 8, .has_best = true, .best_fitness = -1e300, .improved_generation = 5},
    {.id = 9, .has_best = true, .best_fitness = 5.0, .improved_generation = 0},
};
enum { COUNT = sizeof all / sizeof *all };

static const struct {
    int64_t stagnation, protected_species;
    uint32_t generation;
    const char active[COUNT + 1];
} rows[] = {
    {15, 0, 10, "11111"},          {10, 0, 10, "11110"}, // 9: not in the last 10
    {11, 0, 10, "11111"},          {6, 0, 10, "10110"},
    {5, 0, 10, "10100"},           {4, 0, 10, "10000"},
    {1, 0, 10, "10000"},           {1, 0, 11, "00000"},
    {2, 0, 11, "10000"},           {0, 0, 4000000000, "11111"}, // never
    {1, 1, 11, "01000"},                                        // the best ever
    {1, 2, 11, "11000"},                                        // 2 before 9
    {1, 3, 11, "11001"},           {1, 4, 11, "11011"},         // without fitness: last
    {1, 5, 11, "11111"},           {1, 100000, 11, "11111"},
    {1000000, 0, 999999, "11111"}, {1000000, 0, 1000000, "11110"},
};

Test(stagnation, ends_those_that_did_not_improve_but_the_best) {
    const species_set set = {.items = all, .count = COUNT};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const species_config config = {.stagnation = rows[i].stagnation,
                                       .protected_species = rows[i].protected_species};
        bool is_active[COUNT];
        stagnation_judge(&set, &config, rows[i].generation, is_active);
        for (size_t k = 0; k < COUNT; k++)
            cr_expect_eq(is_active[k], rows[i].active[k] == '1', "row %zu: species %u", i,
                         all[k].id);
    }
}
