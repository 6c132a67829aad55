// genome.h - a graph whose nodes are maps of a fixed size and whose edges are convolutions (SPEC
// 1).
#pragma once

#include "base/hash.h"
#include "genome/kernel.h"

#include <stddef.h>

enum { GENOME_INPUT = 0, GENOME_OUTPUT = 1 }; // node ids; hidden nodes follow

typedef struct genome_node {
    uint32_t id;
    uint32_t activation; // HOX_ACTIVATION_*; the input's is identity
    map_size size;
} genome_node;

typedef struct genome_edge {
    uint64_t innovation; // names (from, to) for the whole run; Stanley and Miikkulainen 2002
    uint32_t from, to;   // node ids
    geometry geometry;
    bool is_enabled;
    kernel *kernel; // one reference
} genome_edge;

typedef struct genome {
    uint64_t id;            // in the run, from 1; 0 = none
    uint64_t parent_ids[2]; // 0 = none; the fitter first
    uint32_t readout;       // HOX_READOUT_*
    genome_node *nodes;     // by id, strictly increasing
    genome_edge *edges;     // by innovation, strictly increasing
    size_t node_count, edge_count;
    size_t node_capacity, edge_capacity;
} genome;

genome *genome_create(uint32_t readout, hox_error *error); // empty
genome *genome_copy(const genome *g, hox_error *error);    // shares the kernels; keeps the ids
void genome_destroy(genome *g);                            // takes NULL

const genome_node *genome_find_node(const genome *g, uint32_t id); // NULL = none
genome_edge *genome_find_edge(const genome *g, uint32_t from, uint32_t to);

// Keep the order. add_edge takes the kernel's reference, on failure too. Errors:
// OUT_OF_HOST_MEMORY, INVALID_ARGUMENT for a second node or innovation of the same number.
hox_status genome_add_node(genome *g, genome_node node, hox_error *error) HOX_MUST_CHECK;
hox_status genome_add_edge(genome *g, genome_edge edge, hox_error *error) HOX_MUST_CHECK;

void genome_remove_edge(genome *g, size_t edge_index);
void genome_remove_node(genome *g, uint32_t id);          // with its edges; not input or output
void genome_remove_lonely_nodes(genome *g);               // hidden nodes without an edge
void genome_replace_kernel(genome_edge *edge, kernel *k); // takes the reference

// Sum of kernel floats, biases included: all edges.
uint64_t genome_weight_count(const genome *g);
size_t genome_enabled_edge_count(const genome *g);

// Of all that evaluation can see: readout, nodes, edges, flags and weights; no ids of genomes.
// [any]
hash128 genome_content_hash(const genome *g);
