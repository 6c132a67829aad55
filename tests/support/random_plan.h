// random_plan.h - plans nobody would draw by hand: odd sizes, every stride, padding, channel count,
// activation and readout, several edges a node. Small enough for the reference.
#pragma once

#include "random.h"

#include <hox/plan.h>
#include <stddef.h>

enum { RANDOM_PLAN_NODES = 7, RANDOM_PLAN_EDGES = RANDOM_PLAN_NODES * (RANDOM_PLAN_NODES - 1) / 2 };

typedef struct random_plan {
    hox_plan plan; // its pointers lead into this struct: do not copy it
    uint32_t channels[RANDOM_PLAN_NODES], height[RANDOM_PLAN_NODES], width[RANDOM_PLAN_NODES];
    uint32_t activation[RANDOM_PLAN_NODES], last_use[RANDOM_PLAN_NODES];
    uint32_t edge_begin[RANDOM_PLAN_NODES + 1];
    uint32_t source[RANDOM_PLAN_EDGES];
    uint32_t kernel_h[RANDOM_PLAN_EDGES], kernel_w[RANDOM_PLAN_EDGES];
    uint32_t stride_h[RANDOM_PLAN_EDGES], stride_w[RANDOM_PLAN_EDGES];
    uint32_t padding_h[RANDOM_PLAN_EDGES], padding_w[RANDOM_PLAN_EDGES];
    uint64_t weight_offset[RANDOM_PLAN_EDGES];
} random_plan;

// Equal seeds, equal plans. Every node lies on a path from input to output; hashes are zero.
void random_plan_make(random_plan *made, uint64_t seed);

// For plans made by hand: an empty plan, then nodes in order, each followed by its edges. The first
// node is the input, the last one the output.
void plan_begin(random_plan *made, uint32_t readout);
void plan_add_node(random_plan *made, uint32_t channels, uint32_t height, uint32_t width,
                   uint32_t activation);
// Into the last node; derived geometry (SPEC 1): it fits any two sizes, with stride 1.
void plan_add_edge(random_plan *made, uint32_t source);

// plan.weight_count values: kernels uniform in +-sqrt(6 / taps), biases in +-0.1.
void random_weights(const hox_plan *plan, uint64_t seed, float *values);

// Uniform in 0 .. 1.
void random_images(uint64_t seed, size_t count, float *values);
