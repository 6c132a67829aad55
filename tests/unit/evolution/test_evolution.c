// test_evolution.c - ask and tell over whole runs with a toy for a fitness.
#include "evolution/evolution.h"

#include "evolution_fixture.h"
#include "genome/validate.h"
#include "soundness_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(evolution, gives_the_same_generation_until_it_is_told) {
    const settings s = default_settings(6);
    evolution *e = evolve_with(&s, 1);
    cr_expect_null(evolution_champion(e));
    const population *p = ask(e);
    const genome *first = p->items[0].genome;
    cr_expect_eq(evolution_generation(e), 0);
    cr_expect_null(evolution_champion(e));
    cr_expect_eq(ask(e)->items[0].genome, first);
    cr_expect_eq(evolution_generation(e), 0);
    tell_toy(e, p);
    cr_expect_eq(evolution_generation(e), 0);
    p = ask(e);
    cr_expect_eq(evolution_generation(e), 1);
    first = p->items[1].genome;
    cr_expect_eq(first->id, 7);
    cr_expect_eq(ask(e)->items[1].genome, first);
    cr_expect_eq(evolution_generation(e), 1);
    evolution_destroy(e);
    evolution_destroy(NULL);
}

Test(evolution, configurations_are_copied) {
    settings s = default_settings(3);
    evolution *e = evolve_with(&s, 1);
    s = (settings){0};
    tell_toy(e, ask(e));
    cr_expect_eq(ask(e)->count, 3);
    evolution_destroy(e);
}

static void expect_kept(const population *p, const genome *champion, uint64_t id) {
    const individual *kept = find_individual(p, id);
    cr_assert(kept && kept->is_elite);
    cr_assert(genome_is_same(kept->genome, champion));
    cr_assert(memcmp(kept->genome->parent_ids, champion->parent_ids, sizeof champion->parent_ids) ==
              0);
}

Test(evolution, the_best_never_falls_and_its_genome_stays) {
    const settings s = default_settings(20);
    evolution *e = evolve_with(&s, 2);
    double first = 0.0, best = -INFINITY;
    for (uint32_t generation = 0; generation < 30; generation++) {
        const population *p = ask(e);
        const double told = tell_toy(e, p);
        cr_assert_geq(told, best, "generation %u: %g after %g", generation, told, best);
        best = told;
        if (generation == 0) first = best;
        const individual *champion = evolution_champion(e);
        cr_assert(champion->has_fitness && champion->fitness == best);
        genome *kept = genome_copy(champion->genome, NULL);
        const uint64_t id = kept->id;
        expect_kept(ask(e), kept, id);
        genome_destroy(kept);
    }
    cr_expect_gt(best, first, "30 generations bring nothing");
    evolution_destroy(e);
}

Test(evolution, the_champion_is_the_fittest_then_the_smallest_then_the_oldest) {
    const settings s = default_settings(5);
    evolution *e = evolve_with(&s, 3);
    const population *p = ask(e);
    evolution_tell(e, (const double[]){0.5, 0.7, INFINITY, 0.7, NAN});
    cr_expect_eq(evolution_champion(e), &p->items[1]);
    cr_expect(!p->items[2].has_fitness && !p->items[4].has_fitness, "an infinite one is none");
    cr_expect(p->items[3].has_fitness && p->items[3].fitness == 0.7);
    cr_expect_eq(ask(e)->items[0].genome->id, 2);
    evolution_destroy(e);
}

// ---- training ----

