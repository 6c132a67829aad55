// test_reproduce.c - the first generation, and the next: who is whose child.
#include "evolution/reproduce.h"

#include "evolution_fixture.h"
#include "genome/validate.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(reproduce, starts_with_one_edge_and_a_draw_of_its_own_each) {
    settings s = default_settings(8);
    s.limits.output_size = (hox_int_list){3, {2, 3, 1}};
    s.limits.output_activation = HOX_ACTIVATION_TANH;
    s.limits.output_readout = HOX_READOUT_MEAN;
    evolution *e = evolve_with(&s, 5);
    const population *p = ask(e);
    cr_assert_eq(p->count, 8);
    for (size_t i = 0; i < 8; i++) {
        const genome *g = p->items[i].genome;
        cr_expect_eq(genome_validate(g, 32, NULL), HOX_OK);
        cr_expect(g->id == i + 1 && g->parent_ids[0] == 0 && g->parent_ids[1] == 0);
        cr_expect(!p->items[i].is_elite && !p->items[i].has_fitness);
        cr_assert(g->node_count == 2 && g->edge_count == 1);
        cr_expect(map_size_equals(g->nodes[0].size, SIZE(1, 4, 4)));
        cr_expect(map_size_equals(g->nodes[1].size, SIZE(2, 3, 1)));
        cr_expect(g->nodes[1].activation == HOX_ACTIVATION_TANH && g->readout == HOX_READOUT_MEAN);
        cr_expect(g->edges[0].is_enabled && g->edges[0].innovation == 1);
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(memcmp(g->edges[0].kernel->values,
                                 p->items[k].genome->edges[0].kernel->values, 8 * sizeof(float)),
                          0, "%zu and %zu", i, k);
    }
    evolution_destroy(e);
}

Test(reproduce, start_kernels_have_the_deviation_of_their_shape) {
    const settings s = default_settings(200);
    evolution *e = evolve_with(&s, 6);
    const population *p = ask(e);
    double square = 0.0;
    for (size_t i = 0; i < p->count; i++) {
        const float *values = p->items[i].genome->edges[0].kernel->values;
        for (int k = 0; k < 48; k++) // 3 x 1 x 4 x 4, then the bias
            square += (double)values[k] * values[k];
        cr_expect(values[48] == 0.0F && values[49] == 0.0F && values[50] == 0.0F);
    }
    // sigma^2 = 2 / 16
    cr_expect(fabs(square / 9600.0 / 0.125 - 1.0) < 5.0 * sqrt(2.0 / 9600.0), "%g", square / 9600);
    evolution_destroy(e);
}

Test(reproduce, what_a_slot_starts_with_does_not_depend_on_the_others) {
    const settings small = default_settings(3), large = default_settings(9);
    evolution *a = evolve_with(&small, 7), *b = evolve_with(&large, 7);
    const population *p = ask(a), *q = ask(b);
    for (size_t i = 0; i < 3; i++)
        cr_expect(genome_is_same(p->items[i].genome, q->items[i].genome));
    evolution_destroy(a);
    evolution_destroy(b);
}

static hox_status start_on(const settings *s, map_size input, hox_error *error) {
    evolution *e;
    const population *p;
    cr_assert_eq(evolution_create(&s->evolution, &s->limits, 1, input, &e, error), HOX_OK);
    const hox_status status = evolution_ask(e, &p, error);
    evolution_destroy(e);
    return status;
}

// max_kernel 0: the larger of 32 and the image side.
Test(reproduce, needs_an_edge_over_the_whole_image) {
    settings s = default_settings(2);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(start_on(&s, SIZE(1, 40, 5), &error), HOX_OK);
    cr_expect_eq(start_on(&s, SIZE(1, 5, 40), &error), HOX_OK);
    s.limits.max_kernel = 40;
    cr_expect_eq(start_on(&s, SIZE(1, 40, 40), &error), HOX_OK);
    s.limits.max_kernel = 39;
    cr_expect_eq(start_on(&s, SIZE(1, 40, 5), &error), HOX_BAD_OPTION);
    cr_expect(strstr(error.message, "max_kernel") && strstr(error.message, "40"), "%s",
              error.message);
}

// ---- the next generation ----

typedef struct nursery {
    settings s;
    innovation_table *innovations;
    uint64_t next_id;
    reproduction how;
    population parents;
    species_set set;
    population children;
} nursery;

