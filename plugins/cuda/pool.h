// pool.h - a device's memory in blocks that are kept when they are given back, for taking one from
// the driver waits for all work on the device. Every block is entered in the host's ledger.
#pragma once

#include "cuda/device.h"

#include <pthread.h>

typedef struct cuda_block {
    CUdeviceptr address;
    uint64_t bytes;
    struct cuda_block *next; // of those kept
} cuda_block;

typedef struct cuda_pool {
    const hox_host *host;
    const cuda_device *device;
    pthread_mutex_t mutex; // guards all below
    cuda_block *kept;
    uint64_t in_use, cached, peak; // bytes; peak: most in use at once
} cuda_pool;

void cuda_pool_init(cuda_pool *p, const hox_host *host, const cuda_device *device);
void cuda_pool_deinit(cuda_pool *p); // all blocks have been given back; {0} too

// At least so many bytes, of any contents. What is kept goes to the driver before the answer is no.
// The context is current. Errors: OUT_OF_DEVICE_MEMORY with the bytes asked for and left,
// OUT_OF_HOST_MEMORY, those of cuda_check. [any]
hox_status cuda_pool_take(cuda_pool *p, uint64_t bytes, cuda_block **block,
                          hox_error *error) HOX_MUST_CHECK;
// No work on it is under way. Calls no driver. NULL too. [any]
void cuda_pool_give(cuda_pool *p, cuda_block *block);

// Gives kept blocks to the driver until so many bytes are; returns their number. The context is
// current. [any]
uint64_t cuda_pool_trim(cuda_pool *p, uint64_t bytes);
