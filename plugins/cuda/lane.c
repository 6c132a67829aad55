#include "cuda/lane.h"

#include "runtime/memory.h"

#include <string.h>

// ---- life ----

static hox_status take_pinned(cuda_lane *l, hox_error *error) {
    const cuda_driver *driver = &l->device->driver;
    HOX_TRY(l->host->reserve(l->host, "cpu", CUDA_STAGING_BYTES, error));
    const CUresult result = driver->cuMemHostAlloc(&l->staging, CUDA_STAGING_BYTES, 0);
    if (result == CUDA_SUCCESS) return HOX_OK;
    l->staging = NULL;
    l->host->release(l->host, "cpu", CUDA_STAGING_BYTES);
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        return cuda_check(driver, result, "taking page-locked memory", error);
    if (error && error->status == HOX_OK) error->native_code = result;
    return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "no page-locked memory for %d bytes",
                         CUDA_STAGING_BYTES);
}

hox_status cuda_lane_init(cuda_lane *l, const hox_host *host, const cuda_device *device,
                          bool is_pinned, hox_error *error) {
    *l = (cuda_lane){.host = host, .device = device, .is_pinned = is_pinned};
    HOX_TRY(cuda_check(&device->driver,
                       device->driver.cuStreamCreate(&l->stream, CU_STREAM_NON_BLOCKING),
                       "making a stream", error));
    return is_pinned ? take_pinned(l, error)
                     : block_take(host, CUDA_STAGING_BYTES, &l->staging, error);
}

void cuda_lane_deinit(cuda_lane *l) {
    if (l->stream) {
        (void)cuda_lane_settle(l, HOX_OK);
        CUDA_GIVE_BACK(l->device->driver.cuStreamDestroy(l->stream));
    }
    if (l->staging && l->is_pinned) {
        CUDA_GIVE_BACK(l->device->driver.cuMemFreeHost(l->staging));
        l->host->release(l->host, "cpu", CUDA_STAGING_BYTES);
    } else if (l->staging) {
        block_return(l->host, l->staging, CUDA_STAGING_BYTES);
    }
    *l = (cuda_lane){0};
}

// ---- waiting ----

hox_status cuda_lane_wait(cuda_lane *l, hox_error *error) {
    HOX_TRY(cuda_check(&l->device->driver, l->device->driver.cuStreamSynchronize(l->stream),
                       "waiting for the GPU", error));
    l->staging_used = 0;
    return HOX_OK;
}

hox_status cuda_lane_settle(cuda_lane *l, hox_status status) {
    CUresult result = l->device->driver.cuStreamSynchronize(l->stream);
    if (cuda_is_worth_another(result)) // it may have told of the failure
        result = l->device->driver.cuStreamSynchronize(l->stream);
    l->staging_used = 0;
    return result == CUDA_SUCCESS ? status : HOX_DEVICE_LOST;
}

// ---- copies ----

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

// A part of the staging memory, as large as fits and at most bytes.
static hox_status reserve_staging(cuda_lane *l, size_t bytes, char **part, size_t *part_bytes,
                                  hox_error *error) {
    if (l->staging_used == CUDA_STAGING_BYTES) HOX_TRY(cuda_lane_wait(l, error));
    *part = (char *)l->staging + l->staging_used;
    *part_bytes = smaller(bytes, CUDA_STAGING_BYTES - l->staging_used);
    l->staging_used += *part_bytes;
    return HOX_OK;
}

hox_status cuda_lane_upload(cuda_lane *l, CUdeviceptr to, const void *values, size_t bytes,
                            hox_error *error) {
    const char *from = values;
    while (bytes > 0) {
        char *part;
        size_t part_bytes;
        HOX_TRY(reserve_staging(l, bytes, &part, &part_bytes, error));
        memcpy(part, from, part_bytes);
        HOX_TRY(cuda_check(&l->device->driver,
                           l->device->driver.cuMemcpyHtoDAsync(to, part, part_bytes, l->stream),
                           "copying to the GPU", error));
        from += part_bytes;
        to += part_bytes;
        bytes -= part_bytes;
    }
    return HOX_OK;
}

hox_status cuda_lane_download(cuda_lane *l, void *values, CUdeviceptr from, size_t bytes,
                              hox_error *error) {
    char *to = values;
    while (bytes > 0) {
        char *part;
        size_t part_bytes;
        HOX_TRY(reserve_staging(l, bytes, &part, &part_bytes, error));
        HOX_TRY(cuda_check(&l->device->driver,
                           l->device->driver.cuMemcpyDtoHAsync(part, from, part_bytes, l->stream),
                           "copying from the GPU", error));
        HOX_TRY(cuda_lane_wait(l, error));
        memcpy(to, part, part_bytes);
        to += part_bytes;
        from += part_bytes;
        bytes -= part_bytes;
    }
    return HOX_OK;
}
