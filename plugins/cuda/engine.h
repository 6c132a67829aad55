// engine.h - what a CUDA runtime works with: a device, its pool, the kernels, and a stream for each
// lane.
#pragma once

#include "cuda/lane.h"
#include "cuda/module.h"
#include "cuda/pool.h"
#include "runtime/job.h"

typedef struct cuda_engine {
    const hox_host *host;
    cuda_device device;
    cuda_pool pool;
    cuda_module module;
    uint32_t lane_count;
    cuda_lane *lanes;
} cuda_engine;

// It stays where it is. Errors: those of opening a device, of the kernels, of lanes; then deinit
// all the same. [main]
hox_status cuda_engine_init(cuda_engine *e, const hox_host *host, uint32_t device,
                            uint32_t lane_count, bool is_pinned, hox_error *error) HOX_MUST_CHECK;
void cuda_engine_deinit(cuda_engine *e); // {0} too

// As in hox_runtime_api. [any]
hox_status cuda_engine_memory(cuda_engine *e, hox_memory *memory, hox_error *error);
uint64_t cuda_engine_trim(cuda_engine *e, uint64_t bytes);

// An address of the device, as kernels' arguments have it.
static inline float *cuda_floats(CUdeviceptr address) {
    return (float *)(uintptr_t)address;
}

// Images to whole blocks of 32.
static inline uint64_t cuda_round_up(uint64_t images) {
    return images / CUDA_IMAGES * CUDA_IMAGES + (images % CUDA_IMAGES ? CUDA_IMAGES : 0);
}
