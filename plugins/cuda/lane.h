// lane.h - a lane's stream, and the host memory its copies go through.
#pragma once

#include "cuda/device.h"

#include <stdbool.h>
#include <stddef.h>

enum { CUDA_STAGING_BYTES = 4 << 20 };

typedef struct cuda_lane {
    const hox_host *host;
    const cuda_device *device;
    CUstream stream;
    void *staging;       // CUDA_STAGING_BYTES
    bool is_pinned;      // staging is page-locked
    size_t staging_used; // bytes that a copy under way may still read
} cuda_lane;

// The context is current in all of these.

// Errors: OUT_OF_HOST_MEMORY, those of cuda_check; deinit all the same. [main]
hox_status cuda_lane_init(cuda_lane *l, const hox_host *host, const cuda_device *device,
                          bool is_pinned, hox_error *error) HOX_MUST_CHECK;
void cuda_lane_deinit(cuda_lane *l); // {0} too

// From the host, in the stream's order; values may change as soon as it returns. Errors: those of
// cuda_check. [lane]
hox_status cuda_lane_upload(cuda_lane *l, CUdeviceptr to, const void *values, size_t bytes,
                            hox_error *error) HOX_MUST_CHECK;
// To the host, and waits for it and all before it. Errors: those of cuda_check. [lane]
hox_status cuda_lane_download(cuda_lane *l, void *values, CUdeviceptr from, size_t bytes,
                              hox_error *error) HOX_MUST_CHECK;
// Waits for all work. Errors: those of cuda_check, of work before it too. [lane]
hox_status cuda_lane_wait(cuda_lane *l, hox_error *error) HOX_MUST_CHECK;
// After a failure: when it returns no work is under way, as far as the driver can be had to.
// Returns status, or DEVICE_LOST where the device does not answer any more. [lane]
hox_status cuda_lane_settle(cuda_lane *l, hox_status status);
