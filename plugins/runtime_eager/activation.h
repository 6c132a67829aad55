// activation.h - what a node does to the sum of its edges.
#pragma once

#include <stddef.h>
#include <stdint.h>

// kind: HOX_ACTIVATION_*. In place; what is not a number stays so.
void activation_apply(uint32_t kind, float *map, size_t count);

// Multiplies delta by the derivatives at sums, which activation_apply has not seen yet; at a kink
// by that of the left side.
void activation_backward(uint32_t kind, const float *sums, float *delta, size_t count);