Test(evolution, a_trained_genome_takes_its_slot_under_a_new_id) {
    const settings s = default_settings(5);
    evolution *e = evolve_with(&s, 3);
    const population *p = ask(e);
    evolution_tell(e, (const double[]){0.5, 0.7, 0.1, 0.6, NAN});
    const lineage before = evolution_state_of(e)->lineage;
    const uint32_t home = p->items[3].species_id;
    for (size_t slot = 2; slot < 4; slot++) {
        genome *trained = genome_copy(p->items[slot].genome, NULL);
        evolution_refine(e, slot, trained, slot == 3 ? 0.9 : 0.2);
        cr_expect_eq(p->items[slot].genome, trained);
        cr_expect_eq(trained->id, 4 + slot, "in the order of slots");
        cr_expect_eq(p->items[slot].fitness, slot == 3 ? 0.9 : 0.2);
    }
    cr_expect_eq(evolution_champion(e), &p->items[3]);
    cr_expect_eq(evolution_state_of(e)->best_fitness, 0.9);
    cr_expect_eq(species_find(&evolution_state_of(e)->species, home)->best_fitness, 0.9);
    cr_expect_eq(p->items[3].species_id, home);
    cr_expect(memcmp(&before, &evolution_state_of(e)->lineage, sizeof before) == 0);
    p = ask(e);
    const individual *kept = find_individual(p, 7);
    cr_expect(kept && kept->is_elite, "the next generation has it unchanged");
    for (size_t i = 0; i < p->count; i++)
        cr_expect(p->items[i].is_elite || p->items[i].genome->id >= 8);
    evolution_destroy(e);
}

Test(evolution, training_may_leave_the_genome_and_change_its_fitness_alone) {
    const settings s = default_settings(3);
    evolution *e = evolve_with(&s, 3);
    const population *p = ask(e);
    evolution_tell(e, (const double[]){0.5, 0.7, 0.1});
    const genome *g = p->items[2].genome;
    evolution_refine(e, 2, NULL, 0.8);
    cr_expect_eq(p->items[2].genome, g);
    cr_expect_eq(g->id, 3);
    cr_expect_eq(evolution_champion(e), &p->items[2]);
    cr_expect_eq(evolution_state_of(e)->next_id, 4);
    evolution_destroy(e);
}

Test(evolution, goes_on_where_nobody_has_a_fitness) {
    const settings s = default_settings(7);
    const double nobody[7] = {NAN, NAN, INFINITY, -INFINITY, NAN, NAN, NAN};
    evolution *e = evolve_with(&s, 4);
    for (uint32_t generation = 0; generation < 5; generation++) {
        const population *p = ask(e);
        cr_assert_eq(p->count, 7);
        // Equal but for genes and ids: the first one has the fewest and the lowest.
        cr_expect_eq(p->items[0].genome->id, 1);
        evolution_tell(e, nobody);
        cr_expect_not(evolution_champion(e)->has_fitness);
        cr_expect_eq(evolution_champion(e)->genome->id, 1);
    }
    evolution_destroy(e);
}

static void run_size(int64_t size) {
    const settings s = default_settings(size);
    evolution *e = evolve_with(&s, 5);
    uint64_t next_id = 1;
    double best = -INFINITY;
    size_t elite_count = 0;
    for (uint32_t generation = 0; generation < 8; generation++) {
        const population *p = ask(e);
        cr_assert_eq(p->count, (size_t)size);
        for (size_t i = 0; i < p->count; i++) {
            const genome *g = p->items[i].genome;
            cr_assert_eq(genome_validate(g, 32, NULL), HOX_OK);
            elite_count += p->items[i].is_elite;
            if (!p->items[i].is_elite) cr_assert_eq(g->id, next_id++, "ids rise, slot by slot");
        }
        const double told = tell_toy(e, p);
        cr_assert_geq(told, best);
        best = told;
    }
    cr_expect_geq(elite_count, 7);
    cr_expect_eq(next_id, 1 + 8 * (uint64_t)size - elite_count);
    evolution_destroy(e);
}

Test(evolution, runs_in_any_size) {
    run_size(1);
    run_size(2);
    run_size(3);
    run_size(7);
}

