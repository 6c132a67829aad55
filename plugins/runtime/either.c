#include "runtime/either.h"

static const hox_runtime_api *half_of(const void *made) {
    return *(const hox_runtime_api *const *)made;
}

// The half that has the device, which becomes that half's own number.
static const hox_runtime_api *half_with(uint32_t *device) {
    if (*device == 0) return &runtime_on_cpu;
    --*device;
    return &runtime_on_cuda;
}

static hox_status lacks_training(hox_error *error) {
    return hox_error_set(error, HOX_UNSUPPORTED, "training is not supported on this device");
}

// ---- devices ----

static hox_status either_device_count(const hox_host *host, uint32_t *count, hox_error *error) {
    uint32_t cpus = 0, gpus = 0;
    HOX_TRY(runtime_on_cpu.device_count(host, &cpus, error));
    HOX_TRY(runtime_on_cuda.device_count(host, &gpus, error));
    *count = cpus + gpus;
    return HOX_OK;
}

static hox_status either_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                                     hox_error *error) {
    const hox_runtime_api *half = half_with(&device);
    return half->device_info(host, device, info, error);
}

static hox_status either_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                              const void *options, hox_runtime **runtime, hox_error *error) {
    const hox_runtime_api *half = half_with(&device);
    return half->open(host, device, lane_count, options, runtime, error);
}

static void either_close(hox_runtime *runtime) {
    if (runtime) half_of(runtime)->close(runtime);
}

// ---- a runtime ----

static void either_caps(const hox_runtime *runtime, hox_runtime_caps *caps) {
    half_of(runtime)->caps(runtime, caps);
}

static hox_status either_check_plan(const hox_runtime *runtime, const hox_plan *plan,
                                    uint32_t precision, hox_error *error) {
    return half_of(runtime)->check_plan(runtime, plan, precision, error);
}

// Without one the host asks the system, for which no number here counts.
static hox_status either_memory(const hox_runtime *runtime, hox_memory *memory, hox_error *error) {
    const hox_runtime_api *half = half_of(runtime);
    *memory = (hox_memory){.struct_size = sizeof *memory};
    return half->memory ? half->memory(runtime, memory, error) : HOX_OK;
}

static uint64_t either_trim(hox_runtime *runtime, uint64_t bytes) {
    const hox_runtime_api *half = half_of(runtime);
    return half->trim ? half->trim(runtime, bytes) : 0;
}

static hox_status either_estimate(const hox_runtime *runtime, const hox_plan *plan,
                                  uint32_t precision, hox_estimate *estimate, hox_error *error) {
    return half_of(runtime)->estimate(runtime, plan, precision, estimate, error);
}

// ---- samples ----

static hox_status either_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                        uint32_t height, uint32_t width, hox_samples **samples,
                                        hox_error *error) {
    return half_of(runtime)->samples_create(runtime, count, channels, height, width, samples,
                                            error);
}

static hox_status either_samples_write(hox_samples *samples, uint64_t first, uint64_t count,
                                       const float *images, hox_error *error) {
    return half_of(samples)->samples_write(samples, first, count, images, error);
}

static void either_samples_destroy(hox_samples *samples) {
    if (samples) half_of(samples)->samples_destroy(samples);
}

// ---- runners ----

static hox_status either_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                                 const hox_prepare_options *options, hox_runner **runner,
                                 hox_error *error) {
    return half_of(runtime)->prepare(runtime, lane, plan, options, runner, error);
}

static void either_release(hox_runner *runner) {
    if (runner) half_of(runner)->release(runner);
}

static hox_status either_evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                                  uint32_t job_count, hox_error *error) {
    return half_of(runtime)->evaluate(runtime, lane, jobs, job_count, error);
}

static hox_status either_train_forward(hox_runner *runner, const hox_weights *weights,
                                       const hox_samples *samples, const uint64_t *indices,
                                       uint64_t count, float *logits, hox_error *error) {
    const hox_runtime_api *half = half_of(runner);
    if (!half->train_forward) return lacks_training(error);
    return half->train_forward(runner, weights, samples, indices, count, logits, error);
}

static hox_status either_train_backward(hox_runner *runner, const float *dlogits, float *gradient,
                                        hox_error *error) {
    const hox_runtime_api *half = half_of(runner);
    if (!half->train_backward) return lacks_training(error);
    return half->train_backward(runner, dlogits, gradient, error);
}

const hox_runtime_api runtime_on_either = {
    .struct_size = sizeof runtime_on_either,
    .device_count = either_device_count,
    .device_info = either_device_info,
    .open = either_open,
    .close = either_close,
    .caps = either_caps,
    .check_plan = either_check_plan,
    .samples_create = either_samples_create,
    .samples_write = either_samples_write,
    .samples_destroy = either_samples_destroy,
    .prepare = either_prepare,
    .release = either_release,
    .evaluate = either_evaluate,
    .memory = either_memory,
    .trim = either_trim,
    .estimate = either_estimate,
    .train_forward = either_train_forward,
    .train_backward = either_train_backward,
};
