// runtime_minimal.c - a runtime that finds no device: every function of the table, and every
// optional member of the constant.
#include <hox/plugin.h>

static hox_status nothing_here(hox_error *error) {
    return hox_error_set(error, HOX_UNSUPPORTED, "%s", "a plugin for the headers' own test");
}

static hox_status minimal_device_count(const hox_host *host, uint32_t *count, hox_error *error) {
    (void)error;
    host->log(host, HOX_LOG_INFO, "no device");
    *count = 0;
    return HOX_OK;
}

static hox_status minimal_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                                      hox_error *error) {
    (void)host;
    (void)device;
    (void)info;
    return nothing_here(error);
}

static hox_status minimal_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                               const void *options, hox_runtime **runtime, hox_error *error) {
    (void)host;
    (void)device;
    (void)lane_count;
    (void)options;
    *runtime = NULL;
    HOX_TRY(nothing_here(error));
    return HOX_OK;
}

static void minimal_close(hox_runtime *runtime) {
    (void)runtime;
}

static void minimal_caps(const hox_runtime *runtime, hox_runtime_caps *caps) {
    (void)runtime;
    caps->precisions = HOX_PRECISION_FP32;
    caps->batch_multiple = 1;
    if (HOX_HAS(caps, max_group)) caps->max_group = 1;
}

static hox_status minimal_check_plan(const hox_runtime *runtime, const hox_plan *plan,
                                     uint32_t precision, hox_error *error) {
    (void)runtime;
    (void)plan;
    (void)precision;
    return nothing_here(error);
}

static hox_status minimal_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                         uint32_t height, uint32_t width, hox_samples **samples,
                                         hox_error *error) {
    (void)runtime;
    (void)count;
    (void)channels;
    (void)height;
    (void)width;
    *samples = NULL;
    return nothing_here(error);
}

static hox_status minimal_samples_write(hox_samples *samples, uint64_t first, uint64_t count,
                                        const float *images, hox_error *error) {
    (void)samples;
    (void)first;
    (void)count;
    (void)images;
    return nothing_here(error);
}

static void minimal_samples_destroy(hox_samples *samples) {
    (void)samples;
}

static hox_status minimal_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                                  const hox_prepare_options *options, hox_runner **runner,
                                  hox_error *error) {
    (void)runtime;
    (void)lane;
    (void)plan;
    (void)options;
    *runner = NULL;
    return nothing_here(error);
}

static void minimal_release(hox_runner *runner) {
    (void)runner;
}

static hox_status minimal_evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                                   uint32_t job_count, hox_error *error) {
    (void)runtime;
    (void)lane;
    (void)jobs;
    (void)job_count;
    return nothing_here(error);
}

static const hox_runtime_api minimal_api = {.struct_size = sizeof minimal_api,
                                            .device_count = minimal_device_count,
                                            .device_info = minimal_device_info,
                                            .open = minimal_open,
                                            .close = minimal_close,
                                            .caps = minimal_caps,
                                            .check_plan = minimal_check_plan,
                                            .samples_create = minimal_samples_create,
                                            .samples_write = minimal_samples_write,
                                            .samples_destroy = minimal_samples_destroy,
                                            .prepare = minimal_prepare,
                                            .release = minimal_release,
                                            .evaluate = minimal_evaluate};

HOX_RUNTIME_PLUGIN(&minimal_api, .name = "minimal", .version = "1.0.0",
                   .summary = "for the headers' own test", .licence = "Apache-2.0");
