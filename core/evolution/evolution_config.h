// evolution_config.h - the section "evolution" of an experiment.
#pragma once

#include "genome/distance.h"
#include "genome/mutate.h"

// "evolution.species"
typedef struct species_config {
    double threshold;        // distance below which a genome belongs to a species, at the start
    int64_t target_species;  // the threshold is steered towards this number; 0 = it stays
    double threshold_factor; // by which it moves in a generation
    double threshold_least, threshold_most;
    int64_t stagnation; // generations without a better fitness until a species ends; 0 = never
    int64_t protected_species;  // the best of them never end
    int64_t champion_kept_from; // members from which a species' champion is kept unchanged
} species_config;

// "evolution" itself, and what stands in it.
typedef struct evolution_config {
    int64_t population_size;
    double survival;            // share of a species that may become parents
    double crossover_rate;      // chance that a child has two parents
    double crossover_unmutated; // then, that it is not mutated
    double crossover_disabled;  // that a gene disabled in either parent is disabled
    double interspecies_rate;   // that the second parent is of another species
    mutation_config mutation;
    species_config species;
    distance_config distance;
} evolution_config;

extern const hox_field evolution_fields[];
extern const uint32_t evolution_field_count;
extern const hox_field species_fields[];
extern const uint32_t species_field_count;
