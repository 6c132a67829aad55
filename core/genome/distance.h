// distance.h - how far apart two genomes are (Stanley and Miikkulainen 2002, equation 1, for
// kernels).
#pragma once

#include "genome/genome.h"

// The section "evolution.distance" of an experiment.
typedef struct distance_config {
    double excess, disjoint, weights; // c1, c2, c3
} distance_config;

extern const hox_field distance_fields[];
extern const uint32_t distance_field_count;

// c1 E / N + c2 D / N + c3 W: E excess and D disjoint genes, N the larger number of genes, W the
// mean over matching edges of mean |difference| / sigma, biases included, at most 2 an edge;
// kernels of different shape count 1; 0 without a match. 0 for equal genomes, symmetric. [any]
double distance_between(const genome *a, const genome *b, const distance_config *config);
