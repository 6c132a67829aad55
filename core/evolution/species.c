#include "evolution/species.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void species_set_init(species_set *set, const species_config *config) {
    *set = (species_set){.next_id = 1, .threshold = config->threshold};
}

void species_set_deinit(species_set *set) {
    for (size_t i = 0; i < set->count; i++)
        genome_destroy(set->items[i].representative);
    free(set->items);
    *set = (species_set){0};
}

static hox_status found(species_set *set, const genome *first, uint32_t generation, species **out,
                        hox_error *error) {
    species *items = array_grow(set->items, &set->capacity, set->count + 1, sizeof *items, error);
    if (!items) return HOX_OUT_OF_HOST_MEMORY;
    set->items = items;
    genome *representative = genome_copy(first, error);
    if (!representative) return HOX_OUT_OF_HOST_MEMORY;
    *out = &items[set->count++];
    **out = (species){
        .id = set->next_id++, .representative = representative, .improved_generation = generation};
    return HOX_OK;
}

static species *nearest_species(const species_set *set, const genome *g,
                                const distance_config *distance) {
    for (size_t i = 0; i < set->count; i++)
        if (distance_between(g, set->items[i].representative, distance) < set->threshold)
            return &set->items[i];
    return NULL;
}

static void drop_empty(species_set *set) {
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i].member_count > 0)
            set->items[kept++] = set->items[i];
        else
            genome_destroy(set->items[i].representative);
    set->count = kept;
}

static void steer(species_set *set, const species_config *config) {
    const size_t target = (size_t)config->target_species;
    if (target == 0) return;
    if (set->count > target) set->threshold *= config->threshold_factor;
    if (set->count < target) set->threshold /= config->threshold_factor;
    if (set->threshold < config->threshold_least) set->threshold = config->threshold_least;
    if (set->threshold > config->threshold_most) set->threshold = config->threshold_most;
}

hox_status species_assign(species_set *set, population *p, const evolution_config *config,
                          uint32_t generation, hox_error *error) {
    for (size_t i = 0; i < set->count; i++)
        set->items[i].member_count = 0;
    for (size_t i = 0; i < p->count; i++) {
        species *home = nearest_species(set, p->items[i].genome, &config->distance);
        if (!home) HOX_TRY(found(set, p->items[i].genome, generation, &home, error));
        home->member_count++;
        p->items[i].species_id = home->id;
    }
    drop_empty(set);
    steer(set, &config->species);
    return HOX_OK;
}

const species *species_find(const species_set *set, uint32_t id) {
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i].id == id) return &set->items[i];
    return NULL;
}

void species_note_fitness(species_set *set, const population *p, uint32_t generation) {
    for (size_t i = 0; i < p->count; i++) {
        const individual *one = &p->items[i];
        species *home = (species *)species_find(set, one->species_id);
        if (!one->has_fitness || (home->has_best && one->fitness <= home->best_fitness)) continue;
        home->has_best = true;
        home->best_fitness = one->fitness;
        home->improved_generation = generation;
    }
}

hox_status species_draw_representatives(species_set *set, const population *p, uint64_t seed,
                                        uint32_t generation, hox_error *error) {
    for (size_t s = 0; s < set->count; s++) {
        species *one = &set->items[s];
        rng random = rng_stream(seed, generation, one->id, RNG_PURPOSE_REPRESENTATIVE);
        uint64_t place = rng_below(&random, one->member_count);
        for (size_t i = 0; i < p->count; i++) {
            if (p->items[i].species_id != one->id || place-- > 0) continue;
            genome *representative = genome_copy(p->items[i].genome, error);
            if (!representative) return HOX_OUT_OF_HOST_MEMORY;
            genome_destroy(one->representative);
            one->representative = representative;
            break;
        }
    }
    return HOX_OK;
}
