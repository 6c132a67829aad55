// samples.h - images on the CPU as the kernels read them: blocks of 16, [block][channel][row]
// [column][16 images].
#pragma once

#include "cpu/kernels.h"
#include "runtime/job.h"

#include <hox/runtime.h>

struct hox_samples {
    const hox_runtime_api *half; // runtime/either.h
    const hox_host *host;
    size_t bytes;
    job_images set;
    size_t pixels; // of one image, all channels
    float *images; // whole blocks; what lies behind the last image is 0
};

// As in hox_runtime_api.
hox_status cpu_samples_create(const hox_runtime_api *half, const hox_host *host, uint64_t count,
                              uint32_t channels, uint32_t height, uint32_t width,
                              hox_samples **samples, hox_error *error) HOX_MUST_CHECK;
hox_status cpu_samples_write(hox_samples *samples, uint64_t first, uint64_t count,
                             const float *images, hox_error *error);
void cpu_samples_destroy(hox_samples *samples);

static inline const float *cpu_samples_block(const hox_samples *s, uint64_t block) {
    return s->images + block * s->pixels * CPU_BLOCK;
}
