#include "evolution/evolution_config.h"

const hox_field evolution_fields[] = {
    HOX_INT(evolution_config, population_size, 128, 1, 100000, "genomes in a generation"),
    HOX_RATE(evolution_config, survival, 0.20,
             "share of a species, the fittest, that parents are drawn from (at least 2)"),
    HOX_RATE(evolution_config, crossover_rate, 0.75, "chance that a child has two parents"),
    HOX_RATE(evolution_config, crossover_unmutated, 0.20,
             "chance that a child of two parents is not mutated"),
    HOX_RATE(evolution_config, crossover_disabled, 0.75,
             "chance that a gene disabled in either parent is disabled in the child"),
    HOX_RATE(evolution_config, interspecies_rate, 0.001,
             "chance that the second parent is of another species"),
};
const uint32_t evolution_field_count = sizeof evolution_fields / sizeof *evolution_fields;

const hox_field species_fields[] = {
    HOX_REAL(species_config, threshold, 0.5, 0.0, 1e6,
             "distance below which a genome belongs to a species, at the start"),
    HOX_INT(species_config, target_species, 8, 0, 100000,
            "number of species the threshold is steered towards; 0 = it stays as it is"),
    HOX_REAL(species_config, threshold_factor, 1.15, 1.0, 10.0,
             "factor by which the threshold moves in a generation"),
    HOX_REAL(species_config, threshold_least, 0.02, 0.0, 1e6, "lower end of the steered threshold"),
    HOX_REAL(species_config, threshold_most, 5.0, 0.0, 1e6, "upper end of the steered threshold"),
    HOX_INT(species_config, stagnation, 15, 0, 1000000,
            "generations without a better fitness after which a species ends; 0 = never"),
    HOX_INT(species_config, protected_species, 2, 0, 100000, "the best species, which never end"),
    HOX_INT(species_config, champion_kept_from, 5, 1, 100000,
            "members from which on a species' champion is kept unchanged"),
};
const uint32_t species_field_count = sizeof species_fields / sizeof *species_fields;