// The individual in slot i is as fit as i and of species 1 + i * species_count / size; ids from 1.
static void nursery_init(nursery *n, int64_t size, size_t species_count) {
    *n = (nursery){.s = default_settings(size), .next_id = 1};
    n->innovations = innovation_table_create(NULL);
    n->how = (reproduction){.config = &n->s.evolution,
                            .limits = &n->s.limits,
                            .innovations = n->innovations,
                            .seed = 11,
                            .next_id = &n->next_id};
    n->s.limits.max_kernel = 32;
    cr_assert_eq(reproduce_start(&n->how, SIZE(1, 4, 4), &n->parents, NULL), HOX_OK);
    n->set = (species_set){.items = calloc(species_count, sizeof *n->set.items),
                           .count = species_count,
                           .next_id = (uint32_t)species_count + 1};
    for (size_t s = 0; s < species_count; s++)
        n->set.items[s].id = (uint32_t)s + 1;
    for (size_t i = 0; i < n->parents.count; i++) {
        individual *one = &n->parents.items[i];
        one->has_fitness = true;
        one->fitness = (double)i;
        one->species_id = 1 + (uint32_t)(i * species_count / n->parents.count);
        n->set.items[one->species_id - 1].member_count++;
    }
    species_note_fitness(&n->set, &n->parents, 0);
    n->how.generation = 1;
}

static void nursery_deinit(nursery *n) {
    population_deinit(&n->children);
    population_deinit(&n->parents);
    free(n->set.items);
    innovation_table_destroy(n->innovations);
}

static void reproduce(nursery *n) {
    population_deinit(&n->children);
    cr_assert_eq(reproduce_next(&n->how, &n->parents, &n->set, &n->children, NULL), HOX_OK);
    cr_assert_eq(n->children.count, (size_t)n->s.evolution.population_size);
}

static uint32_t species_of(const nursery *n, uint64_t parent_id) {
    return n->parents.items[parent_id - 1].species_id;
}

static uint64_t parent_of(const nursery *n, size_t slot, int which) {
    return n->children.items[slot].genome->parent_ids[which];
}

Test(reproduce, parents_are_drawn_evenly_from_the_fittest_share) {
    nursery n;
    nursery_init(&n, 1000, 1);
    n.s.evolution.survival = 0.01; // ids 991 .. 1000
    n.s.evolution.crossover_rate = 0.0;
    reproduce(&n);
    int counts[1001] = {0};
    for (size_t i = 1; i < 1000; i++) {
        counts[parent_of(&n, i, 0)]++;
        cr_expect(!n.children.items[i].is_crossover && parent_of(&n, i, 1) == 0);
    }
    for (size_t id = 0; id <= 1000; id++)
        if (id <= 990)
            cr_expect_eq(counts[id], 0, "%zu", id);
        else
            cr_expect(abs(counts[id] - 100) < 5 * sqrt(90.0), "%zu: %d", id, counts[id]);
    for (size_t i = 0; i < 1000; i++)
        cr_expect_eq(n.parents.items[i].is_parent, i >= 990, "%zu", i);
    nursery_deinit(&n);
}

// Whoever is drawn twice has a child alone.
Test(reproduce, two_parents_are_drawn_evenly_and_apart) {
    nursery n;
    nursery_init(&n, 4001, 1);
    n.s.evolution.survival = 0.001; // ids 3998 .. 4001
    n.s.evolution.crossover_rate = 1.0;
    reproduce(&n);
    int counts[4][4] = {{0}};
    for (size_t i = 1; i <= 4000; i++) {
        const uint64_t first = parent_of(&n, i, 0), second = parent_of(&n, i, 1);
        cr_assert(first >= 3998 && (second == 0 || (second >= 3998 && second < first)),
                  "the fitter first");
        cr_assert_eq(n.children.items[i].is_crossover, second != 0);
        counts[first - 3998][second ? second - 3998 : first - 3998]++;
    }
    for (int a = 0; a < 4; a++)
        for (int b = 0; b <= a; b++) {
            const double share = a == b ? 1.0 / 16 : 2.0 / 16;
            cr_expect(fabs(counts[a][b] - 4000 * share) < 5 * sqrt(4000 * share * (1 - share)),
                      "%d %d: %d", a, b, counts[a][b]);
        }
    nursery_deinit(&n);
}

