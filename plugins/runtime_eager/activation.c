// activation.c - the activations and their derivatives as the definitions say; comparisons let NaN
// through.
#include "activation.h"

#include <hox/plan.h>
#include <math.h>

#define MAP_EACH(expression)                                                                       \
    for (size_t i = 0; i < count; i++) {                                                           \
        const float x = map[i];                                                                    \
        map[i] = (expression);                                                                     \
    }                                                                                              \
    break

static const float sqrt_half = 0.70710678F;

void activation_apply(uint32_t kind, float *map, size_t count) {
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

// sigmoid' = sigmoid(x) sigmoid(-x), even in x: nothing overflows and nothing cancels.
static float sigmoid_slope(float x) {
    const float e = expf(-fabsf(x));
    return e / ((1 + e) * (1 + e));
}

// Phi(x) + x phi(x)
static float gelu_slope(float x) {
    static const float phi_0 = 0.39894228F; // 1 / sqrt(2 pi)
    return 0.5F * erfcf(-sqrt_half * x) + x * phi_0 * expf(-0.5F * x * x);
}

static float silu_slope(float x) {
    return 1 / (1 + expf(-x)) + x * sigmoid_slope(x);
}

#define TIMES_EACH(slope)                                                                          \
    for (size_t i = 0; i < count; i++) {                                                           \
        const float x = sums[i];                                                                   \
        delta[i] *= (slope);                                                                       \
    }                                                                                              \
    break

void activation_backward(uint32_t kind, const float *sums, float *delta, size_t count) {
    switch (kind) {
        case HOX_ACTIVATION_RELU: TIMES_EACH(x <= 0 ? 0 : 1);
        case HOX_ACTIVATION_LEAKY_RELU: TIMES_EACH(x <= 0 ? 0.01F : 1);
        case HOX_ACTIVATION_TANH: TIMES_EACH(1 / (coshf(x) * coshf(x)));
        case HOX_ACTIVATION_SIGMOID: TIMES_EACH(sigmoid_slope(x));
        case HOX_ACTIVATION_GELU: TIMES_EACH(gelu_slope(x));
        case HOX_ACTIVATION_SILU: TIMES_EACH(silu_slope(x));
        default: break; // identity
    }
}
