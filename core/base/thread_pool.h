// thread_pool.h - lanes: threads that share out the items of one call. The caller's thread is lane
// 0.
#pragma once

#include <hox/status.h>

typedef struct thread_pool thread_pool;

hox_status thread_pool_create(uint32_t lane_count, thread_pool **pool,
                              hox_error *error) HOX_MUST_CHECK; // [main]
void thread_pool_destroy(thread_pool *pool);
uint32_t thread_pool_lane_count(const thread_pool *pool);

// Calls work(context, item, lane) once for each item below item_count; a free lane takes the lowest
// item left. Returns when all are done. [main]
void thread_pool_run(thread_pool *pool, uint64_t item_count,
                     void (*work)(void *context, uint64_t item, uint32_t lane), void *context);
