// gpu.h - runtime "eager" opened on the first GPU, or on the CPU as its judge; for programs that
// end where something fails.
#pragma once

#include "host_double.h"

#include <hox/plugin.h>
#include <stdbool.h>

typedef struct opened_device {
    host_double host;
    const hox_runtime_api *api;
    void *options;
    hox_runtime *runtime;
    hox_device_info info;
} opened_device;

// Ends the process with the message where there is an error.
void must(hox_status status, const hox_error *error);
void must_be(bool is_true, const char *what);
void *must_allocate(size_t count, size_t size); // zeros

// False, with a line that says why, where there is no GPU. The struct stays where it is.
bool device_open_gpu(opened_device *d, uint32_t lane_count);
void device_open_cpu(opened_device *d);
void device_close(opened_device *d); // {0} too; nothing may stay in the ledger

size_t image_values(const hox_plan *plan);
hox_samples *device_samples(const opened_device *d, const hox_plan *plan, const float *images,
                            uint64_t count);
hox_runner *device_runner(const opened_device *d, uint32_t lane, const hox_plan *plan,
                          uint64_t capacity);
// All images, so many at once. Safe on lanes beside each other.
void device_run(const opened_device *d, uint32_t lane, hox_runner *runner,
                const hox_weights *weights, const hox_samples *samples, uint64_t count,
                uint64_t at_once, float *logits);
