// gpu.h - the runtimes opened on the first GPU, or "eager" on the CPU as their judge; for programs
// that end where something fails.
#pragma once

#include "host_double.h"

#include <hox/plugin.h>
#include <stdbool.h>

// Those with a half for GPUs; eager first, for the others have to give its bits.
enum { GPU_RUNTIMES = 3 };
extern const char *const gpu_runtimes[GPU_RUNTIMES];

typedef struct opened_device {
    const char *name; // of the runtime
    host_double host;
    const hox_runtime_api *api;
    void *options;
    hox_runtime *runtime;
    hox_device_info info;
    hox_runtime_caps caps;
} opened_device;

// Ends the process with the message where there is an error.
void must(hox_status status, const hox_error *error);
void must_be(bool is_true, const char *what);
void *must_allocate(size_t count, size_t size); // zeros

// False, with a line that says why, where there is no GPU. The struct stays where it is.
bool device_open_gpu(opened_device *d, const char *runtime, uint32_t lane_count);
void device_open_cpu(opened_device *d);
// {0} too; nothing may stay in the ledger, and no warning have been given: one means that a runtime
// fell back on something slower.
void device_close(opened_device *d);

size_t image_values(const hox_plan *plan);
hox_samples *device_samples(const opened_device *d, const hox_plan *plan, const float *images,
                            uint64_t count);
hox_runner *device_runner(const opened_device *d, uint32_t lane, const hox_plan *plan,
                          uint64_t capacity);

typedef struct device_genome {
    hox_runner *runner; // may stand in several
    hox_weights weights;
    float *logits; // out: one an image
} device_genome;

// All images, so many at once, through all genomes, as many at once as the runtime takes. Safe on
// lanes beside each other.
void device_run(const opened_device *d, uint32_t lane, const device_genome *genomes, size_t count,
                const hox_samples *samples, uint64_t image_count, uint64_t at_once);
