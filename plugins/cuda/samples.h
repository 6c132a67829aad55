// samples.h - images on a GPU, laid out as kernels.h says.
#pragma once

#include "cuda/engine.h"

struct hox_samples {
    const hox_runtime_api *half; // runtime_on_cuda
    cuda_engine *engine;
    job_images set;
    uint32_t pixels; // of an image, all channels
    cuda_block *block;
};

// As in hox_runtime_api. [main]
hox_status cuda_samples_create(cuda_engine *engine, uint64_t count, uint32_t channels,
                               uint32_t height, uint32_t width, hox_samples **samples,
                               hox_error *error);
hox_status cuda_samples_write(hox_samples *samples, uint64_t first, uint64_t count,
                              const float *images, hox_error *error);
void cuda_samples_destroy(hox_samples *samples);
