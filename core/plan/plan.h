// plan.h - the executed part of a genome, made ready to run (SPEC 2).
#pragma once

#include "genome/genome.h"

#include <hox/plan.h>

typedef struct plan {
    hox_plan view;              // what runtimes see; all zero where has_path is false
    bool has_path;              // without a path from input to output the logit is the constant 0
    const uint32_t *node_index; // into genome->nodes, per plan node
    const uint32_t *edge_index; // into genome->edges, per plan edge
    void *block;                // one allocation behind all arrays
} plan;

// Executed: nodes and edges on an enabled path from input to output. Nodes in topological order,
// ties by id; the edges of a node by innovation. The genome is valid. Errors: OUT_OF_HOST_MEMORY,
// INVALID_ARGUMENT where sizes overflow. [any]
hox_status plan_init(plan *p, const genome *g, hox_error *error) HOX_MUST_CHECK;
void plan_deinit(plan *p);

// The genome's kernels and biases to values[weight_count], where edge_weight_offset says. p was
// made from g. [any]
void plan_copy_weights(const plan *p, const genome *g, float *values);

// M_sample: floor(1.35 * 4 * the sum of C*H*W over the executed nodes), in checked integers. False
// on overflow.
bool plan_bytes_per_sample(const uint32_t *channels, const uint32_t *heights,
                           const uint32_t *widths, size_t node_count, uint64_t *bytes);
