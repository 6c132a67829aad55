// genome_fixture.h - genomes made by hand. Whatever fails ends the test.
#pragma once

#include "genome/genome.h"

#define SIZE(channels, height, width) ((map_size){(channels), (height), (width)})

// Nodes 0 and 1; the readout is the sum.
genome *genome_of(map_size input, map_size output);

void put_node(genome *g, uint32_t id, map_size size, uint32_t activation);

// Geometry by the rule "derived", enabled; weights and biases drawn from the innovation's stream.
// Borrowed until the next edge comes or goes.
genome_edge *put_edge(genome *g, uint64_t innovation, uint32_t from, uint32_t to);

// Nodes, edges, kernels bit for bit, readout; not the genome's own ids.
bool genome_is_same(const genome *a, const genome *b);
