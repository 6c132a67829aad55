// absent.c - the CUDA half of a runtime where hox was built without the CUDA toolkit.
#include "runtime/either.h"

static hox_status absent_device_count(const hox_host *host, uint32_t *count, hox_error *error) {
    (void)error;
    host->log(host, HOX_LOG_INFO, "built without CUDA");
    *count = 0;
    return HOX_OK;
}

static hox_status no_device(hox_error *error) {
    return hox_error_set(error, HOX_INVALID_ARGUMENT, "no device: built without CUDA");
}

static hox_status absent_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                                     hox_error *error) {
    (void)host, (void)device, (void)info;
    return no_device(error);
}

static hox_status absent_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                              const void *options, hox_runtime **runtime, hox_error *error) {
    (void)host, (void)device, (void)lane_count, (void)options;
    *runtime = NULL;
    return no_device(error);
}

// Nothing is ever opened, so nothing else is called.
const hox_runtime_api runtime_on_cuda = {
    .struct_size = sizeof runtime_on_cuda,
    .device_count = absent_device_count,
    .device_info = absent_device_info,
    .open = absent_open,
};
