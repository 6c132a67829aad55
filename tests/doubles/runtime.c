// runtime.c - a runtime that lies as its row in CMakeLists.txt says; accepted, it has no device.
#include "double.h"

static hox_status device_count(const hox_host *host, uint32_t *count, hox_error *error) {
    (void)host;
    (void)error;
    double_called();
    *count = 0;
    return HOX_OK;
}

static hox_status device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                              hox_error *error) {
    (void)host;
    (void)device;
    (void)info;
    return double_does_nothing(error);
}

static hox_status open(const hox_host *host, uint32_t device, uint32_t lane_count,
                       const void *options, hox_runtime **runtime, hox_error *error) {
    (void)host;
    (void)device;
    (void)lane_count;
    (void)options;
    *runtime = NULL;
    return double_does_nothing(error);
}

static void close(hox_runtime *runtime) {
    (void)runtime;
    double_called();
}

static void caps(const hox_runtime *runtime, hox_runtime_caps *facts) {
    (void)runtime;
    (void)facts;
    double_called();
}

static hox_status check_plan(const hox_runtime *runtime, const hox_plan *plan, uint32_t precision,
                             hox_error *error) {
    (void)runtime;
    (void)plan;
    (void)precision;
    return double_does_nothing(error);
}

static hox_status samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                 uint32_t height, uint32_t width, hox_samples **samples,
                                 hox_error *error) {
    (void)runtime;
    (void)count;
    (void)channels;
    (void)height;
    (void)width;
    *samples = NULL;
    return double_does_nothing(error);
}

static hox_status samples_write(hox_samples *samples, uint64_t first, uint64_t count,
                                const float *images, hox_error *error) {
    (void)samples;
    (void)first;
    (void)count;
    (void)images;
    return double_does_nothing(error);
}

static void samples_destroy(hox_samples *samples) {
    (void)samples;
    double_called();
}

static hox_status prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                          const hox_prepare_options *options, hox_runner **runner,
                          hox_error *error) {
    (void)runtime;
    (void)lane;
    (void)plan;
    (void)options;
    *runner = NULL;
    return double_does_nothing(error);
}

static void release(hox_runner *runner) {
    (void)runner;
    double_called();
}

static hox_status evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                           uint32_t job_count, hox_error *error) {
    (void)runtime;
    (void)lane;
    (void)jobs;
    (void)job_count;
    return double_does_nothing(error);
}

static const struct {
    hox_runtime_api known;
    void (*later[2])(void);
} table = {
    .known = {.struct_size = sizeof(hox_runtime_api),
              .device_count = device_count,
              .device_info = device_info,
              .open = open,
              .close = close,
              .caps = caps,
              .check_plan = check_plan,
              .samples_create = samples_create,
              .samples_write = samples_write,
              .samples_destroy = samples_destroy,
              .prepare = prepare,
              .release = release,
              .evaluate = evaluate,
              TABLE_LIES},
    .later = {double_trap, double_trap},
};

DOUBLE(HOX_KIND_RUNTIME, .runtime = &table.known);
