#include "runtime/memory.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 };

size_t size_times(size_t a, size_t b) {
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

size_t size_plus(size_t a, size_t b) {
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

hox_status block_take(const hox_host *host, size_t bytes, void **block, hox_error *error) {
    *block = NULL;
    HOX_TRY(host->reserve(host, "cpu", bytes, error));
    if (bytes < SIZE_MAX - ALIGNMENT)
        *block = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (*block) return HOX_OK;
    host->release(host, "cpu", bytes);
    if (error && error->status == HOX_OK) error->bytes_requested = bytes;
    return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "no memory for %zu bytes", bytes);
}

void block_return(const hox_host *host, void *block, size_t bytes) {
    if (!block) return;
    free(block);
    host->release(host, "cpu", bytes);
}
