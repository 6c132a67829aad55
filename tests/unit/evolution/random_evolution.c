// random_evolution.c - see random_evolution.h.
#include "random_evolution.h"

#include "evolution/select.h"
#include "evolution_fixture.h"
#include "random.h"
#include "soundness_fixture.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- settings ----

static const int64_t sizes[] = {1, 2, 3, 7, 20, 60, 1000};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };

typedef enum fitness_kind {
    TOY,
    EQUAL,
    NEGATIVE,
    HUGE_VALUES,
    FARTHEST, // the ends of what a double holds
    SOME_FAILED,
    NO_PATTERN, // another one each time
    ALL_FAILED,
    KIND_COUNT
} fitness_kind;

static double draw(test_random *random, size_t count, const double *values) {
    return values[random_below(random, (uint32_t)count)];
}
#define DRAW(random, ...)                                                                          \
    draw(random, sizeof((const double[]){__VA_ARGS__}) / sizeof(double),                           \
         (const double[]){__VA_ARGS__})

static void draw_limits(test_random *r, genome_config *l) {
    l->max_nodes = (int64_t)DRAW(r, 2, 4, 10, 64);
    l->max_edges = (int64_t)DRAW(r, 1, 4, 12, 256);
    l->max_kernel = (int64_t)DRAW(r, 0, 4, 6);
    if (random_below(r, 2)) l->allowed_channels = (hox_int_list){3, {1, 2, 3}};
    l->output_size = (hox_int_list){3, {1 + random_below(r, 2), 1, 1}};
    l->same3 = (int32_t)random_below(r, 2);
    l->stride2 = (int32_t)random_below(r, 2);
}

static void draw_mutation(test_random *r, mutation_config *m) {
    m->weights = DRAW(r, 0, 0.5, 0.8, 1);
    double *const changes[] = {&m->add_edge,    &m->add_node,    &m->remove_edge, &m->remove_node,
                               &m->toggle_edge, &m->resize_node, &m->channels,    &m->activation};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        *changes[i] = DRAW(r, 0, 0.03, 0.08);
    if (random_below(r, 4)) m->add_edge = m->add_node = 0.25;
    m->split_keeps_edge = (int32_t)random_below(r, 2);
    m->tries = (int64_t)DRAW(r, 1, 20);
}

static void draw_species(test_random *r, int64_t population_size, species_config *s) {
    s->threshold = DRAW(r, 0, 0.1, 0.5, 5);
    s->target_species = (int64_t)DRAW(r, 0, 1, 3, 8, (double)population_size + 5);
    s->threshold_factor = DRAW(r, 1, 1.15, 3);
    s->stagnation = (int64_t)DRAW(r, 0, 1, 2, 15);
    s->protected_species = (int64_t)DRAW(r, 0, 1, 2);
    s->champion_kept_from = (int64_t)DRAW(r, 1, 5, 100);
}

static settings draw_settings(test_random *r, uint32_t index) {
    settings s = default_settings(sizes[index % SIZE_COUNT]);
    draw_limits(r, &s.limits);
    draw_mutation(r, &s.evolution.mutation);
    draw_species(r, s.evolution.population_size, &s.evolution.species);
    s.evolution.survival = DRAW(r, 0, 0.2, 1);
    s.evolution.crossover_rate = DRAW(r, 0, 0.75, 1);
    s.evolution.crossover_unmutated = DRAW(r, 0, 0.2, 1);
    s.evolution.crossover_disabled = DRAW(r, 0, 0.75, 1);
    s.evolution.interspecies_rate = DRAW(r, 0, 0.1, 1);
    return s;
}

static double fitness_of(fitness_kind kind, const genome *g, test_random *random) {
    const double hash = (double)(genome_content_hash(g).words[0] % 5) - 2.0;
    switch (kind) {
        case EQUAL: return 0.25;
        case NEGATIVE: return toy_fitness(g) - 1e6;
        case HUGE_VALUES: return toy_fitness(g) * 1e300;
        case FARTHEST: return hash / 2.0 * DBL_MAX;
        case SOME_FAILED: return g->id % 3 ? toy_fitness(g) : INFINITY;
        case NO_PATTERN: return random_signed(random);
        case ALL_FAILED: return NAN;
        default: return toy_fitness(g);
    }
}

// ---- the generation before ----

typedef struct ancestor {
    uint64_t id, parent_ids[2];
    hash128 content;
    uint32_t species_id;
    size_t rank; // in its species
    individual facts;
    size_t edge_count;
} ancestor;

typedef struct past {
    ancestor *items; // of the generation before
    size_t count;
    uint64_t next_id, champion_id;
    double threshold, best;
    uint32_t next_species_id;
    uint8_t *species_is_over; // by id
    size_t species_capacity;
} past;