Test(reproduce, the_crossover_rate_is_kept) {
    nursery n;
    nursery_init(&n, 2000, 1); // 400 parents: one child in 400 of two draws has one parent
    reproduce(&n);
    int crossing_count = 0, unmutated_count = 0;
    for (size_t i = 1; i < 2000; i++) {
        const individual *child = &n.children.items[i];
        crossing_count += child->is_crossover;
        unmutated_count += child->is_crossover && !child->birth.has_new_weights;
    }
    const double crossing = 2000 * 0.75 * 399 / 400, unmutated = crossing * (0.2 + 0.8 * 0.2);
    cr_expect(fabs(crossing_count - crossing) < 5 * sqrt(2000 * 0.75 * 0.25), "%d", crossing_count);
    cr_expect(fabs(unmutated_count - unmutated) < 5 * sqrt(unmutated), "%d", unmutated_count);
    nursery_deinit(&n);
}

Test(reproduce, the_champion_stays_as_it_is) {
    nursery n;
    nursery_init(&n, 5, 1);
    n.parents.items[2].fitness = 100.0;
    genome *champion = n.parents.items[2].genome;
    champion->parent_ids[0] = 40;
    champion->parent_ids[1] = 30;
    reproduce(&n);
    const individual *elite = &n.children.items[0];
    cr_expect(elite->is_elite && !elite->birth.has_new_weights && !elite->birth.change);
    cr_expect(elite->genome->id == champion->id && elite->genome->parent_ids[0] == 40 &&
              elite->genome->parent_ids[1] == 30);
    cr_expect(genome_is_same(elite->genome, champion));
    for (size_t i = 1; i < 5; i++)
        cr_expect(!n.children.items[i].is_elite && n.children.items[i].genome->id == 5 + i);
    cr_expect_eq(n.next_id, 10);
    nursery_deinit(&n);
}

Test(reproduce, the_record_says_what_happened) {
    nursery n;
    nursery_init(&n, 400, 1);
    n.s.evolution.mutation.weights = 0.5;
    n.s.evolution.crossover_rate = 0.0;
    reproduce(&n);
    int same_count = 0;
    for (size_t i = 1; i < 400; i++) {
        const individual *child = &n.children.items[i];
        const genome *parent = n.parents.items[parent_of(&n, i, 0) - 1].genome;
        const bool is_same = !child->birth.has_new_weights && !child->birth.has_new_structure;
        cr_expect_eq(genome_is_same(child->genome, parent), is_same, "slot %zu", i);
        same_count += is_same;
    }
    cr_expect(same_count > 50 && same_count < 250, "%d", same_count);
    nursery_deinit(&n);
}

// One gene each: an unmutated child of two is one of them, but for its id.
Test(reproduce, an_unmutated_child_of_two_is_made_of_its_parents_alone) {
    nursery n;
    nursery_init(&n, 200, 1);
    n.s.evolution.crossover_rate = n.s.evolution.crossover_unmutated = 1.0;
    reproduce(&n);
    int from_second = 0;
    for (size_t i = 1; i < 200; i++) {
        const individual *child = &n.children.items[i];
        if (!child->is_crossover) continue;
        cr_expect(!child->birth.has_new_weights && child->birth.change == MUTATION_NONE);
        const bool is_second =
            genome_is_same(child->genome, n.parents.items[parent_of(&n, i, 1) - 1].genome);
        cr_expect(is_second ||
                  genome_is_same(child->genome, n.parents.items[parent_of(&n, i, 0) - 1].genome));
        from_second += is_second;
    }
    cr_expect(from_second > 60 && from_second < 140, "%d", from_second);
    n.s.evolution.crossover_unmutated = 0.0;
    n.s.evolution.mutation.weights = 1.0;
    reproduce(&n);
    for (size_t i = 1; i < 200; i++)
        cr_expect(n.children.items[i].birth.has_new_weights);
    nursery_deinit(&n);
}

