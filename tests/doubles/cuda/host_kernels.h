// host_kernels.h - the CUDA kernels by name, built for the CPU. Orders and divergences: fibres.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct host_kernel {
    const char *name;
    size_t argument_bytes; // of its only argument, a struct
    void (*run)(const void *argument, const uint32_t grid[3], uint32_t threads);
} host_kernel;

extern const host_kernel host_kernels[];
extern const size_t host_kernel_count;

const host_kernel *host_kernel_find(const char *name); // NULL: there is none

#ifdef __cplusplus
}
#endif
