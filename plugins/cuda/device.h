// device.h - NVIDIA GPUs as a runtime's devices, by the driver's numbers: "cuda:1" is the second of
// those that CUDA_VISIBLE_DEVICES lets the driver see. Ones too old for the kernels are left out.
#pragma once

#include "cuda/driver.h"

#include <hox/runtime.h>

typedef struct cuda_device {
    cuda_driver driver;
    CUdevice handle;
    CUcontext context; // the primary one, which other code in the process may use as well
    char address[32];  // "cuda:0"
} cuda_device;

// As in hox_runtime_api; why there are fewer than there might be goes to the log. [main]
hox_status cuda_device_count(const hox_host *host, uint32_t *count, hox_error *error);
hox_status cuda_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                            hox_error *error);

// Retains the device's primary context. Errors: INVALID_ARGUMENT, those of cuda_check. [main]
hox_status cuda_device_open(cuda_device *d, uint32_t device, hox_error *error) HOX_MUST_CHECK;
void cuda_device_close(cuda_device *d); // {0} too

// What the driver says of one of its numbers. Errors: those of cuda_check. [any]
hox_status cuda_device_attribute(const cuda_device *d, CUdevice_attribute attribute,
                                 uint32_t *value, hox_error *error) HOX_MUST_CHECK;

// Makes the context the thread's current one; leave restores the one before. [any]
hox_status cuda_device_enter(const cuda_device *d, hox_error *error) HOX_MUST_CHECK;
void cuda_device_leave(const cuda_device *d);
