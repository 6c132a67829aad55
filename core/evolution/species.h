// species.h - groups of genomes that are near each other and compete first of all among themselves
// (Stanley and Miikkulainen 2002, section 3.3).
#pragma once

#include "evolution/evolution_config.h"
#include "evolution/population.h"

typedef struct species {
    uint32_t id;            // from 1, never used again
    genome *representative; // a member of the generation before; owned
    size_t member_count;    // in the current generation
    bool has_best;
    double best_fitness;          // ever
    uint32_t improved_generation; // when best_fitness last rose, or the species began
} species;

typedef struct species_set {
    species *items; // by id
    size_t count, capacity;
    uint32_t next_id;
    double threshold;
} species_set;

void species_set_init(species_set *set, const species_config *config);
void species_set_deinit(species_set *set);

// Gives each individual the first species, by id, whose representative is nearer than the
// threshold, or founds one; drops species without members; steers the threshold. Errors:
// OUT_OF_HOST_MEMORY. [main]
hox_status species_assign(species_set *set, population *p, const evolution_config *config,
                          uint32_t generation, hox_error *error) HOX_MUST_CHECK;

// After fitness is known: notes who improved.
void species_note_fitness(species_set *set, const population *p, uint32_t generation);

// Before the next generation: a member drawn at random becomes the representative. Errors:
// OUT_OF_HOST_MEMORY. [main]
hox_status species_draw_representatives(species_set *set, const population *p, uint64_t seed,
                                        uint32_t generation, hox_error *error) HOX_MUST_CHECK;

const species *species_find(const species_set *set, uint32_t id); // NULL = none