Test(reproduce, a_slot_does_not_depend_on_the_slots_before_it) {
    nursery n;
    nursery_init(&n, 50, 1);
    reproduce(&n);
    population many = n.children;
    n.children = (population){0};
    n.s.evolution.population_size = 20;
    reproduce(&n);
    for (size_t i = 0; i < 20; i++) {
        cr_expect(genome_is_same(n.children.items[i].genome, many.items[i].genome), "slot %zu", i);
        cr_expect_eq(parent_of(&n, i, 0), many.items[i].genome->parent_ids[0]);
        cr_expect_eq(parent_of(&n, i, 1), many.items[i].genome->parent_ids[1]);
    }
    population_deinit(&many);
    nursery_deinit(&n);
}

// ---- species ----

// Fitness 0 .. 99, ids 1 .. 100, in 4 species of 25: means 12, 37, 62, 87 above the smallest, 198
// in all: 100 children are 6.06, 18.69, 31.31 and 43.94, so 6, 19, 31, 44. 5 parents each.
Test(reproduce, species_have_children_by_their_fitness_one_behind_the_other) {
    static const size_t counts[] = {6, 19, 31, 44};
    nursery n;
    nursery_init(&n, 100, 4);
    n.s.evolution.interspecies_rate = 0.0;
    reproduce(&n);
    size_t slot = 0;
    for (uint32_t s = 0; s < 4; s++)
        for (size_t i = 0; i < counts[s]; i++, slot++) {
            const individual *child = &n.children.items[slot];
            cr_expect_eq(child->is_elite, i == 0, "slot %zu", slot);
            cr_expect_eq(child->genome->id == 25 * (s + 1), i == 0, "the champion of the species");
            if (i == 0) continue;
            const uint64_t least = 25 * s + 21;
            cr_expect(parent_of(&n, slot, 0) >= least && parent_of(&n, slot, 0) < least + 5);
            cr_expect(!child->is_crossover ||
                      (parent_of(&n, slot, 1) >= least && parent_of(&n, slot, 1) < least + 5));
        }
    for (size_t i = 0; i < 100; i++)
        cr_expect_eq(n.parents.items[i].is_parent, i % 25 >= 20, "%zu", i);
    nursery_deinit(&n);
}

Test(reproduce, small_species_lose_their_champion_but_not_that_of_all) {
    nursery n;
    nursery_init(&n, 16, 4); // 4 members each, 3 of them without an elite
    reproduce(&n);
    for (size_t i = 0; i < 16; i++)
        cr_expect_eq(n.children.items[i].is_elite, n.children.items[i].genome->id == 16);
    cr_expect_not_null(find_individual(&n.children, 16));
    n.s.evolution.species.champion_kept_from = 4;
    n.parents.items[0].is_parent = false;
    reproduce(&n);
    // mean 1.5, 5.5, 9.5, 13.5 of 30: 0.8, 2.93, 5.07, 7.2 are 1, 3, 5, 7
    cr_expect(find_individual(&n.children, 4) && find_individual(&n.children, 8) &&
              find_individual(&n.children, 12) && find_individual(&n.children, 16));
    cr_expect(n.children.items[0].is_elite && n.children.items[1].is_elite &&
              n.children.items[4].is_elite && n.children.items[9].is_elite);
    nursery_deinit(&n);
}

static void count_pairs(nursery *n, double rate, int *within, int *between) {
    n->s.evolution.crossover_rate = 1.0;
    n->s.evolution.interspecies_rate = rate;
    reproduce(n);
    *within = *between = 0;
    for (size_t i = 0; i < n->children.count; i++) {
        if (!n->children.items[i].is_crossover) continue;
        const uint32_t a = species_of(n, parent_of(n, i, 0)), b = species_of(n, parent_of(n, i, 1));
        ++*(a == b ? within : between);
        cr_expect(n->parents.items[parent_of(n, i, 0) - 1].is_parent);
        cr_expect(n->parents.items[parent_of(n, i, 1) - 1].is_parent);
        cr_expect_gt(parent_of(n, i, 0), parent_of(n, i, 1), "the fitter first");
    }
}

Test(reproduce, the_interspecies_rate_is_that_of_the_second_parent) {
    nursery n;
    int within, between;
    nursery_init(&n, 1000, 4);
    count_pairs(&n, 0.0, &within, &between);
    cr_expect(within > 900 && between == 0, "%d, %d", within, between);
    count_pairs(&n, 1.0, &within, &between);
    cr_expect(within == 0 && between == 996, "%d, %d", within, between); // but the 4 champions
    count_pairs(&n, 0.25, &within, &between);
    cr_expect(abs(between - 249) < 5 * sqrt(1000 * 0.25 * 0.75), "%d", between);
    nursery_deinit(&n);
}