static bool is_same_population(const population *p, const population *q) {
    for (size_t i = 0; i < p->count; i++) {
        const individual *a = &p->items[i], *b = &q->items[i];
        if (a->genome->id != b->genome->id ||
            a->genome->parent_ids[0] != b->genome->parent_ids[0] ||
            a->genome->parent_ids[1] != b->genome->parent_ids[1] ||
            a->species_id != b->species_id || a->is_crossover != b->is_crossover ||
            a->is_elite != b->is_elite || a->birth.change != b->birth.change ||
            a->birth.failed_count != b->birth.failed_count ||
            a->birth.has_new_weights != b->birth.has_new_weights ||
            a->birth.has_new_structure != b->birth.has_new_structure ||
            !genome_is_same(a->genome, b->genome))
            return false;
    }
    return p->count == q->count;
}

Test(evolution, the_same_seed_is_the_same_run) {
    settings s = default_settings(15);
    s.evolution.mutation.add_edge = s.evolution.mutation.add_node = 0.3;
    evolution *a = evolve_with(&s, 6), *b = evolve_with(&s, 6);
    evolution *others[] = {evolve_with(&s, 7), evolve_with(&s, 6 + (UINT64_C(1) << 32))};
    for (uint32_t generation = 0; generation < 12; generation++) {
        const population *p = ask(a), *q = ask(b);
        cr_assert(is_same_population(p, q), "generation %u", generation);
        for (int i = 0; i < 2; i++) {
            const population *other = ask(others[i]);
            cr_assert_not(genome_is_same(p->items[3].genome, other->items[3].genome));
            tell_toy(others[i], other);
        }
        tell_toy(a, p);
        tell_toy(b, q);
    }
    for (int i = 0; i < 2; i++)
        evolution_destroy(others[i]);
    evolution_destroy(a);
    evolution_destroy(b);
}

Test(evolution, numbers_mean_the_same_in_all_genomes_of_a_run) {
    settings s = default_settings(30);
    s.evolution.mutation.add_edge = s.evolution.mutation.add_node =
        s.evolution.mutation.resize_node = 0.25;
    evolution *e = evolve_with(&s, 8);
    meanings *m = meanings_create();
    size_t most_edges = 0;
    for (uint32_t generation = 0; generation < 15; generation++) {
        const population *p = ask(e);
        for (size_t i = 0; i < p->count; i++) {
            const genome *g = p->items[i].genome;
            check_sound(g, &s.limits, m);
            if (g->edge_count > most_edges) most_edges = g->edge_count;
        }
        tell_toy(e, p);
    }
    cr_expect_gt(most_edges, 3, "nothing grew");
    meanings_destroy(m);
    evolution_destroy(e);
}

// ---- lineage ----

static void count_rows(const individual *one, lineage *l, size_t counter) {
    bool rows[LINEAGE_COUNT];
    lineage_rows_of(one, rows);
    for (int i = 0; i < LINEAGE_COUNT; i++) {
        uint64_t *const counters[] = {&l->rows[i].children, &l->rows[i].survived, &l->rows[i].best};
        *counters[counter] += rows[i];
    }
}

// One species: 4 of 20 are parents.
Test(evolution, counts_children_parents_and_bests_of_each_operator) {
    settings s = default_settings(20);
    s.evolution.species.threshold = 1e6;
    s.evolution.species.target_species = 0;
    s.evolution.mutation.add_edge = s.evolution.mutation.add_node = 0.25;
    evolution *e = evolve_with(&s, 12);
    lineage expected = {0};
    double best = -INFINITY;
    for (uint32_t generation = 0; generation < 30; generation++) {
        size_t order[20];
        const population *p = ask(e);
        for (size_t i = 0; i < p->count; i++)
            count_rows(&p->items[i], &expected, 0);
        cr_assert_eq(memcmp(&expected, &evolution_state_of(e)->lineage, sizeof expected), 0);
        const double told = tell_toy(e, p);
        if (told > best) count_rows(evolution_champion(e), &expected, 2);
        best = fmax(best, told);
        cr_assert_eq(memcmp(&expected, &evolution_state_of(e)->lineage, sizeof expected), 0);
        population_rank(p, order);
        for (size_t i = 0; i < 4; i++)
            count_rows(&p->items[order[i]], &expected, 1);
    }
    cr_expect(expected.rows[LINEAGE_WEIGHTS].best > 0 && expected.rows[MUTATION_ADD_NODE].survived);
    evolution_destroy(e);
}

