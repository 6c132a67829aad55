// benchmark.h - what all benchmarks do alike: the images they make up, the number they report.
#pragma once

#include <stddef.h>

// Values in -1 .. 1 that depend on their place alone and are easily made the same elsewhere: the
// upper 24 bits of i * 2654435761 modulo 2^32, over 2^23, less 1. [any]
void benchmark_pixels(float *pixels, size_t count);

// The value at place count / 2 of the sorted values; count is at least 1, no value is NaN. [any]
double benchmark_median(const double *values, size_t count);
