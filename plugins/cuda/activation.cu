// activation.cu - the curved activations of a node, value by value; NaN stays NaN.

// x Phi(x); erfc keeps the digits that 1 + erf cancels below 0
__device__ float gelu(float x) {
    return 0.5F * x * erfcf(-0.70710678F * x);
}

extern "C" __global__ void __launch_bounds__(CUDA_THREADS) activate(cuda_activation a) {
    const uint64_t i = (uint64_t)blockIdx.x * CUDA_THREADS + threadIdx.x;
    if (i >= a.value_count) return;
    const float x = a.map[i];
    float value = x;
    switch (a.kind) {
        case HOX_ACTIVATION_TANH: value = tanhf(x); break;
        case HOX_ACTIVATION_SIGMOID: value = 1 / (1 + expf(-x)); break;
        case HOX_ACTIVATION_GELU: value = gelu(x); break;
        case HOX_ACTIVATION_SILU: value = x / (1 + expf(-x)); break;
    }
    a.map[i] = value;
}