static const ancestor *find_ancestor(const past *before, uint64_t id) {
    for (size_t i = 0; i < before->count; i++)
        if (before->items[i].id == id) return &before->items[i];
    return NULL;
}

static void remember(past *before, const evolution *e, const population *p) {
    free(before->items);
    before->items = calloc(p->count, sizeof *before->items);
    before->count = p->count;
    for (size_t i = 0; i < p->count; i++) {
        const individual *one = &p->items[i];
        ancestor *a = &before->items[i];
        *a = (ancestor){.id = one->genome->id,
                        .content = genome_content_hash(one->genome),
                        .species_id = one->species_id,
                        .facts = *one,
                        .edge_count = one->genome->edge_count};
        memcpy(a->parent_ids, one->genome->parent_ids, sizeof a->parent_ids);
        for (size_t k = 0; k < p->count; k++)
            a->rank += p->items[k].species_id == one->species_id &&
                       individual_is_fitter(&p->items[k], one);
    }
    before->champion_id = evolution_champion(e)->genome->id;
    before->threshold = evolution_state_of(e)->species.threshold;
}

static size_t members_of(const past *before, uint32_t species_id) {
    size_t count = 0;
    for (size_t i = 0; i < before->count; i++)
        count += before->items[i].species_id == species_id;
    return count;
}

// ---- checks ----

static bool is_fitter(const ancestor *a, const ancestor *b) {
    genome left = {.id = a->id, .edge_count = a->edge_count};
    genome right = {.id = b->id, .edge_count = b->edge_count};
    individual x = a->facts, y = b->facts;
    x.genome = &left;
    y.genome = &right;
    return individual_is_fitter(&x, &y);
}

