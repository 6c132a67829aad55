// evolution.h - ask for genomes, tell their fitness; knows neither plugins nor files.
#pragma once

#include "evolution/reproduce.h"

typedef struct evolution evolution;

// The configurations are copied. input is the size of the images. limits->max_kernel 0 becomes the
// larger of 32 and the image side. Errors: OUT_OF_HOST_MEMORY. [main]
hox_status evolution_create(const evolution_config *config, const mutation_config *mutation,
                            const genome_config *limits, uint64_t seed, map_size input,
                            evolution **out, hox_error *error) HOX_MUST_CHECK;
void evolution_destroy(evolution *e);

// The generation to evaluate, borrowed until the next ask; the same one until tell. Errors:
// OUT_OF_HOST_MEMORY, and what reproduce_start says. [main]
hox_status evolution_ask(evolution *e, const population **generation,
                         hox_error *error) HOX_MUST_CHECK;

// fitness: one per individual, in order; a value that is not finite means it has none. [main]
void evolution_tell(evolution *e, const double *fitness);

uint32_t evolution_generation(const evolution *e); // of the population last asked for, from 0
// The fittest of the generation last asked for; NULL until it has been told.
const individual *evolution_champion(const evolution *e);
