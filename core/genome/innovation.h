// innovation.h - the numbers of a run: which edge, which node. One table for the whole run, so that
// equal changes get equal numbers and genomes can be mixed (Stanley and Miikkulainen, "Evolving
// neural networks through augmenting topologies", Evolutionary Computation 10(2), 2002,
// section 3.2).
#pragma once

#include "genome/geometry.h"

#include <hox/status.h>

typedef struct innovation_table innovation_table;

innovation_table *innovation_table_create(hox_error *error);
void innovation_table_destroy(innovation_table *table);

// Each returns the number of its key, a new one the first time: calls in the same order give the
// same numbers. Errors: OUT_OF_HOST_MEMORY. [main]

// (from, to) <-> innovation, from 1.
hox_status innovation_of_edge(innovation_table *table, uint32_t from, uint32_t to,
                              uint64_t *innovation, hox_error *error) HOX_MUST_CHECK;
// The node that splits this edge; n tells apart several in one genome.
hox_status innovation_of_split(innovation_table *table, uint64_t edge_innovation, uint32_t channels,
                               uint32_t n, uint32_t *node_id, hox_error *error) HOX_MUST_CHECK;
// The node that takes the place of old_node with another size.
hox_status innovation_of_resize(innovation_table *table, uint32_t old_node, map_size size,
                                uint32_t n, uint32_t *node_id, hox_error *error) HOX_MUST_CHECK;

// What a number was given for; plain data, for saving. first: from, edge innovation or old node;
// second: to.
typedef struct innovation_key {
    uint64_t first;
    uint32_t kind, second;
    map_size size;
    uint32_t n;
} innovation_key;

size_t innovation_count(const innovation_table *table);
innovation_key innovation_key_at(const innovation_table *table,
                                 size_t index); // in the order they were made
// Gives the next key its number: replaying all keys in order makes the same table. Errors:
// OUT_OF_HOST_MEMORY, INVALID_ARGUMENT for an unknown kind.
hox_status innovation_replay(innovation_table *table, innovation_key key,
                             hox_error *error) HOX_MUST_CHECK;
