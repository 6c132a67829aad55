// test_species.c - genomes on a line: each has one gene, and two are as far apart as their weights.
#include "evolution/species.h"

#include "genome_fixture.h"

#include <criterion/criterion.h>
#include <math.h>

static const evolution_config on_a_line = {
    .species = {.threshold = 0.5,
                .threshold_factor = 2.0,
                .threshold_least = 0.125,
                .threshold_most = 4.0},
    .distance = {.weights = 1.4142135623730951}}; // sigma of one tap

static genome *genome_at(double place) {
    genome *g = genome_of(SIZE(1, 1, 1), SIZE(1, 1, 1));
    float *values = put_edge(g, 1, 0, 1)->kernel->values;
    values[0] = values[1] = (float)place;
    return g;
}

// places: count of them.
static population population_at(size_t count, const double *places) {
    population p;
    cr_assert_eq(population_init(&p, count, NULL), HOX_OK);
    for (size_t i = 0; i < count; i++) {
        p.items[i].genome = genome_at(places[i]);
        p.items[i].genome->id = i + 1;
    }
    return p;
}
#define AT(...)                                                                                    \
    population_at(sizeof((const double[]){__VA_ARGS__}) / sizeof(double),                          \
                  (const double[]){__VA_ARGS__})

static void assign(species_set *set, population *p, const evolution_config *config,
                   uint32_t generation) {
    cr_assert_eq(species_assign(set, p, config, generation, NULL), HOX_OK);
}

// ids: one digit an individual.
static void expect_species(const population *p, const char *ids) {
    for (size_t i = 0; i < p->count; i++)
        cr_expect_eq(p->items[i].species_id, (uint32_t)(ids[i] - '0'), "%zu: %u in %s", i,
                     p->items[i].species_id, ids);
}

static void expect_set(const species_set *set, const char *ids, const char *counts) {
    for (size_t i = 0; i < set->count; i++) {
        cr_expect_eq(set->items[i].id, (uint32_t)(ids[i] - '0'), "%u", set->items[i].id);
        cr_expect_eq(set->items[i].member_count, (size_t)(counts[i] - '0'), "species %u: %zu",
                     set->items[i].id, set->items[i].member_count);
        cr_expect_eq(species_find(set, set->items[i].id), &set->items[i]);
    }
    cr_expect_eq(ids[set->count], '\0', "%zu species", set->count);
    cr_expect_null(species_find(set, 0));
    cr_expect_null(species_find(set, set->next_id));
}

// 0.75 is too far from 0 and founds the second; 0.45 is near to both, 0.5 to the second alone.
Test(species, the_first_near_enough_takes_a_genome) {
    species_set set;
    species_set_init(&set, &on_a_line.species);
    population p = AT(0.0, 0.4375, 0.75, 0.45, 0.3, 1.2, 0.5, 5.0);
    assign(&set, &p, &on_a_line, 3);
    expect_species(&p, "11211223");
    expect_set(&set, "123", "431");
    cr_expect_eq(set.items[1].representative->edges[0].kernel->values[0], 0.75F, "its founder");
    cr_expect_neq(set.items[1].representative, p.items[2].genome, "a copy");
    cr_expect(set.items[1].improved_generation == 3 && !set.items[1].has_best);
    species_set_deinit(&set);
    population_deinit(&p);
}

// As far as the threshold is too far.
Test(species, only_nearer_than_the_threshold_is_near) {
    evolution_config config = on_a_line;
    config.distance = (distance_config){.excess = 1.0};
    config.species.threshold = 0.5;
    species_set set;
    species_set_init(&set, &config.species);
    population p = AT(0.0, 0.0); // the second has one gene more of two: E / N = 0.5 exactly
    put_node(p.items[1].genome, 2, SIZE(1, 1, 1), 0);
    put_edge(p.items[1].genome, 2, 0, 2);
    assign(&set, &p, &config, 0);
    expect_species(&p, "12");
    species_set_deinit(&set);
    population_deinit(&p);
}

