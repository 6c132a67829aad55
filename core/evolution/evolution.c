#include "evolution/evolution.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

struct evolution {
    evolution_config config;
    mutation_config mutation;
    genome_config limits;
    uint64_t seed;
    map_size input;
    innovation_table *innovations;
    uint64_t next_id;
    uint32_t generation;
    population current; // empty before the first ask
    bool is_told;       // current has its fitness
};

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

hox_status evolution_create(const evolution_config *config, const mutation_config *mutation,
                            const genome_config *limits, uint64_t seed, map_size input,
                            evolution **out, hox_error *error) {
    *out = NULL;
    evolution *e = array_create(1, sizeof *e, error);
    if (!e) return HOX_OUT_OF_HOST_MEMORY;
    *e = (evolution){.config = *config,
                     .mutation = *mutation,
                     .limits = *limits,
                     .seed = seed,
                     .input = input,
                     .next_id = 1,
                     .innovations = innovation_table_create(error)};
    if (e->limits.max_kernel == 0)
        e->limits.max_kernel = larger(32, larger(input.height, input.width));
    if (!e->innovations) {
        evolution_destroy(e);
        return HOX_OUT_OF_HOST_MEMORY;
    }
    *out = e;
    return HOX_OK;
}

void evolution_destroy(evolution *e) {
    if (!e) return;
    population_deinit(&e->current);
    innovation_table_destroy(e->innovations);
    free(e);
}

hox_status evolution_ask(evolution *e, const population **generation, hox_error *error) {
    *generation = &e->current;
    const bool is_first = e->current.count == 0;
    if (!is_first && !e->is_told) return HOX_OK;
    const reproduction how = {.config = &e->config,
                              .mutation = &e->mutation,
                              .limits = &e->limits,
                              .innovations = e->innovations,
                              .seed = e->seed,
                              .generation = is_first ? 0 : e->generation + 1,
                              .next_id = &e->next_id};
    population next;
    if (is_first)
        HOX_TRY(reproduce_start(&how, e->input, &next, error));
    else
        HOX_TRY(reproduce_next(&how, &e->current, &next, error));
    population_deinit(&e->current);
    e->current = next;
    e->generation = how.generation;
    e->is_told = false;
    return HOX_OK;
}

void evolution_tell(evolution *e, const double *fitness) {
    for (size_t i = 0; i < e->current.count; i++) {
        individual *one = &e->current.items[i];
        one->has_fitness = isfinite(fitness[i]);
        one->fitness = one->has_fitness ? fitness[i] : 0.0;
    }
    e->is_told = true;
}

uint32_t evolution_generation(const evolution *e) {
    return e->generation;
}

const individual *evolution_champion(const evolution *e) {
    if (!e->is_told || e->current.count == 0) return NULL;
    const individual *best = &e->current.items[0];
    for (size_t i = 1; i < e->current.count; i++)
        if (individual_is_fitter(&e->current.items[i], best)) best = &e->current.items[i];
    return best;
}
