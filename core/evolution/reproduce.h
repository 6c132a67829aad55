// reproduce.h - the next generation from the one before.
#pragma once

#include "evolution/evolution_config.h"
#include "evolution/population.h"
#include "evolution/species.h"

typedef struct reproduction {
    const evolution_config *config;
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

// Each species that may go on gets children by its shared fitness: first its champion, unchanged,
// if it has champion_kept_from members or holds the champion of all; then children of one or two of
// its fittest. Where no species may go on, all are children of the champion. Slot by slot in order,
// so the numbers of new edges and nodes do not depend on threads. Marks in parents who may have
// children. Errors: OUT_OF_HOST_MEMORY. [main]
hox_status reproduce_next(const reproduction *how, population *parents, const species_set *set,
                          population *children, hox_error *error) HOX_MUST_CHECK;
