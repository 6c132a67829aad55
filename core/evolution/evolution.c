#include "evolution/evolution.h"

#include "base/array.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct evolution {
    evolution_config config;
    genome_config limits;
    uint64_t seed;
    map_size input;
    evolution_state state;
};

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

hox_status evolution_create(const evolution_config *config, const genome_config *limits,
                            uint64_t seed, map_size input, evolution **out, hox_error *error) {
    *out = NULL;
    evolution *e = array_create(1, sizeof *e, error);
    if (!e) return HOX_OUT_OF_HOST_MEMORY;
    *e = (evolution){.config = *config, .limits = *limits, .seed = seed, .input = input};
    e->state.next_id = 1;
    e->state.innovations = innovation_table_create(error);
    species_set_init(&e->state.species, &config->species);
    if (e->limits.max_kernel == 0)
        e->limits.max_kernel = larger(32, larger(input.height, input.width));
    if (!e->state.innovations) {
        evolution_destroy(e);
        return HOX_OUT_OF_HOST_MEMORY;
    }
    *out = e;
    return HOX_OK;
}

void evolution_state_deinit(evolution_state *state) {
    population_deinit(&state->population);
    species_set_deinit(&state->species);
    innovation_table_destroy(state->innovations);
    *state = (evolution_state){0};
}

void evolution_destroy(evolution *e) {
    if (!e) return;
    evolution_state_deinit(&e->state);
    free(e);
}

static hox_status reproduce(evolution *e, const reproduction *how, population *next,
                            hox_error *error) {
    evolution_state *s = &e->state;
    if (s->population.count == 0) return reproduce_start(how, e->input, next, error);
    HOX_TRY(
        species_draw_representatives(&s->species, &s->population, e->seed, how->generation, error));
    return reproduce_next(how, &s->population, &s->species, next, error);
}

hox_status evolution_ask(evolution *e, const population **generation, hox_error *error) {
    evolution_state *s = &e->state;
    *generation = &s->population;
    const bool is_first = s->population.count == 0;
    if (!is_first && !s->is_told) return HOX_OK;
    const reproduction how = {.config = &e->config,
                              .limits = &e->limits,
                              .innovations = s->innovations,
                              .seed = e->seed,
                              .generation = is_first ? 0 : s->generation + 1,
                              .next_id = &s->next_id};
    population next;
    HOX_TRY(reproduce(e, &how, &next, error));
    lineage_note_survivors(&s->lineage, &s->population);
    lineage_note_children(&s->lineage, &next);
    population_deinit(&s->population);
    s->population = next;
    s->generation = how.generation;
    s->is_told = false;
    return species_assign(&s->species, &s->population, &e->config, s->generation, error);
}

static const individual *fittest(const population *p) {
    const individual *best = p->items;
    for (size_t i = 1; i < p->count; i++)
        if (individual_is_fitter(&p->items[i], best)) best = &p->items[i];
    return best;
}

static void note_best(evolution_state *s) {
    const individual *best = fittest(&s->population);
    if (!best->has_fitness || (s->has_best && best->fitness <= s->best_fitness)) return;
    s->has_best = true;
    s->best_fitness = best->fitness;
    lineage_note_best(&s->lineage, best);
}

void evolution_tell(evolution *e, const double *fitness) {
    evolution_state *s = &e->state;
    if (s->population.count == 0) return; // nothing was asked for
    for (size_t i = 0; i < s->population.count; i++) {
        individual *one = &s->population.items[i];
        one->has_fitness = isfinite(fitness[i]);
        one->fitness = one->has_fitness ? fitness[i] : 0.0;
    }
    s->is_told = true;
    species_note_fitness(&s->species, &s->population, s->generation);
    note_best(s);
}

void evolution_refine(evolution *e, size_t slot, genome *refined, double fitness) {
    evolution_state *s = &e->state;
    individual *one = &s->population.items[slot];
    assert(s->is_told && slot < s->population.count && isfinite(fitness));
    if (refined) {
        refined->id = s->next_id++;
        genome_destroy(one->genome);
        one->genome = refined;
    }
    one->has_fitness = true;
    one->fitness = fitness;
    species_note_fitness(&s->species, &s->population, s->generation);
    if (s->has_best && fitness <= s->best_fitness) return;
    s->has_best = true;
    s->best_fitness = fitness;
}

uint32_t evolution_generation(const evolution *e) {
    return e->state.generation;
}

const individual *evolution_champion(const evolution *e) {
    return e->state.is_told ? fittest(&e->state.population) : NULL;
}

const evolution_state *evolution_state_of(const evolution *e) {
    return &e->state;
}

void evolution_restore(evolution *e, evolution_state *state) {
    evolution_state_deinit(&e->state);
    e->state = *state;
    *state = (evolution_state){0};
}
