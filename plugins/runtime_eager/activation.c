// activation.c - the activations as their definitions say; comparisons let NaN through.
#include "activation.h"

#include <hox/plan.h>
#include <math.h>

#define MAP_EACH(expression)                                                                       \
    for (size_t i = 0; i < count; i++) {                                                           \
        const float x = map[i];                                                                    \
        map[i] = (expression);                                                                     \
    }                                                                                              \
    break

void activation_apply(uint32_t kind, float *map, size_t count) {
    static const float sqrt_half = 0.70710678F;
    switch (kind) {
        case HOX_ACTIVATION_RELU: MAP_EACH(x < 0 ? 0 : x);
        case HOX_ACTIVATION_LEAKY_RELU: MAP_EACH(x < 0 ? 0.01F * x : x);
        case HOX_ACTIVATION_TANH: MAP_EACH(tanhf(x));
        case HOX_ACTIVATION_SIGMOID: MAP_EACH(1 / (1 + expf(-x)));
        // x Phi(x); erfc keeps the digits that 1 + erf cancels below 0
        case HOX_ACTIVATION_GELU: MAP_EACH(0.5F * x * erfcf(-sqrt_half * x));
        case HOX_ACTIVATION_SILU: MAP_EACH(x / (1 + expf(-x)));
        default: break; // identity
    }
}
