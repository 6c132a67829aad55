// samples.h - images on a GPU, laid out as kernels.h says.
#pragma once

#include "cuda/engine.h"

struct hox_samples {
    const hox_runtime_api *half; // runtime_on_cuda
    cuda_engine *engine;
    job_images set;
    uint32_t pixels;       // of an image, all channels
    uint32_t side_by_side; // images: CUDA_IMAGES or CUDA_TILE
    cuda_block *block;
};

// As in hox_runtime_api. side_by_side: CUDA_TILE for run_genomes, else CUDA_IMAGES. [main]
hox_status cuda_samples_create(cuda_engine *engine, uint32_t side_by_side, uint64_t count,
                               uint32_t channels, uint32_t height, uint32_t width,
                               hox_samples **samples, hox_error *error);
hox_status cuda_samples_write(hox_samples *samples, uint64_t first, uint64_t count,
                              const float *images, hox_error *error);
void cuda_samples_destroy(hox_samples *samples);
