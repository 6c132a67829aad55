// shim.h - what the kernels' text takes from nvcc, for g++: included in front of cuda/kernels.cu.
#pragma once

#include "fibres.h"

#include <math.h>
#include <string.h>

// clang-format off
#define __global__
#define __device__ static
#define __launch_bounds__(...)
#define __shared__ static FIBRES_SHARED
#define UNROLL     _Pragma("GCC unroll 16")
#define ROLLED
#define SHARED_AT_LAUNCH(type, name) type *const name = (type *)fibres_shared_at_launch()

struct alignas(16) float4 {
    float x, y, z, w;
};

static inline void __syncthreads() {
    fibres_barrier();
}

static inline float __shfl_xor_sync(uint32_t, float value, uint32_t mask) {
    return fibres_exchange(value, mask);
}

static inline uint32_t __float_as_uint(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float __uint_as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
