// runner_cache.h - the prepared structures of one lane (SPEC 4). Runners hold no weights, so a
// child that differs in weights alone finds its parent's. Every call: the lane's thread, or the
// main one while the lanes rest.
#pragma once

#include <hox/runtime.h>
#include <stdbool.h>

typedef struct runner_statistics {
    uint64_t hits, prepares, evictions; // since the lane began
    uint64_t bytes;                     // of all runners there are
} runner_statistics;

typedef struct cached_runner {
    uint64_t structure_hash[2];
    uint64_t capacity; // images
    uint64_t bytes;
    uint64_t last_use; // the cache's clock
    hox_runner *runner;
    bool is_pinned; // in use
    bool is_living; // a living genome has this structure
} cached_runner;

typedef struct runner_cache {
    const hox_runtime_api *api; // borrowed, as is runtime
    hox_runtime *runtime;
    uint32_t lane, precision;
    cached_runner *items;
    size_t count, item_capacity;
    uint64_t bound; // bytes
    uint64_t clock;
    runner_statistics statistics;
} runner_cache;

// Empty; nothing is bounded yet.
void runner_cache_init(runner_cache *c, const hox_runtime_api *api, hox_runtime *runtime,
                       uint32_t lane, uint32_t precision);
void runner_cache_deinit(runner_cache *c); // releases all

// What a runner must be able to do, and what it takes.
typedef struct runner_demand {
    const hox_plan *plan;
    uint32_t capacity;      // images
    uint64_t most_capacity; // one that is prepared for more images than this is out of date
    uint64_t bytes;         // for one more runner
} runner_demand;

// The runner of that structure, prepared where there is none; pinned, until runner_cache_unpin.
// Makes room within the bound first: out of date, then of no living genome, then least recently
// used. Pinned ones stay, so the bound gives way to them. Errors: what prepare says,
// OUT_OF_HOST_MEMORY. On failure *runner is NULL.
hox_status runner_cache_acquire(runner_cache *c, const runner_demand *demand, hox_runner **runner,
                                hox_error *error) HOX_MUST_CHECK;
void runner_cache_unpin(runner_cache *c); // all

void runner_cache_release(runner_cache *c, const hox_runner *runner); // this one, pinned or not
void runner_cache_release_idle(runner_cache *c);                      // all that are not pinned
void runner_cache_set_bound(runner_cache *c, uint64_t bytes);         // releases what is above it

// hashes: structures of the living genomes, two words each, sorted by structure_hash_compare.
void runner_cache_mark_living(runner_cache *c, const uint64_t (*hashes)[2], size_t count);
void runner_cache_release_dead(runner_cache *c);

// An order of structure hashes, for qsort.
int structure_hash_compare(const void *a, const void *b);
