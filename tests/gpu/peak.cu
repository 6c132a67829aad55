// peak.cu - what the device can do at best: fp32 multiply-adds on registers alone, and copying. One
// line each: "fma_tflops 59.1", "copy_gbs 4310" (bytes read and written). nvcc -O3 -arch=native.
#include <cstdio>
#include <cstdlib>

enum { CHAINS = 16, ROUNDS = 4096, THREADS = 256, TRIES = 7 };

static void must(cudaError_t result) {
    if (result == cudaSuccess) return;
    fprintf(stderr, "peak: %s\n", cudaGetErrorString(result));
    exit(1);
}

__global__ void multiply_add(float *out, float factor, float term) {
    float sums[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        sums[i] = (float)(threadIdx.x + i);
#pragma unroll 1
    for (int round = 0; round < ROUNDS; round++)
#pragma unroll
        for (int i = 0; i < CHAINS; i++)
            sums[i] = fmaf(sums[i], factor, term);
    float sum = 0;
    for (int i = 0; i < CHAINS; i++)
        sum += sums[i];
    if (sum == 0.125F) out[threadIdx.x] = sum; // never, but the compiler cannot know
}

__global__ void copy(const float4 *from, float4 *to, size_t count) {
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        to[i] = from[i];
}

// Seconds of the best try.
template <typename Launch> static float best(Launch launch) {
    cudaEvent_t begin, end;
    float least = 1e30F;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    for (int i = 0; i <= TRIES; i++) {
        float ms;
        must(cudaEventRecord(begin));
        launch();
        must(cudaEventRecord(end));
        must(cudaGetLastError());
        must(cudaEventSynchronize(end));
        must(cudaEventElapsedTime(&ms, begin, end));
        if (i > 0 && ms < least) least = ms; // the first one warms up
    }
    return least * 1e-3F;
}

int main() {
    cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0));
    const int blocks = device.multiProcessorCount * 8 * 8; // 2048 threads a processor, 8 times over
    float4 *from, *to;
    const size_t share = device.totalGlobalMem / 8, most = 1U << 30;
    const size_t bytes = share < most ? share : most;
    must(cudaMalloc((void **)&from, bytes));
    must(cudaMalloc((void **)&to, bytes));
    must(cudaMemset(from, 0, bytes));
    const double flops = 2.0 * CHAINS * ROUNDS * THREADS * blocks;
    const float fma = best([&] { multiply_add<<<blocks, THREADS>>>((float *)to, 0.5F, 1.0F); });
    const float move = best([&] { copy<<<blocks, THREADS>>>(from, to, bytes / sizeof *from); });
    printf("fma_tflops %.2f\n", flops / fma * 1e-12);
    printf("copy_gbs %.0f\n", 2.0 * (double)bytes / move * 1e-9);
    return 0;
}
