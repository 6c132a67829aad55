// fault.c - see fault.h.
#include "fault.h"

fault faulty;

enum { DEVICE_BYTES = 1 << 30 };

static hox_status try_call(uint32_t kind, hox_error *error) {
    if (!(faulty.kinds & kind)) return HOX_OK;
    const uint64_t call = atomic_fetch_add(&faulty.count, 1) + 1;
    const bool fails =
        faulty.at > 0 && (call == faulty.at || (call > faulty.at && faulty.fails_for_good));
    if (!fails) return HOX_OK;
    if (error) error->native_code = FAULT_CODE;
    return hox_error_set(error, faulty.status, "call %d fails", (int)call);
}

static hox_status fault_device_count(const hox_host *host, uint32_t *count, hox_error *error) {
    (void)host, (void)error;
    *count = 1;
    return HOX_OK;
}

static hox_status fault_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                                    hox_error *error) {
    HOX_TRY(faulty.api->device_info(host, device, info, error));
    info->kind = HOX_DEVICE_CUDA;
    info->total_bytes = DEVICE_BYTES;
    snprintf(info->address, sizeof info->address, "cuda:0");
    return HOX_OK;
}

static hox_status fault_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                       uint32_t height, uint32_t width, hox_samples **samples,
                                       hox_error *error) {
    *samples = NULL;
    HOX_TRY(try_call(FAULT_SAMPLES_CREATE, error));
    return faulty.api->samples_create(runtime, count, channels, height, width, samples, error);
}

static hox_status fault_samples_write(hox_samples *samples, uint64_t first, uint64_t count,
                                      const float *images, hox_error *error) {
    HOX_TRY(try_call(FAULT_SAMPLES_WRITE, error));
    return faulty.api->samples_write(samples, first, count, images, error);
}

static hox_status fault_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                                const hox_prepare_options *options, hox_runner **runner,
                                hox_error *error) {
    *runner = NULL;
    HOX_TRY(try_call(FAULT_PREPARE, error));
    return faulty.api->prepare(runtime, lane, plan, options, runner, error);
}

static hox_status fault_evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                                 uint32_t job_count, hox_error *error) {
    HOX_TRY(try_call(FAULT_EVALUATE, error));
    return faulty.api->evaluate(runtime, lane, jobs, job_count, error);
}

static hox_status fault_memory(const hox_runtime *runtime, hox_memory *memory, hox_error *error) {
    (void)runtime;
    HOX_TRY(try_call(FAULT_MEMORY, error));
    *memory = (hox_memory){
        .struct_size = sizeof *memory, .total_bytes = DEVICE_BYTES, .free_bytes = DEVICE_BYTES};
    return HOX_OK;
}

static hox_status fault_train_forward(hox_runner *runner, const hox_weights *weights,
                                      const hox_samples *samples, const uint64_t *indices,
                                      uint64_t count, float *logits, hox_error *error) {
    HOX_TRY(try_call(FAULT_TRAIN, error));
    return faulty.api->train_forward(runner, weights, samples, indices, count, logits, error);
}

static hox_status fault_train_backward(hox_runner *runner, const float *dlogits, float *gradient,
                                       hox_error *error) {
    HOX_TRY(try_call(FAULT_TRAIN, error));
    return faulty.api->train_backward(runner, dlogits, gradient, error);
}

void fault_set(uint32_t kinds, hox_status status, uint64_t at, bool fails_for_good) {
    faulty.kinds = kinds;
    faulty.status = status;
    faulty.at = at;
    faulty.fails_for_good = fails_for_good;
    faulty.count = 0;
}

const hox_plugin *fault_plugin(const hox_plugin *plugin) {
    static hox_plugin over;
    static hox_runtime_api api;
    faulty.api = plugin->runtime;
    fault_set(FAULT_ALL, HOX_OK, 0, false);
    api = *plugin->runtime;
    api.device_count = fault_device_count;
    api.device_info = fault_device_info;
    api.samples_create = fault_samples_create;
    api.samples_write = fault_samples_write;
    api.prepare = fault_prepare;
    api.evaluate = fault_evaluate;
    api.memory = fault_memory;
    api.train_forward = fault_train_forward;
    api.train_backward = fault_train_backward;
    over = *plugin;
    over.runtime = &api;
    return &over;
}
