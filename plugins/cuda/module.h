// module.h - the kernels of this build on one device.
#pragma once

#include "cuda/device.h"
#include "cuda/kernels.h"

// CUDA_KERNEL_<name>
typedef enum cuda_kernel {
#define X(name, ...) CUDA_KERNEL_##name,
    CUDA_CONVOLUTION_MAP(X) CUDA_PLAIN_KERNEL_MAP(X)
#undef X
        CUDA_KERNEL_COUNT
} cuda_kernel;

const char *cuda_kernel_name(cuda_kernel kernel); // [any]

typedef struct cuda_module {
    const cuda_driver *driver;
    CUmodule module;
    CUfunction functions[CUDA_KERNEL_COUNT];
} cuda_module;

// The context is current in all of these.

// Errors: DEVICE also where the kernels hold nothing for this device, those of cuda_check; deinit
// all the same. [main]
hox_status cuda_module_init(cuda_module *m, const cuda_driver *driver,
                            hox_error *error) HOX_MUST_CHECK;
void cuda_module_deinit(cuda_module *m); // {0} too

// Lets the kernel have so many bytes of shared memory at a launch, and two blocks of it a
// processor. Errors: those of cuda_check. [main]
hox_status cuda_allow_shared(const cuda_module *m, cuda_kernel kernel, uint32_t bytes,
                             hox_error *error) HOX_MUST_CHECK;

typedef struct cuda_grid {
    uint64_t block_count;
    uint32_t threads;      // in each
    uint32_t shared_bytes; // for each, beside what the kernel has of its own
} cuda_grid;

// In the stream's order. argument: the kernel's struct, read before it returns. Errors: those of
// cuda_check. [any]
hox_status cuda_launch_grid(const cuda_module *m, CUstream stream, cuda_kernel kernel,
                            cuda_grid grid, const void *argument, hox_error *error) HOX_MUST_CHECK;
// block_count blocks of CUDA_THREADS threads. [any]
hox_status cuda_launch(const cuda_module *m, CUstream stream, cuda_kernel kernel,
                       uint64_t block_count, const void *argument, hox_error *error) HOX_MUST_CHECK;
