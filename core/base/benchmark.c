#include "base/benchmark.h"

#include <math.h>
#include <stdint.h>

void benchmark_pixels(float *pixels, size_t count) {
    for (size_t i = 0; i < count; i++)
        pixels[i] = (float)((uint32_t)(i * 2654435761U) >> 8) / 8388608.0F - 1.0F;
}

// Rounds are few, so each value is held against all others, and nothing is sorted.
double benchmark_median(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t below = 0, equal = 0;
        for (size_t k = 0; k < count; k++) {
            below += values[k] < values[i];
            equal += values[k] == values[i];
        }
        if (below <= count / 2 && below + equal > count / 2) return values[i];
    }
    return NAN;
}
