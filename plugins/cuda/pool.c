#include "cuda/pool.h"

#include "runtime/memory.h"

enum { GRANULE = 512, MOST_WASTE = 4 }; // bytes; a kept block may be a fourth larger than asked for

void cuda_pool_init(cuda_pool *p, const hox_host *host, const cuda_device *device) {
    *p = (cuda_pool){.host = host, .device = device};
    pthread_mutex_init(&p->mutex, NULL);
}

void cuda_pool_deinit(cuda_pool *p) {
    if (!p->host) return;
    cuda_pool_trim(p, UINT64_MAX);
    while (p->kept) { // what the driver did not take back just now
        cuda_block *one = p->kept;
        p->kept = one->next;
        CUDA_GIVE_BACK(p->device->driver.cuMemFree(one->address));
        p->host->release(p->host, p->device->address, one->bytes);
        block_return(p->host, one, sizeof *one);
    }
    pthread_mutex_destroy(&p->mutex);
    *p = (cuda_pool){0};
}

// ---- the driver ----

static uint64_t free_bytes(const cuda_pool *p) {
    size_t left = 0, total = 0;
    if (p->device->driver.cuMemGetInfo(&left, &total) != CUDA_SUCCESS) return 0;
    return left;
}

static hox_status ask_driver(const cuda_pool *p, cuda_block *block, hox_error *error) {
    const CUresult result = p->device->driver.cuMemAlloc(&block->address, block->bytes);
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        return cuda_check(&p->device->driver, result, "taking memory of the GPU", error);
    const uint64_t left = free_bytes(p);
    if (error && error->status == HOX_OK) {
        error->native_code = result;
        error->bytes_requested = block->bytes;
        error->bytes_available = left;
    }
    return hox_error_set(error, HOX_OUT_OF_DEVICE_MEMORY,
                         "out of memory on %s: %llu bytes needed, the driver has %llu left",
                         p->device->address, (unsigned long long)block->bytes,
                         (unsigned long long)left);
}

static hox_status make_block(const cuda_pool *p, uint64_t bytes, cuda_block **block,
                             hox_error *error) {
    const hox_host *host = p->host;
    void *made;
    HOX_TRY(block_take(host, sizeof **block, &made, error));
    cuda_block *one = made;
    *one = (cuda_block){.bytes = bytes};
    hox_status status = host->reserve(host, p->device->address, bytes, error);
    if (status == HOX_OK) {
        status = ask_driver(p, one, error);
        if (status != HOX_OK) host->release(host, p->device->address, bytes);
    }
    if (status == HOX_OK)
        *block = one;
    else
        block_return(host, made, sizeof *one);
    return status;
}

// ---- what is kept ----

// The smallest that is large enough and not much too large.
static cuda_block *take_kept(cuda_pool *p, uint64_t bytes) {
    cuda_block **best = NULL;
    for (cuda_block **at = &p->kept; *at; at = &(*at)->next) {
        const uint64_t size = (*at)->bytes;
        if (size < bytes || size - bytes > bytes / MOST_WASTE) continue;
        if (!best || size < (*best)->bytes) best = at;
    }
    if (!best) return NULL;
    cuda_block *taken = *best;
    *best = taken->next;
    p->cached -= taken->bytes;
    return taken;
}

// A block that the driver does not take back now stays kept.
static uint64_t trim(cuda_pool *p, uint64_t bytes) {
    uint64_t freed = 0;
    cuda_block **at = &p->kept;
    while (*at && freed < bytes) {
        cuda_block *one = *at;
        if (p->device->driver.cuMemFree(one->address) != CUDA_SUCCESS) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        freed += one->bytes;
        p->cached -= one->bytes;
        p->host->release(p->host, p->device->address, one->bytes);
        block_return(p->host, one, sizeof *one);
    }
    return freed;
}

uint64_t cuda_pool_trim(cuda_pool *p, uint64_t bytes) {
    pthread_mutex_lock(&p->mutex);
    const uint64_t freed = trim(p, bytes);
    pthread_mutex_unlock(&p->mutex);
    return freed;
}

// ---- taking and giving ----

// The first answer counts where there is nothing to give back for a second one.
static hox_status take(cuda_pool *p, uint64_t bytes, cuda_block **block, hox_error *error) {
    hox_error why = HOX_ERROR_INIT;
    *block = take_kept(p, bytes);
    if (*block) return HOX_OK;
    hox_status status = make_block(p, bytes, block, &why);
    if (status == HOX_OUT_OF_DEVICE_MEMORY && trim(p, UINT64_MAX) > 0)
        return make_block(p, bytes, block, error);
    return status == HOX_OK ? HOX_OK : hox_error_pass(error, status, &why);
}

hox_status cuda_pool_take(cuda_pool *p, uint64_t bytes, cuda_block **block, hox_error *error) {
    const uint64_t size = bytes > UINT64_MAX - GRANULE // which no ledger grants
                              ? UINT64_MAX
                              : (bytes + GRANULE - 1) / GRANULE * GRANULE;
    pthread_mutex_lock(&p->mutex);
    const hox_status status = take(p, size > 0 ? size : GRANULE, block, error);
    if (status == HOX_OK) {
        p->in_use += (*block)->bytes;
        if (p->in_use > p->peak) p->peak = p->in_use;
    }
    pthread_mutex_unlock(&p->mutex);
    return status;
}

void cuda_pool_give(cuda_pool *p, cuda_block *block) {
    if (!block) return;
    pthread_mutex_lock(&p->mutex);
    p->in_use -= block->bytes;
    p->cached += block->bytes;
    block->next = p->kept;
    p->kept = block;
    pthread_mutex_unlock(&p->mutex);
}
