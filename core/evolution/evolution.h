// evolution.h - ask for genomes, tell their fitness; knows neither plugins nor files. NEAT (Stanley
// and Miikkulainen, Evolutionary Computation 10(2), 2002) on graphs of convolutions.
#pragma once

#include "evolution/lineage.h"
#include "evolution/reproduce.h"

typedef struct evolution evolution;

// The configurations are copied. input is the size of the images. limits->max_kernel 0 becomes the
// larger of 32 and the image side. Errors: OUT_OF_HOST_MEMORY. [main]
hox_status evolution_create(const evolution_config *config, const genome_config *limits,
                            uint64_t seed, map_size input, evolution **out,
                            hox_error *error) HOX_MUST_CHECK;
void evolution_destroy(evolution *e);

// The generation to evaluate, borrowed until the next ask; the same one until tell. Errors:
// OUT_OF_HOST_MEMORY, and what reproduce_start says; after one, only destroy it. [main]
hox_status evolution_ask(evolution *e, const population **generation,
                         hox_error *error) HOX_MUST_CHECK;

// fitness: one per individual, in order; a value that is not finite means it has none. [main]
void evolution_tell(evolution *e, const double *fitness);

// After tell: the individual in this slot has been trained. refined takes its place under a new id,
// and evolution takes it; NULL: the genome stays and only the fitness, which is finite, is new. The
// operators that made it get no credit for what training has reached. [main]
void evolution_refine(evolution *e, size_t slot, genome *refined, double fitness);

uint32_t evolution_generation(const evolution *e); // of the population last asked for, from 0
// The fittest of the generation last asked for; NULL until it has been told.
const individual *evolution_champion(const evolution *e);

// All that the future depends on beside configuration and seed; plain data, for saving. Random
// numbers need no state: they depend on their place alone.
typedef struct evolution_state {
    uint32_t generation; // of population
    bool is_told;
    uint64_t next_id;
    population population; // empty before the first ask
    species_set species;
    innovation_table *innovations;
    lineage lineage;
    bool has_best;
    double best_fitness; // of all generations
} evolution_state;

const evolution_state *evolution_state_of(const evolution *e); // borrowed; a pure read
// Takes state, which must be whole; *state is empty after. [main]
void evolution_restore(evolution *e, evolution_state *state);
void evolution_state_deinit(evolution_state *state); // {0} too
