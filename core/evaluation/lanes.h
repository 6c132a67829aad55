// lanes.h - runs genomes through the runtime, a thread a lane: many in one call or one by one, each
// lane with its runner cache; what happens where memory runs out (SPEC 3).
#pragma once

#include "base/thread_pool.h"
#include "evaluation/device_memory.h"
#include "evaluation/job_queue.h"
#include "evaluation/memory_event.h"

#include <pthread.h>

typedef struct lane_worker {
    runner_cache cache;
    task **tasks;      // of the call it makes: most_jobs each
    hox_job *jobs;     // likewise
    hox_job **calls;   // likewise: what the runtime gets
    hox_error *errors; // likewise
    uint64_t seen;     // guarded: releases of idle runners that were asked for and done
    bool is_waiting;   // guarded: holds no runner, waits for the others to have released theirs
} lane_worker;

typedef struct lanes {
    const hox_runtime_api *api; // borrowed, as is runtime
    hox_runtime *runtime;
    device_memory memory;
    const log_sink *log; // borrowed; may be NULL
    memory_listener listener;
    thread_pool *pool;
    lane_worker *items; // one per thread of the pool
    uint32_t count;
    uint32_t most_jobs;      // in one call
    uint64_t batch_multiple; // images

    pthread_mutex_t mutex; // guards all below, what lane and task say, and job queues
    pthread_cond_t changed;
    vram_controller controller;
    uint64_t largest;     // most images at once in this generation
    uint64_t requests;    // to release idle runners
    uint32_t parked;      // lanes without work
    bool is_lost;         // the device
    hox_error lost_error; // what was said then
} lanes;

typedef struct lanes_setup {
    device_memory memory;
    vram_settings settings;
    uint32_t lane_count;
    uint32_t most_jobs;      // in one call, at least 1
    uint64_t batch_multiple; // images, at least 1
    uint32_t precision;      // HOX_PRECISION_*
    const log_sink *log;
    memory_listener listener;
} lanes_setup;

// Borrows what setup points to. Errors: OUT_OF_HOST_MEMORY; then deinit all the same. [main]
hox_status lanes_init(lanes *l, const lanes_setup *setup, hox_error *error) HOX_MUST_CHECK;
void lanes_deinit(lanes *l); // {0} too

// Images at once now, for a split of so many: B rounded down to the runtime's multiple. [any]
uint64_t lanes_chunk(lanes *l, uint64_t split_count);
// The same for a batch other than B.
uint64_t lanes_chunk_of(const lanes *l, uint64_t batch, uint64_t split_count);

// Genomes over the images first .. queue.end - 1 of a split, which lie at the front of samples.
typedef struct lane_pass {
    lanes *lanes;
    job_queue queue;
    const hox_samples *samples;
    uint64_t first;
    uint64_t split_count;
} lane_pass;

// Runs all jobs of the pass. A genome that fails is over and has its reason; one that memory does
// not hold is set aside. [main]
void lanes_run(lane_pass *p);

// Runs one genome over the pass's images, chunk at once, on this thread, with no second try.
// Errors: the runtime's. [main]
hox_status lanes_run_alone(const lane_pass *p, task *t, uint64_t chunk,
                           hox_error *error) HOX_MUST_CHECK;

// While the lanes rest. [main]
void lanes_release_idle(lanes *l);
runner_statistics lanes_statistics(const lanes *l, uint64_t *runner_count); // summed

// To the log and the listener. [any]
void lanes_tell(const lanes *l, const memory_event *event);

bool lanes_is_memory(hox_status status); // out of memory, of whichever side
