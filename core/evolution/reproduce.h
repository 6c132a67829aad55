// reproduce.h - the next generation from the one before.
#pragma once

#include "evolution/evolution_config.h"
#include "evolution/population.h"

typedef struct reproduction {
    const evolution_config *config;
    const mutation_config *mutation;
    const genome_config *limits; // max_kernel resolved
    innovation_table *innovations;
    uint64_t seed;
    uint32_t generation; // of the children
    uint64_t *next_id;
} reproduction;

// The first generation: each genome one edge from input to output with a draw of its own. Errors:
// OUT_OF_HOST_MEMORY, BAD_OPTION where that edge is longer than max_kernel. *children is empty on
// failure. [main]
hox_status reproduce_start(const reproduction *how, map_size input, population *children,
                           hox_error *error) HOX_MUST_CHECK;

// The champion of parents in slot 0, unchanged; behind it mutated copies of parents
// drawn uniformly from the fittest. Slot by slot in order, so the numbers of new edges and nodes do
// not depend on threads. Errors: OUT_OF_HOST_MEMORY. [main]
hox_status reproduce_next(const reproduction *how, const population *parents, population *children,
                          hox_error *error) HOX_MUST_CHECK;
