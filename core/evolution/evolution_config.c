#include "evolution/evolution_config.h"

const hox_field evolution_fields[] = {
    HOX_INT(evolution_config, population_size, 128, 1, 100000, "genomes in a generation"),
    HOX_RATE(evolution_config, survival, 0.20,
             "share of a generation, the fittest, that parents are drawn from (at least 2)"),
};
const uint32_t evolution_field_count = sizeof evolution_fields / sizeof *evolution_fields;
