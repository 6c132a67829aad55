// loaded.h - a genome from a file, or a child of one, with all that a runtime wants to know of it.
#pragma once

#include "plan/value_hash.h"

typedef struct loaded {
    genome *genome;
    plan plan;
    plan_weights weights;
} loaded;

// Weights that the file does not have are drawn from the seed. Ends the process where it fails.
void loaded_read(loaded *l, const char *path, uint64_t seed);
// Differs from its parent in one or two kernels and perhaps an edge or an activation.
void loaded_breed(loaded *child, const loaded *parent, uint32_t slot);
void loaded_drop(loaded *l);
