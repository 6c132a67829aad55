// block_pool.h - blocks of the system's memory, entered in the ledger and touched, so that the
// system has really given them; who returns one may leave it for the next.
#pragma once

#include <hox/host.h>
#include <pthread.h>

typedef struct block {
    uint64_t bytes;     // that the ledger knows of: all but this head
    struct block *next; // in the pool
    char memory[];
} block;

typedef struct block_pool {
    const hox_host *host;
    int keeps;             // what is returned, until trimmed
    pthread_mutex_t mutex; // guards first
    block *first;
} block_pool;

void block_pool_init(block_pool *pool, const hox_host *host, int keeps);
void block_pool_deinit(block_pool *pool);

// At least so many bytes; of those kept, the first that is large enough. Errors: out of memory.
// [any]
hox_status block_pool_take(block_pool *pool, uint64_t bytes, block **taken, hox_error *error);
void block_pool_return(block_pool *pool, block *b); // takes NULL [any]

uint64_t block_pool_bytes(block_pool *pool); // kept, and used by nobody [any]
// Gives back at least so many of them, where there are; returns their number. [any]
uint64_t block_pool_trim(block_pool *pool, uint64_t bytes);
