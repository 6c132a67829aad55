#include "base/thread_pool.h"

#include "base/array.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct worker {
    thread_pool *pool;
    pthread_t thread;
    uint32_t lane;
} worker;

struct thread_pool {
    pthread_mutex_t mutex;
    pthread_cond_t started, finished;
    uint64_t round;        // guarded by mutex: grows with every run
    uint32_t active_count; // guarded by mutex: workers that have not finished this round
    bool is_ending;        // guarded by mutex
    void (*work)(void *context, uint64_t item, uint32_t lane);
    void *context;
    uint64_t item_count;
    atomic_uint_fast64_t next_item;
    uint32_t worker_count;
    worker workers[]; // lanes 1 ..
};

static void take_items(thread_pool *pool, uint32_t lane) {
    for (;;) {
        const uint64_t item = atomic_fetch_add(&pool->next_item, 1);
        if (item >= pool->item_count) return;
        pool->work(pool->context, item, lane);
    }
}

static void *worker_main(void *argument) {
    const worker *self = argument;
    thread_pool *pool = self->pool;
    uint64_t seen_round = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->round == seen_round && !pool->is_ending)
            pthread_cond_wait(&pool->started, &pool->mutex);
        if (pool->is_ending) break;
        seen_round = pool->round;
        pthread_mutex_unlock(&pool->mutex);
        take_items(pool, self->lane);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->active_count == 0) pthread_cond_signal(&pool->finished);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

hox_status thread_pool_create(uint32_t lane_count, thread_pool **out, hox_error *error) {
    assert(lane_count >= 1);
    *out = NULL;
    thread_pool *pool = array_create(1, sizeof *pool + (lane_count - 1) * sizeof(worker), error);
    if (!pool) return HOX_OUT_OF_HOST_MEMORY;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->started, NULL);
    pthread_cond_init(&pool->finished, NULL);
    for (uint32_t lane = 1; lane < lane_count; lane++) {
        worker *w = &pool->workers[lane - 1];
        *w = (worker){.pool = pool, .lane = lane};
        const int code = pthread_create(&w->thread, NULL, worker_main, w);
        if (code != 0) {
            thread_pool_destroy(pool);
            return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "cannot start thread %u of %u: %s",
                                 lane, lane_count, strerror(code));
        }
        pool->worker_count++;
    }
    *out = pool;
    return HOX_OK;
}

void thread_pool_destroy(thread_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->mutex);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->started);
    pthread_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < pool->worker_count; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->started);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

uint32_t thread_pool_lane_count(const thread_pool *pool) {
    return pool->worker_count + 1;
}

void thread_pool_run(thread_pool *pool, uint64_t item_count,
                     void (*work)(void *context, uint64_t item, uint32_t lane), void *context) {
    pthread_mutex_lock(&pool->mutex);
    pool->work = work;
    pool->context = context;
    pool->item_count = item_count;
    atomic_store(&pool->next_item, 0);
    pool->active_count = pool->worker_count;
    pool->round++;
    pthread_cond_broadcast(&pool->started);
    pthread_mutex_unlock(&pool->mutex);

    take_items(pool, 0);

    pthread_mutex_lock(&pool->mutex);
    while (pool->active_count > 0)
        pthread_cond_wait(&pool->finished, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}