Test(species, the_empty_go_and_their_ids_never_come_back) {
    species_set set;
    species_set_init(&set, &on_a_line.species);
    population first = AT(0.0, 1.0, 2.0), second = AT(2.1, 0.1, 3.0), third = AT(1.0, 0.0, 4.0);
    assign(&set, &first, &on_a_line, 0);
    expect_set(&set, "123", "111");
    assign(&set, &second, &on_a_line, 1);
    expect_species(&second, "314");
    expect_set(&set, "134", "111");
    assign(&set, &third, &on_a_line, 2);
    expect_species(&third, "516"); // species 2 stood at 1.0 once
    expect_set(&set, "156", "111");
    cr_expect(set.items[0].improved_generation == 0 && set.items[1].improved_generation == 2);
    cr_expect_eq(set.next_id, 7);
    species_set_deinit(&set);
    population_deinit(&first);
    population_deinit(&second);
    population_deinit(&third);
}

Test(species, one_for_all_or_one_for_each) {
    for (int is_one = 0; is_one < 2; is_one++) {
        evolution_config config = on_a_line;
        config.species.threshold = is_one ? 100.0 : 0.0;
        species_set set;
        species_set_init(&set, &config.species);
        population p = AT(0.0, 0.0, 1.0, 7.0, -1e30);
        assign(&set, &p, &config, 0);
        expect_species(&p, is_one ? "11111" : "12345"); // equal ones too
        expect_set(&set, is_one ? "1" : "12345", is_one ? "5" : "11111");
        species_set_deinit(&set);
        population_deinit(&p);
    }
}

// 4 species, 1 where the threshold is 5.
static const struct {
    int64_t target;
    double before, after;
} steerings[] = {
    {4, 0.5, 0.5},     {3, 0.5, 1.0},      {1, 0.5, 1.0},      {5, 0.5, 0.25},  {100000, 0.5, 0.25},
    {0, 0.5, 0.5},     {1, 0.1875, 0.375}, {5, 0.1875, 0.125}, // not below the least
    {5, 0.125, 0.125}, {4, 5.0, 2.5},      {1, 5.0, 4.0},      // 1 species: not above the most
    {0, 5.0, 5.0},     {0, 0.0, 0.0},      {4, 0.0, 0.125},    {5, 0.0, 0.125},
};

Test(species, the_threshold_is_steered_towards_the_target) {
    population p = AT(0.0, 1.0, 2.0, 3.0);
    for (size_t i = 0; i < sizeof steerings / sizeof *steerings; i++) {
        evolution_config config = on_a_line;
        config.species.threshold = steerings[i].before;
        config.species.target_species = steerings[i].target;
        species_set set;
        species_set_init(&set, &config.species);
        assign(&set, &p, &config, 0);
        cr_expect_eq(set.count, steerings[i].before == 5.0 ? 1 : 4);
        cr_expect_eq(set.threshold, steerings[i].after, "row %zu: %g", i, set.threshold);
        species_set_deinit(&set);
    }
    population_deinit(&p);
}

Test(species, the_new_threshold_holds_from_the_next_generation) {
    evolution_config config = on_a_line;
    config.species.target_species = 2;
    config.species.threshold_factor = 1.5;
    species_set set;
    species_set_init(&set, &config.species);
    population p = AT(0.0, 0.6, 1.2);
    static const char *const ids[] = {"123", "112", "112"};
    for (uint32_t generation = 0; generation < 3; generation++) {
        assign(&set, &p, &config, generation);
        expect_species(&p, ids[generation]);
        cr_expect_eq(set.threshold, 0.75);
    }
    species_set_deinit(&set);
    population_deinit(&p);
}

static void note(species_set *set, population *p, uint32_t generation, const double *fitness) {
    for (size_t i = 0; i < p->count; i++) {
        p->items[i].has_fitness = !isnan(fitness[i]);
        p->items[i].fitness = fitness[i];
    }
    species_note_fitness(set, p, generation);
}

