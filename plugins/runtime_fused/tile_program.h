// tile_program.h - a plan made ready for run_genomes: the maps of a tile of images, and how each
// node is computed.
#pragma once

#include "cuda/kernels.h"

#include <hox/plan.h>
#include <hox/status.h>
#include <stddef.h>

typedef struct tile_edge {
    uint32_t source; // node
    uint32_t kernel_h, kernel_w;
    uint32_t stride_h, stride_w;
    uint32_t padding_h, padding_w;
    uint64_t weights;  // floats, in the genome's
    uint32_t kind;     // CUDA_STEP_*
    uint32_t halvings; // 2^halvings groups of threads share a tile of the target
    uint32_t taps_row; // vectors of 4 floats that a row of taps takes
} tile_edge;

typedef struct tile_node {
    cuda_map map;  // but for place and space
    uint64_t size; // floats, with what may be read behind it
    uint32_t activation;
    uint32_t edge_begin, edge_end;
} tile_node;

// One block of memory: this struct and its arrays.
typedef struct tile_program {
    uint32_t node_count, edge_count;
    uint32_t readout;
    uint32_t step_count;    // of the genome alone, as all of it is computed
    uint64_t weight_floats; // likewise, as the device has them
    tile_node *nodes;       // node 0 are the images, without edges
    tile_edge *edges;
} tile_program;

// Errors: UNSUPPORTED, naming a node whose map is too large to count in 32 bits.
hox_status tile_program_check(const hox_plan *plan, hox_error *error) HOX_MUST_CHECK;

size_t tile_program_bytes(const hox_plan *plan);
// Fills memory of so many bytes. The plan was found right.
tile_program *tile_program_make(void *memory, const hox_plan *plan);

// An edge's weights from the genome's order to the device's; returns how many floats those are,
// its bias among them. bias: where in them it begins. packed NULL: counts only.
uint64_t tile_program_pack(const tile_program *p, const tile_node *target, const tile_edge *edge,
                           const float *weights, float *packed, uint64_t *bias);