static bool is_same_hash(hash128 a, hash128 b) {
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

static void check_elite(const past *before, const individual *one) {
    const ancestor *a = find_ancestor(before, one->genome->id);
    cr_assert(a && a->rank == 0, "an elite is the best of its species");
    cr_assert(is_same_hash(a->content, genome_content_hash(one->genome)));
    cr_assert_eq(memcmp(a->parent_ids, one->genome->parent_ids, sizeof a->parent_ids), 0);
    cr_assert(!one->is_crossover && !one->birth.has_new_weights && !one->birth.change);
}

static void check_parents(const past *before, const individual *one, const settings *s) {
    const ancestor *a = find_ancestor(before, one->genome->parent_ids[0]), *b = a;
    cr_assert_not_null(a, "a parent is of the generation before");
    cr_assert_eq(one->is_crossover, one->genome->parent_ids[1] != 0);
    if (one->is_crossover) {
        b = find_ancestor(before, one->genome->parent_ids[1]);
        cr_assert(b && is_fitter(a, b), "the fitter first");
        cr_assert_gt(s->evolution.crossover_rate, 0.0);
        if (s->evolution.interspecies_rate == 0.0) cr_assert_eq(a->species_id, b->species_id);
    }
    for (int i = 0; i < 2; i++) {
        const ancestor *parent = i ? b : a;
        const size_t count = members_of(before, parent->species_id);
        cr_assert_lt(parent->rank, select_parent_count(count, s->evolution.survival));
    }
}

static void check_birth(const individual *one, const settings *s) {
    const mutation_config *m = &s->evolution.mutation;
    const double rates[MUTATION_COUNT] = {1.0,
                                          m->add_edge,
                                          m->add_node,
                                          m->remove_edge,
                                          m->remove_node,
                                          m->toggle_edge,
                                          m->resize_node,
                                          m->channels,
                                          m->activation};
    cr_assert_gt(rates[one->birth.change], 0.0, "%s is off", mutation_names[one->birth.change]);
    cr_assert(one->birth.change != MUTATION_CHANNELS || s->limits.allowed_channels.count > 1);
    cr_assert(m->weights > 0.0 || !one->birth.has_new_weights);
    cr_assert_leq(one->birth.failed_count, m->tries);
    const double unmutated = one->is_crossover ? s->evolution.crossover_unmutated : 0.0;
    if (unmutated == 1.0) cr_assert(!one->birth.has_new_weights && !one->birth.change);
    if (unmutated == 0.0 && m->weights == 1.0) cr_assert(one->birth.has_new_weights);
}

static void check_individuals(past *before, const population *p, const settings *s, meanings *m) {
    size_t champion_count = 0;
    for (size_t i = 0; i < p->count; i++) {
        const individual *one = &p->items[i];
        check_sound(one->genome, &s->limits, m);
        cr_assert(!one->has_fitness && !one->is_parent);
        champion_count += one->genome->id == before->champion_id;
        if (one->is_elite) {
            check_elite(before, one);
            continue;
        }
        cr_assert_eq(one->genome->id, before->next_id++, "ids rise, slot by slot");
        if (before->count == 0) continue;
        check_parents(before, one, s);
        check_birth(one, s);
    }
    cr_assert_eq(champion_count, before->count > 0, "the champion is there, once");
}

static void check_membership(const species_set *set, const population *p, const settings *s,
                             double threshold) {
    for (size_t i = 0; i < p->count; i++) {
        size_t home = 0;
        while (home < set->count &&
               !(distance_between(set->items[home].representative, p->items[i].genome,
                                  &s->evolution.distance) < threshold) &&
               set->items[home].representative->id != p->items[i].genome->id)
            home++;
        // At a threshold of 0 nobody is near anybody, a founder not even itself.
        cr_assert_lt(home, set->count);
        if (threshold > 0.0) cr_assert_eq(set->items[home].id, p->items[i].species_id);
    }
}

static void check_one_species(const past *before, const species *one, const population *p) {
    size_t count = 0;
    bool is_of_this = false;
    for (size_t i = 0; i < p->count; i++) {
        count += p->items[i].species_id == one->id;
        is_of_this |=
            p->items[i].species_id == one->id && p->items[i].genome->id == one->representative->id;
    }
    const ancestor *a = find_ancestor(before, one->representative->id);
    cr_assert(count > 0 && count == one->member_count);
    cr_assert_not(before->species_is_over[one->id], "species %u is back", one->id);
    if (one->id < before->next_species_id)
        cr_assert(a && a->species_id == one->id, "a member of the generation before");
    else
        cr_assert(is_of_this, "the founder");
}

static void grow_species(past *before, uint32_t next_id) {
    if (next_id <= before->species_capacity) return;
    before->species_is_over = realloc(before->species_is_over, 2 * (size_t)next_id);
    memset(before->species_is_over + before->species_capacity, 0,
           2 * (size_t)next_id - before->species_capacity);
    before->species_capacity = 2 * (size_t)next_id;
}

static double steered(const species_config *c, size_t count, double threshold) {
    if (c->target_species == 0) return threshold;
    if (count > (size_t)c->target_species) threshold *= c->threshold_factor;
    if (count < (size_t)c->target_species) threshold /= c->threshold_factor;
    return fmin(fmax(threshold, c->threshold_least), c->threshold_most);
}

static void check_species(past *before, const species_set *set, const population *p,
                          const settings *s) {
    grow_species(before, set->next_id);
    for (size_t i = 0; i < set->count; i++) {
        cr_assert(i == 0 || set->items[i - 1].id < set->items[i].id);
        cr_assert(set->items[i].id > 0 && set->items[i].id < set->next_id);
        check_one_species(before, &set->items[i], p);
    }
    check_membership(set, p, s, before->threshold);
    for (uint32_t id = 1; id < set->next_id; id++)
        before->species_is_over[id] = species_find(set, id) == NULL;
    before->next_species_id = set->next_id;
    cr_assert_eq(set->threshold, steered(&s->evolution.species, set->count, before->threshold));
}

static void tell(evolution *e, const population *p, fitness_kind kind, past *before,
                 test_random *random) {
    double *fitness = calloc(p->count, sizeof *fitness), best = -INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        fitness[i] = fitness_of(kind, p->items[i].genome, random);
        if (isfinite(fitness[i])) best = fmax(best, fitness[i]);
    }
    evolution_tell(e, fitness);
    free(fitness);
    if (kind != NO_PATTERN) cr_assert_geq(best, before->best, "the best fell");
    before->best = fmax(before->best, best);
    const evolution_state *state = evolution_state_of(e);
    cr_assert_eq(state->has_best, isfinite(before->best));
    if (state->has_best) cr_assert_eq(state->best_fitness, before->best);
    const individual *champion = evolution_champion(e);
    cr_assert_eq(champion->has_fitness, isfinite(best));
    if (champion->has_fitness) cr_assert_eq(champion->fitness, best);
}

void check_random_evolution(uint32_t index) {
    test_random random = {index * UINT64_C(7919) + 3};
    const settings s = draw_settings(&random, index);
    const fitness_kind kind = (fitness_kind)(index % KIND_COUNT);
    past before = {.next_id = 1,
                   .best = -INFINITY,
                   .threshold = s.evolution.species.threshold,
                   .next_species_id = 1};
    evolution *e = evolve_with(&s, random_next(&random));
    meanings *m = meanings_create();
    const uint32_t generations = s.evolution.population_size == 1000 ? 4 : 14;
    for (uint32_t generation = 0; generation < generations; generation++) {
        const population *p = ask(e);
        cr_assert_eq(p->count, (size_t)s.evolution.population_size);
        cr_assert_eq(evolution_generation(e), generation);
        check_individuals(&before, p, &s, m);
        check_species(&before, &evolution_state_of(e)->species, p, &s);
        tell(e, p, kind, &before, &random);
        remember(&before, e, p);
    }
    free(before.items);
    free(before.species_is_over);
    meanings_destroy(m);
    evolution_destroy(e);
}
