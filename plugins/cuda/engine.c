#include "cuda/engine.h"

#include "runtime/memory.h"

#include <string.h>

// ---- life ----

static hox_status open_lanes(cuda_engine *e, uint32_t count, bool is_pinned, hox_error *error) {
    void *lanes;
    HOX_TRY(block_take(e->host, count * sizeof *e->lanes, &lanes, error));
    memset(lanes, 0, count * sizeof *e->lanes);
    e->lanes = lanes;
    e->lane_count = count;
    for (uint32_t i = 0; i < count; i++)
        HOX_TRY(cuda_lane_init(&e->lanes[i], e->host, &e->device, is_pinned, error));
    return HOX_OK;
}

hox_status cuda_engine_init(cuda_engine *e, const hox_host *host, uint32_t device,
                            uint32_t lane_count, bool is_pinned, hox_error *error) {
    *e = (cuda_engine){.host = host};
    HOX_TRY(cuda_device_open(&e->device, device, error));
    HOX_TRY(cuda_device_enter(&e->device, error));
    cuda_pool_init(&e->pool, host, &e->device);
    hox_status status = cuda_module_init(&e->module, &e->device.driver, error);
    if (status == HOX_OK) status = open_lanes(e, lane_count, is_pinned, error);
    cuda_device_leave(&e->device);
    return status;
}

void cuda_engine_deinit(cuda_engine *e) {
    if (!e->device.context) return;
    // Without it nothing can be given to the driver, but the ledger must still hear of it.
    const bool has_entered = cuda_device_enter(&e->device, NULL) == HOX_OK;
    for (uint32_t i = 0; i < e->lane_count; i++)
        cuda_lane_deinit(&e->lanes[i]);
    block_return(e->host, e->lanes, e->lane_count * sizeof *e->lanes);
    cuda_pool_deinit(&e->pool);
    cuda_module_deinit(&e->module);
    if (has_entered) cuda_device_leave(&e->device);
    cuda_device_close(&e->device);
    *e = (cuda_engine){0};
}

// ---- memory ----

hox_status cuda_engine_memory(cuda_engine *e, hox_memory *memory, hox_error *error) {
    size_t left = 0, total = 0;
    HOX_TRY(cuda_device_enter(&e->device, error));
    const hox_status status =
        cuda_check(&e->device.driver, e->device.driver.cuMemGetInfo(&left, &total),
                   "asking for the GPU's memory", error);
    cuda_device_leave(&e->device);
    if (status != HOX_OK) return status;
    pthread_mutex_lock(&e->pool.mutex);
    *memory = (hox_memory){.struct_size = sizeof *memory,
                           .total_bytes = total,
                           .free_bytes = left,
                           .cached_bytes = e->pool.cached,
                           .in_use_bytes = e->pool.in_use,
                           .peak_bytes = e->pool.peak};
    pthread_mutex_unlock(&e->pool.mutex);
    return HOX_OK;
}

uint64_t cuda_engine_trim(cuda_engine *e, uint64_t bytes) {
    if (cuda_device_enter(&e->device, NULL) != HOX_OK) return 0;
    const uint64_t freed = cuda_pool_trim(&e->pool, bytes);
    cuda_device_leave(&e->device);
    return freed;
}