Test(reproduce, the_other_species_is_drawn_evenly_from_those_with_children) {
    nursery n;
    int within, between, counts[5] = {0};
    nursery_init(&n, 1000, 5);
    n.set.items[3].improved_generation = 0;
    n.how.generation = 16; // species 4 alone is stagnant: the others improved in 15
    for (size_t s = 0; s < 5; s++)
        n.set.items[s].improved_generation = s == 3 ? 0 : 15;
    n.s.evolution.species.protected_species = 1;
    count_pairs(&n, 1.0, &within, &between);
    for (size_t i = 0; i < 1000; i++) {
        const individual *child = &n.children.items[i];
        if (child->is_elite) continue;
        const uint32_t a = species_of(&n, parent_of(&n, i, 0));
        const uint32_t b = species_of(&n, parent_of(&n, i, 1));
        cr_assert(a != 4 && b != 4, "%u, %u", a, b);
        if (a == 5) counts[b - 1]++; // most of its pairs are its own children
        if (b == 5) counts[a - 1]++;
    }
    cr_expect(counts[0] > 100 && counts[1] > 100 && counts[2] > 100, "%d %d %d", counts[0],
              counts[1], counts[2]);
    nursery_deinit(&n);
}

Test(reproduce, interspecies_with_one_species_stays_at_home) {
    nursery n;
    int within, between;
    nursery_init(&n, 50, 1);
    count_pairs(&n, 1.0, &within, &between);
    cr_expect(within > 30 && between == 0);
    nursery_deinit(&n);
}

// Species 2 of 2 holds the champion and stagnates, unprotected: one child, the champion itself.
Test(reproduce, the_champion_outlives_its_species) {
    nursery n;
    nursery_init(&n, 10, 2);
    n.s.evolution.species.protected_species = 0;
    n.set.items[0].improved_generation = 30;
    n.how.generation = 31;
    reproduce(&n);
    cr_expect(n.children.items[9].is_elite && n.children.items[9].genome->id == 10);
    cr_expect(n.children.items[0].is_elite && n.children.items[0].genome->id == 5);
    n.s.evolution.population_size = 1; // the one child of the other species is given up
    reproduce(&n);
    cr_expect(n.children.items[0].is_elite && n.children.items[0].genome->id == 10);
    nursery_deinit(&n);
}

// Species 1 last improved in generation 0. Children of generation 15 come from the one told in 14.
Test(reproduce, stagnation_counts_up_to_the_generation_of_the_parents) {
    nursery n;
    nursery_init(&n, 20, 2);
    n.s.evolution.species.protected_species = 0;
    n.set.items[1].improved_generation = 14;
    for (uint32_t generation = 15; generation <= 16; generation++) {
        n.how.generation = generation;
        reproduce(&n);
        cr_expect_eq(n.children.items[0].genome->id == 10, generation == 15, "%u", generation);
    }
    nursery_deinit(&n);
}

Test(reproduce, where_all_stagnate_the_champion_begins_anew) {
    nursery n;
    nursery_init(&n, 12, 3);
    n.s.evolution.species.protected_species = 0;
    n.s.evolution.crossover_rate = n.s.evolution.interspecies_rate = 1.0;
    n.how.generation = 100;
    for (int is_equal = 0; is_equal < 2; is_equal++) { // shares of 0 too
        for (size_t i = 0; is_equal && i < 12; i++) {
            n.parents.items[i].fitness = 11.0;
            n.parents.items[i].is_parent = false;
        }
        reproduce(&n);
        const uint64_t champion = is_equal ? 1 : 12;
        for (size_t i = 0; i < 12; i++) {
            cr_expect_eq(n.children.items[i].is_elite, i == 0);
            if (i > 0) cr_expect_eq(parent_of(&n, i, 0), champion);
            if (i > 0) cr_expect_eq(parent_of(&n, i, 1), 0);
            cr_expect_eq(n.parents.items[i].is_parent, i + 1 == champion);
        }
        cr_expect_eq(n.children.items[0].genome->id, champion);
    }
    nursery_deinit(&n);
}
