// activation.cu - the curved activations of a node, value by value; NaN stays NaN.

// x Phi(x); erfc keeps the digits that 1 + erf cancels below 0
__device__ float gelu(float x) {
    return 0.5F * x * erfcf(-0.70710678F * x);
}

__device__ float curve(uint32_t kind, float x) {
    switch (kind) {
        case HOX_ACTIVATION_TANH: return tanhf(x);
        case HOX_ACTIVATION_SIGMOID: return 1 / (1 + expf(-x));
        case HOX_ACTIVATION_GELU: return gelu(x);
        case HOX_ACTIVATION_SILU: return x / (1 + expf(-x));
    }
    return x;
}

extern "C" __global__ void __launch_bounds__(CUDA_THREADS) activate(cuda_activation a) {
    const uint64_t i = (uint64_t)blockIdx.x * CUDA_THREADS + threadIdx.x;
    if (i < a.value_count) a.map[i] = curve(a.kind, a.map[i]);
}
