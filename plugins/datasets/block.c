// block.c - see block.h.
#include "block.h"

#include <stdlib.h>

hox_status take_block(const hox_host *host, uint64_t bytes, void **block, hox_error *error) {
    HOX_TRY(host->reserve(host, "cpu", bytes, error));
    void *taken = malloc(bytes);
    if (taken) {
        *block = taken;
        return HOX_OK;
    }
    host->release(host, "cpu", bytes);
    return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "no memory for %llu bytes",
                         (unsigned long long)bytes);
}

void return_block(const hox_host *host, void *block, uint64_t bytes) {
    if (!block) return;
    free(block);
    host->release(host, "cpu", bytes);
}
