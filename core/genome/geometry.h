// geometry.h - kernel, stride and padding of an edge, derived from the sizes of its two nodes.
#pragma once

#include "genome/genome_config.h"

#include <stdbool.h>

typedef struct map_size {
    uint32_t channels, height, width; // pixels
} map_size;

typedef struct axis_geometry {
    uint32_t kernel, stride, padding; // pixels
} axis_geometry;

typedef struct geometry {
    axis_geometry rows, columns;
} geometry;

// By the rules of the experiment, per axis, the first that fits: same3 (equal sizes: k = 3, p = 1),
// stride2 (target = ceil(source / 2): k = 3, s = 2, p = 1), derived:
//   source >= target: k = source - target + 1, p = 0, s = 1
//   source <  target: p = ceil((target - source) / 2), k = source + 2 p - target + 1, s = 1
geometry geometry_between(map_size source, map_size target, const genome_config *rules);

// target = floor((source + 2 padding - kernel) / stride) + 1 on both axes.
bool geometry_fits(geometry g, map_size source, map_size target);

uint32_t geometry_largest_kernel(geometry g); // of the two sides
bool map_size_equals(map_size a, map_size b);
