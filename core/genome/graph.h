// graph.h - the enabled edges of a genome as adjacency lists, and the questions asked of them.
// Every answer takes time linear in nodes and edges (the order: times a logarithm), and no
// recursion.
#pragma once

#include "genome/genome.h"

// Nodes by index into genome->nodes. Edges whose ends are not both nodes are left out.
typedef struct genome_graph {
    size_t node_count;
    uint32_t *out_begin;          // node_count + 1
    uint32_t *out_node;           // targets of node i: out_begin[i] .. out_begin[i + 1] - 1
    uint32_t *in_begin, *in_node; // likewise its sources
} genome_graph;

hox_status graph_init(genome_graph *graph, const genome *g, hox_error *error) HOX_MUST_CHECK;
void graph_deinit(genome_graph *graph);

// reached[i] = a path leads from node start to node i (forward), or from i to start; start itself
// counts.
hox_status graph_reach(const genome_graph *graph, size_t start, bool is_forward, bool *reached,
                       hox_error *error) HOX_MUST_CHECK;

// Indices in topological order, ties by index, of the nodes in keep (NULL = all). *order_count is
// less than the number kept where a cycle is among them. Kahn 1962 with a heap.
hox_status graph_order(const genome_graph *graph, const bool *keep, uint32_t *order,
                       size_t *order_count, hox_error *error) HOX_MUST_CHECK;

// Whether an enabled path leads from node id from to node id to; every node reaches itself. A new
// edge a -> b closes a cycle exactly where a path leads from b to a.
hox_status graph_has_path(const genome *g, uint32_t from, uint32_t to, bool *has_path,
                          hox_error *error) HOX_MUST_CHECK;
