#include "cuda/device.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SCORE = 100, LEAST_CAPABILITY = 75 }; // before any CPU; 7.5

// ---- what there is ----

typedef struct description {
    CUdevice handle;
    int ordinal, major, minor, processor_count;
    size_t total_bytes;
    char name[40], bus[16];
} description;

static hox_status describe(const cuda_driver *driver, int ordinal, description *d,
                           hox_error *error) {
    static const char what[] = "asking for a GPU's properties";
    *d = (description){.ordinal = ordinal, .name = "NVIDIA GPU"};
    HOX_TRY(cuda_check(driver, driver->cuDeviceGet(&d->handle, ordinal), what, error));
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } rows[] = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &d->major},
                {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &d->minor},
                {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &d->processor_count}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        HOX_TRY(cuda_check(
            driver, driver->cuDeviceGetAttribute(rows[i].value, rows[i].attribute, d->handle), what,
            error));
    // For people alone.
    (void)driver->cuDeviceGetName(d->name, sizeof d->name, d->handle);
    (void)driver->cuDeviceGetPCIBusId(d->bus, sizeof d->bus, d->handle);
    return cuda_check(driver, driver->cuDeviceTotalMem(&d->total_bytes, d->handle), what, error);
}

static bool is_supported(const description *d) {
    return 10 * d->major + d->minor >= LEAST_CAPABILITY;
}

static void say(const hox_host *host, int ordinal, const char *what) {
    char line[HOX_ERROR_MESSAGE_SIZE + 20];
    snprintf(line, sizeof line, "cuda:%d: %s", ordinal, what);
    host->log(host, HOX_LOG_WARNING, line);
}

static void say_unsupported(const hox_host *host, const description *d) {
    char what[160];
    snprintf(what, sizeof what,
             "GPU not supported: %s is of compute capability %d.%d, 7.5 is the least", d->name,
             d->major, d->minor);
    say(host, d->ordinal, what);
}

// Whether this one can be used. host: hears why it cannot; may be NULL. failure: of the first that
// did not answer.
static bool look_at(const cuda_driver *driver, const hox_host *host, int ordinal, description *d,
                    hox_error *failure) {
    hox_error why = HOX_ERROR_INIT;
    if (describe(driver, ordinal, d, &why) != HOX_OK) {
        if (host) say(host, ordinal, why.message);
        (void)hox_error_pass(failure, why.status, &why);
        return false;
    }
    if (!is_supported(d) && host) say_unsupported(host, d);
    return is_supported(d);
}

// The usable device of this number, counted from 0. host: hears of the others; may be NULL. seen:
// how many there were up to it, at most device + 1. error: also of devices that did not answer.
static hox_status find(const cuda_driver *driver, const hox_host *host, uint32_t device,
                       description *d, uint32_t *seen, hox_error *error) {
    int count = 0;
    *seen = 0;
    HOX_TRY(cuda_check(driver, driver->cuDeviceGetCount(&count), "counting GPUs", error));
    for (int i = 0; i < count && *seen <= device; i++)
        *seen += look_at(driver, host, i, d, error);
    return HOX_OK;
}

hox_status cuda_device_count(const hox_host *host, uint32_t *count, hox_error *error) {
    cuda_driver driver;
    hox_error why = HOX_ERROR_INIT;
    description last;
    (void)error;
    *count = 0;
    hox_status status = cuda_driver_open(&driver, &why);
    if (status == HOX_OK) status = find(&driver, host, UINT32_MAX - 1, &last, count, &why);
    if (status != HOX_OK) // a machine without GPUs is nothing to warn of
        host->log(host, status == HOX_NOT_FOUND ? HOX_LOG_INFO : HOX_LOG_WARNING, why.message);
    return HOX_OK;
}

static hox_status find_one(cuda_driver *driver, uint32_t device, description *d, hox_error *error) {
    uint32_t seen;
    hox_error why = HOX_ERROR_INIT;
    HOX_TRY(cuda_driver_open(driver, error));
    const hox_status status = find(driver, NULL, device, d, &seen, &why);
    if (status == HOX_OK && seen == device + 1) return HOX_OK;
    if (why.status != HOX_OK) return hox_error_pass(error, why.status, &why);
    return hox_error_set(error, HOX_INVALID_ARGUMENT, "there is no GPU %u: there are %u", device,
                         seen);
}

hox_status cuda_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                            hox_error *error) {
    (void)host;
    cuda_driver driver;
    description d;
    HOX_TRY(find_one(&driver, device, &d, error));
    *info = (hox_device_info){.struct_size = sizeof *info,
                              .kind = HOX_DEVICE_CUDA,
                              .score = (uint32_t)(SCORE + d.processor_count),
                              .total_bytes = d.total_bytes};
    snprintf(info->name, sizeof info->name, "%s", d.name);
    snprintf(info->address, sizeof info->address, "cuda:%d", d.ordinal);
    snprintf(info->instruction_set, sizeof info->instruction_set, "sm_%d%d", d.major, d.minor);
    snprintf(info->bus, sizeof info->bus, "%s", d.bus);
    return HOX_OK;
}

// ---- one of them ----

hox_status cuda_device_open(cuda_device *d, uint32_t device, hox_error *error) {
    description found;
    CUcontext context = NULL;
    *d = (cuda_device){0};
    HOX_TRY(find_one(&d->driver, device, &found, error));
    d->handle = found.handle;
    snprintf(d->address, sizeof d->address, "cuda:%d", found.ordinal);
    HOX_TRY(cuda_check(&d->driver, d->driver.cuDevicePrimaryCtxRetain(&context, d->handle),
                       "opening the GPU", error));
    d->context = context;
    return HOX_OK;
}

void cuda_device_close(cuda_device *d) {
    if (d->context) CUDA_GIVE_BACK(d->driver.cuDevicePrimaryCtxRelease(d->handle));
    *d = (cuda_device){0};
}

hox_status cuda_device_attribute(const cuda_device *d, CUdevice_attribute attribute,
                                 uint32_t *value, hox_error *error) {
    int answer = 0;
    HOX_TRY(cuda_check(&d->driver, d->driver.cuDeviceGetAttribute(&answer, attribute, d->handle),
                       "asking for a GPU's properties", error));
    *value = (uint32_t)answer;
    return HOX_OK;
}

hox_status cuda_device_enter(const cuda_device *d, hox_error *error) {
    return cuda_check(&d->driver, d->driver.cuCtxPushCurrent(d->context),
                      "making the GPU's context current", error);
}

void cuda_device_leave(const cuda_device *d) {
    CUcontext left;
    if (d->driver.cuCtxPopCurrent(&left) == CUDA_SUCCESS) return;
    (void)d->driver.cuCtxPopCurrent(&left); // whatever it said: the thread is not ours
}