Test(evolution, as_good_as_the_best_is_no_new_best) {
    const settings s = default_settings(10);
    evolution *e = evolve_with(&s, 13);
    for (uint32_t generation = 0; generation < 3; generation++) {
        double fitness[10];
        const population *p = ask(e);
        for (size_t i = 0; i < 10; i++)
            fitness[i] = p->items[i].is_elite ? NAN : 0.5;
        evolution_tell(e, fitness);
        for (int i = 0; i < LINEAGE_COUNT; i++)
            cr_expect_eq(evolution_state_of(e)->lineage.rows[i].best, 0);
    }
    evolution_destroy(e);
}

// ---- state ----

static genome *copy_of(const genome *g) {
    genome *copy = genome_copy(g, NULL);
    cr_assert_not_null(copy);
    return copy;
}

// What a file would hold.
static evolution_state copy_of_state(const evolution_state *s) {
    evolution_state copy = *s;
    cr_assert_eq(population_init(&copy.population, s->population.count, NULL), HOX_OK);
    for (size_t i = 0; i < s->population.count; i++) {
        copy.population.items[i] = s->population.items[i];
        copy.population.items[i].genome = copy_of(s->population.items[i].genome);
    }
    copy.species.items = calloc(s->species.count, sizeof *copy.species.items);
    copy.species.capacity = s->species.count;
    for (size_t i = 0; i < s->species.count; i++) {
        copy.species.items[i] = s->species.items[i];
        copy.species.items[i].representative = copy_of(s->species.items[i].representative);
    }
    copy.innovations = innovation_table_create(NULL);
    for (size_t i = 0; i < innovation_count(s->innovations); i++)
        cr_assert_eq(
            innovation_replay(copy.innovations, innovation_key_at(s->innovations, i), NULL),
            HOX_OK);
    return copy;
}

Test(evolution, goes_on_from_its_state_as_if_nothing_had_been) {
    settings s = default_settings(25);
    s.evolution.mutation.add_edge = s.evolution.mutation.add_node = 0.25;
    s.evolution.species.stagnation = 3;
    evolution *a = evolve_with(&s, 9), *b = NULL;
    for (uint32_t generation = 0; generation < 14; generation++) {
        const population *p = ask(a);
        for (int is_told = 0; is_told < 2; is_told++) { // before and after tell
            if (is_told) tell_toy(a, p);
            if (b && is_told) tell_toy(b, ask(b));
            evolution_state copy = copy_of_state(evolution_state_of(b ? b : a));
            evolution_destroy(b);
            b = evolve_with(&s, 9);
            evolution_restore(b, &copy);
            cr_expect(!copy.population.items && !copy.innovations && !copy.species.items);
        }
        cr_assert(is_same_population(ask(a), ask(b)), "after generation %u", generation);
        const evolution_state *x = evolution_state_of(a), *y = evolution_state_of(b);
        cr_expect(x->species.threshold == y->species.threshold && x->next_id == y->next_id &&
                  x->species.next_id == y->species.next_id && x->best_fitness == y->best_fitness);
        cr_expect_eq(memcmp(&x->lineage, &y->lineage, sizeof x->lineage), 0);
    }
    evolution_destroy(a);
    evolution_destroy(b);
}

// ---- switches ----

// What each rate brings about, from one and the same generation of 80.
typedef enum rate_place {
    ADD_EDGE,
    ACTIVATION = MUTATION_ACTIVATION - 1,
    WEIGHTS,
    CROSSOVER,
    UNMUTATED,
    INTERSPECIES,
    RATE_COUNT
} rate_place;

