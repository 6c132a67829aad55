// host_kernels.cpp - the text that nvcc compiles, compiled by g++, and a table of its kernels.
#include "host_kernels.h"

#include "shim.h"

#include "cuda/kernels.cu"

namespace {

template <typename Argument, void (*KERNEL)(Argument)>
void run(const void *argument, const uint32_t grid[3], uint32_t threads) {
    const auto thread = [](const void *own) { KERNEL(*static_cast<const Argument *>(own)); };
    fibres_run(grid, threads, thread, argument);
}

} // namespace

#define ROW(name, argument)                           {#name, sizeof(argument), run<argument, name>},
#define CONVOLUTION_ROW(name, channels, pixels, kind) ROW(name, cuda_convolution)

const host_kernel host_kernels[] = {CUDA_CONVOLUTION_MAP(CONVOLUTION_ROW)
                                        CUDA_PLAIN_KERNEL_MAP(ROW)};
const size_t host_kernel_count = sizeof host_kernels / sizeof host_kernels[0];

const host_kernel *host_kernel_find(const char *name) {
    for (const host_kernel &kernel : host_kernels)
        if (!strcmp(kernel.name, name)) return &kernel;
    return nullptr;
}
