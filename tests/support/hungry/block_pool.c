// block_pool.c - see block_pool.h.
#include "block_pool.h"

#include <stdlib.h>

enum { PAGE_BYTES = 4096 };

void block_pool_init(block_pool *pool, const hox_host *host, int keeps) {
    *pool = (block_pool){.host = host, .keeps = keeps};
    pthread_mutex_init(&pool->mutex, NULL);
}

void block_pool_deinit(block_pool *pool) {
    block_pool_trim(pool, UINT64_MAX);
    pthread_mutex_destroy(&pool->mutex);
}

static hox_status create_block(const hox_host *host, uint64_t bytes, block **created,
                               hox_error *error) {
    HOX_TRY(host->reserve(host, "cpu", bytes, error));
    block *b = malloc(sizeof *b + bytes);
    if (!b) {
        host->release(host, "cpu", bytes);
        return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "no memory for a block");
    }
    *b = (block){.bytes = bytes};
    for (uint64_t i = 0; i < bytes; i += PAGE_BYTES)
        ((volatile char *)b->memory)[i] = 1;
    *created = b;
    return HOX_OK;
}

static void destroy_block(const hox_host *host, block *b) {
    host->release(host, "cpu", b->bytes);
    free(b);
}

hox_status block_pool_take(block_pool *pool, uint64_t bytes, block **taken, hox_error *error) {
    pthread_mutex_lock(&pool->mutex);
    block **at = &pool->first;
    while (*at && (*at)->bytes < bytes)
        at = &(*at)->next;
    *taken = *at;
    if (*at) *at = (*at)->next;
    pthread_mutex_unlock(&pool->mutex);
    return *taken ? HOX_OK : create_block(pool->host, bytes, taken, error);
}

void block_pool_return(block_pool *pool, block *b) {
    if (!b) return;
    if (!pool->keeps) {
        destroy_block(pool->host, b);
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    b->next = pool->first;
    pool->first = b;
    pthread_mutex_unlock(&pool->mutex);
}

uint64_t block_pool_bytes(block_pool *pool) {
    uint64_t bytes = 0;
    pthread_mutex_lock(&pool->mutex);
    for (const block *b = pool->first; b; b = b->next)
        bytes += b->bytes;
    pthread_mutex_unlock(&pool->mutex);
    return bytes;
}

uint64_t block_pool_trim(block_pool *pool, uint64_t bytes) {
    uint64_t given = 0;
    pthread_mutex_lock(&pool->mutex);
    while (pool->first && given < bytes) {
        block *b = pool->first;
        pool->first = b->next;
        given += b->bytes;
        destroy_block(pool->host, b);
    }
    pthread_mutex_unlock(&pool->mutex);
    return given;
}
