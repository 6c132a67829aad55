// job.h - what a runner was prepared for, what images there are, and whether a job fits both.
#pragma once

#include <hox/runtime.h>

typedef struct job_images {
    uint64_t count;
    uint32_t channels, height, width;
} job_images;

typedef struct job_capacity {
    uint32_t lane, purpose;           // HOX_PURPOSE_*
    uint32_t images;                  // most images in one job
    uint32_t channels, height, width; // of the input
    uint64_t weight_count;
} job_capacity;

// Whether images first .. first + count - 1 are there. Errors: INVALID_ARGUMENT. [any]
hox_status job_check_range(const job_images *images, uint64_t first, uint64_t count,
                           hox_error *error) HOX_MUST_CHECK;

// Whether a runner can be prepared at all, and what it is then for. last_purpose: the runtime has
// HOX_PURPOSE_* up to this one. Errors: INVALID_ARGUMENT, UNSUPPORTED. [lane]
hox_status job_check_prepare(uint32_t lane, uint32_t lane_count, uint32_t last_purpose,
                             const hox_plan *plan, const hox_prepare_options *options,
                             job_capacity *capacity, hox_error *error) HOX_MUST_CHECK;

// The verdict is also in job->error. Errors: INVALID_ARGUMENT. [lane]
hox_status job_check(const hox_job *job, uint32_t lane, const job_capacity *capacity,
                     const job_images *images) HOX_MUST_CHECK;

// Whether a forward of training fits the runner. Errors: INVALID_ARGUMENT. [lane]
hox_status job_check_training(const job_capacity *capacity, const hox_weights *weights,
                              const job_images *images, const uint64_t *indices, uint64_t count,
                              hox_error *error) HOX_MUST_CHECK;