static void expect_best(const species *s, double best, uint32_t generation) {
    cr_expect(s->has_best && s->best_fitness == best && s->improved_generation == generation,
              "species %u: %g in %u", s->id, s->best_fitness, s->improved_generation);
}

Test(species, improvement_is_more_than_ever_before) {
    species_set set;
    species_set_init(&set, &on_a_line.species);
    population p = AT(0.0, 0.1, 9.0);
    assign(&set, &p, &on_a_line, 4);
    note(&set, &p, 4, (const double[]){NAN, NAN, NAN});
    cr_expect(!set.items[0].has_best && set.items[0].improved_generation == 4);
    note(&set, &p, 5, (const double[]){-3.0, -2.0, NAN}); // the first fitness is one
    expect_best(&set.items[0], -2.0, 5);
    cr_expect_not(set.items[1].has_best);
    note(&set, &p, 6, (const double[]){-2.0, -7.0, 1.0});
    expect_best(&set.items[0], -2.0, 5);
    expect_best(&set.items[1], 1.0, 6);
    note(&set, &p, 7, (const double[]){-1.5, -1.0, 0.5});
    expect_best(&set.items[0], -1.0, 7);
    expect_best(&set.items[1], 1.0, 6);
    note(&set, &p, 8, (const double[]){NAN, -1.0, 0.5});
    expect_best(&set.items[0], -1.0, 7);
    species_set_deinit(&set);
    population_deinit(&p);
}

Test(species, a_member_of_the_generation_stands_for_the_species_in_the_next) {
    species_set set;
    species_set_init(&set, &on_a_line.species);
    population p = AT(0.0, 9.0, 0.1, 0.2, 9.1, 0.3);
    assign(&set, &p, &on_a_line, 0);
    expect_species(&p, "121121");
    int drawn[6] = {0};
    enum { ROUNDS = 4000 };
    for (uint32_t generation = 1; generation <= ROUNDS; generation++) {
        cr_assert_eq(species_draw_representatives(&set, &p, 3, generation, NULL), HOX_OK);
        for (size_t s = 0; s < 2; s++) {
            const genome *one = set.items[s].representative;
            cr_assert_eq(p.items[one->id - 1].species_id, set.items[s].id);
            cr_assert_neq(one, p.items[one->id - 1].genome);
            drawn[one->id - 1]++;
        }
    }
    for (size_t i = 0; i < 6; i++) {
        const double share = p.items[i].species_id == 1 ? 0.25 : 0.5;
        cr_expect(fabs(drawn[i] - ROUNDS * share) < 5 * sqrt(ROUNDS * share * (1 - share)),
                  "%zu: %d", i, drawn[i]);
    }
    species_set_deinit(&set);
    population_deinit(&p);
}

// The same members stand for species 2 whether species 1 is still there or not.
Test(species, who_is_drawn_depends_on_seed_generation_and_id_alone) {
    species_set all, one;
    species_set_init(&all, &on_a_line.species);
    species_set_init(&one, &on_a_line.species);
    population p = AT(0.0, 0.1, 0.2, 9.0, 9.1, 9.2), half = AT(9.0, 9.1, 9.2);
    assign(&all, &p, &on_a_line, 0);
    assign(&one, &p, &on_a_line, 0);
    assign(&one, &half, &on_a_line, 1);
    cr_assert_eq(one.items[0].id, 2);
    int same = 0;
    for (uint32_t generation = 1; generation < 60; generation++) {
        cr_assert_eq(species_draw_representatives(&all, &p, 3, generation, NULL), HOX_OK);
        cr_assert_eq(species_draw_representatives(&one, &half, 3, generation, NULL), HOX_OK);
        const uint64_t id = one.items[0].representative->id;
        cr_assert_eq(all.items[1].representative->id, id + 3);
        cr_assert_eq(species_draw_representatives(&one, &half, 4, generation, NULL), HOX_OK);
        same += one.items[0].representative->id == id;
    }
    cr_expect(same > 5 && same < 40, "%d", same);
    species_set_deinit(&all);
    species_set_deinit(&one);
    population_deinit(&p);
    population_deinit(&half);
}
