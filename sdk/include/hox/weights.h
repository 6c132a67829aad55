// weights.h - the weights of one genome for one plan.
#pragma once

#include <stdint.h>

// Laid out as the plan's edge_weight_offset says. Pointers live for the call; equal version numbers
// mean equal contents, so an upload may be skipped.
typedef struct hox_weights {
    uint32_t struct_size;
    uint32_t reserved; // 0
    const float *values;
    uint64_t count; // the plan's weight_count
    uint64_t version;
    // 128 bits (two words) each: geometry, weights, activation, order and, recursively, sources.
    // Equal hash = equal map for the same image, also between genomes.
    const uint64_t *edge_value_hash; // 2 x edge_count
    const uint64_t *node_value_hash; // 2 x node_count
} hox_weights;
