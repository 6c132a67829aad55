// activation.h - what a node does to the sum of its edges.
#pragma once

#include <stddef.h>
#include <stdint.h>

// kind: HOX_ACTIVATION_*. In place; what is not a number stays so.
void activation_apply(uint32_t kind, float *map, size_t count);
