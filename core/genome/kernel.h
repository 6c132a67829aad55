// kernel.h - the weights of one edge: immutable once shared, counted by reference.
#pragma once

#include "base/rng.h"
#include "genome/geometry.h"

#include <hox/status.h>
#include <stdatomic.h>

typedef struct kernel {
    atomic_uint_fast32_t reference_count;
    uint32_t target_channels, source_channels, height, width;
    float values[]; // weights [target][source][height][width], then bias [target]
} kernel;

// Floats of a kernel: weights alone, and with the biases.
uint64_t kernel_weight_count(const kernel *k);
uint64_t kernel_value_count(const kernel *k);

bool kernel_has_shape_of(const kernel *a, const kernel *b);

// sqrt(2 / (Cin kh kw)), the standard deviation of a fresh weight; He et al., ICCV 2015,
// equation 10.
double kernel_sigma(const kernel *k);

// All zero, one reference. NULL and OUT_OF_HOST_MEMORY without memory.
kernel *kernel_create(map_size source, map_size target, geometry g, hox_error *error);
// Weights N(0, (scale sigma)^2), bias 0; scale 0 draws nothing.
kernel *kernel_draw(map_size source, map_size target, geometry g, double scale, rng *r,
                    hox_error *error);
kernel *kernel_copy(const kernel *k, hox_error *error); // for changing, before it is shared

kernel *kernel_retain(kernel *k);
void kernel_release(kernel *k); // takes NULL
