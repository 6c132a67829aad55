// program.h - a plan made ready for the kernels: nodes in order, their maps' layout, and where each
// map lies while one genome runs on one block of 16 images.
#pragma once

#include "cpu/kernels.h"

#include <hox/plan.h>

// One block of memory: this struct and its arrays.
typedef struct cpu_program {
    size_t bytes; // of all of it
    uint32_t node_count, edge_count;
    uint32_t readout;
    uint64_t weight_count;
    size_t arena_size; // floats that all maps take in turn
    size_t *places;    // per node: where in the arena; the input's only where it has a margin
    size_t *sizes;     // per node: of its map, floats
    cpu_node *nodes;   // node 0 is the image, without edges
    cpu_edge *edges;
    uint32_t *last_use; // per node: the last node that reads it
    const float **maps; // per node, for whoever runs it
} cpu_program;

// Bytes of a program for this plan; SIZE_MAX where they overflow.
size_t cpu_program_bytes(const hox_plan *plan);
// Fills memory of so many bytes.
cpu_program *cpu_program_make(void *memory, const hox_plan *plan);

// Row, plane, offset and size of a map from its sides, channels and margins.
void cpu_lay_out(cpu_node *node);

// Whether the image has to be copied to a map with a margin before it is read.
int cpu_program_copies_input(const cpu_program *p);

// Zeros to the margins of a map of this node; the rest stays.
void cpu_clear_margins(const cpu_node *node, float *map);
// A block of images, [channel][row][column][16], into the inside of a map, and its margins.
void cpu_copy_input(const cpu_node *input, const float *images, float *map);
