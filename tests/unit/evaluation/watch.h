// watch.h - stands between an evaluation and its runtime, and writes down what is asked of it. For
// one evaluation and one lane at a time.
#pragma once

#include <hox/plugin.h>
#include <stddef.h>

enum { WATCH_PREPARES = 512, WATCH_RUNNERS = 64 };

typedef struct watched_prepare {
    uint32_t node_count, capacity;
    hox_status status;
} watched_prepare;

typedef struct watched_runner {
    const hox_runner *runner;
    uint32_t capacity;
} watched_runner;

// So far.
typedef struct watch {
    const hox_runtime_api *api; // of the watched
    hox_runtime *runtime;       // the one that is open
    watched_prepare prepares[WATCH_PREPARES];
    size_t prepare_count;                  // those that failed too
    watched_runner runners[WATCH_RUNNERS]; // that live
    size_t runner_count;
    uint64_t releases, trims;
    uint64_t jobs, most_images; // in a job
    uint64_t oversized_jobs;    // larger than their runner's capacity
} watch;

extern watch watched;

// The plugin with a watch over it, set to zero.
const hox_plugin *watch_plugin(const hox_plugin *plugin);