static double *rate_at(evolution_config *c, int place) {
    mutation_config *m = &c->mutation;
    double *const rates[RATE_COUNT] = {&m->add_edge,
                                       &m->add_node,
                                       &m->remove_edge,
                                       &m->remove_node,
                                       &m->toggle_edge,
                                       &m->resize_node,
                                       &m->channels,
                                       &m->activation,
                                       &m->weights,
                                       &c->crossover_rate,
                                       &c->crossover_unmutated,
                                       &c->interspecies_rate};
    return rates[place];
}

// Whether the rate made this child what it is, as far as one can tell.
static bool is_made_by(const individual *child, int place, const population *parents) {
    const uint64_t *ids = child->genome->parent_ids;
    const bool is_mutated = child->birth.has_new_weights || child->birth.change;
    switch (place) {
        case WEIGHTS: return child->birth.has_new_weights;
        case CROSSOVER: return child->is_crossover;
        case UNMUTATED: return child->is_crossover && !is_mutated;
        case INTERSPECIES:
            return child->is_crossover && find_individual(parents, ids[0])->species_id !=
                                              find_individual(parents, ids[1])->species_id;
        default: return child->birth.change == (uint32_t)place + 1;
    }
}

static evolution *resume_with(const settings *s, const evolution_state *state) {
    evolution *e = evolve_with(s, 10);
    evolution_state copy = copy_of_state(state);
    evolution_restore(e, &copy);
    return e;
}

// A generation with several species of grown genomes, told.
static evolution *grown_evolution(settings *s) {
    *s = default_settings(80);
    s->limits.allowed_channels = (hox_int_list){2, {1, 3}};
    settings fast = *s;
    fast.evolution.mutation.add_edge = fast.evolution.mutation.add_node = 0.3;
    evolution *e = evolve_with(&fast, 10);
    for (int generation = 0; generation < 12; generation++)
        tell_toy(e, ask(e));
    cr_assert_geq(evolution_state_of(e)->species.count, 3);
    return e;
}

// One change of structure at a time: others would shift in its draw, and numbers with them.
static void set_rates(settings *s, int place, double rate) {
    for (int i = ADD_EDGE; i <= ACTIVATION; i++)
        *rate_at(&s->evolution, i) = 0.0;
    s->evolution.mutation.weights = s->evolution.crossover_rate = 0.5;
    s->evolution.crossover_unmutated = s->evolution.interspecies_rate = 0.3;
    if (place == UNMUTATED) s->evolution.mutation.weights = 1.0;
    *rate_at(&s->evolution, place) = rate;
}

static bool is_same_birth(const individual *a, const individual *b) {
    return a->birth.change == b->birth.change &&
           a->birth.has_new_weights == b->birth.has_new_weights &&
           a->is_crossover == b->is_crossover && a->is_elite == b->is_elite &&
           a->genome->id == b->genome->id && a->genome->parent_ids[0] == b->genome->parent_ids[0] &&
           a->genome->parent_ids[1] == b->genome->parent_ids[1];
}

Test(evolution, a_rate_of_0_takes_nothing_else_away) {
    settings s;
    evolution *grown = grown_evolution(&s);
    const evolution_state *state = evolution_state_of(grown);
    for (int place = 0; place < RATE_COUNT; place++) {
        set_rates(&s, place, 0.5);
        evolution *with = resume_with(&s, state);
        set_rates(&s, place, 0.0);
        evolution *without = resume_with(&s, state);
        const population *p = ask(with), *q = ask(without);
        int made_count = 0;
        for (size_t i = 0; i < p->count; i++) {
            const individual *a = &p->items[i], *b = &q->items[i];
            const bool is_made = is_made_by(a, place, &state->population);
            made_count += is_made;
            if (place != UNMUTATED) cr_expect_not(is_made_by(b, place, &state->population));
            if (!is_made)
                cr_expect(is_same_birth(a, b) && genome_is_same(a->genome, b->genome),
                          "rate %d, slot %zu", place, i);
        }
        cr_expect(made_count > 5 && made_count < 75, "rate %d: %d", place, made_count);
        evolution_destroy(with);
        evolution_destroy(without);
    }
    evolution_destroy(grown);
}
