#include "evaluation/runner_cache.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void runner_cache_init(runner_cache *c, const hox_runtime_api *api, hox_runtime *runtime,
                       uint32_t lane, uint32_t precision) {
    *c = (runner_cache){
        .api = api, .runtime = runtime, .lane = lane, .precision = precision, .bound = UINT64_MAX};
}

void runner_cache_deinit(runner_cache *c) {
    runner_cache_unpin(c);
    runner_cache_release_idle(c);
    free(c->items);
    *c = (runner_cache){0};
}

int structure_hash_compare(const void *a, const void *b) {
    return memcmp(a, b, 2 * sizeof(uint64_t));
}

// ---- going ----

static void evict(runner_cache *c, size_t index) {
    c->api->release(c->items[index].runner);
    c->statistics.bytes -= c->items[index].bytes;
    c->statistics.evictions++;
    c->items[index] = c->items[--c->count];
}

void runner_cache_release(runner_cache *c, const hox_runner *runner) {
    for (size_t i = 0; i < c->count; i++) {
        if (c->items[i].runner != runner) continue;
        evict(c, i);
        return;
    }
}

void runner_cache_release_idle(runner_cache *c) {
    for (size_t i = c->count; i-- > 0;)
        if (!c->items[i].is_pinned) evict(c, i);
}

void runner_cache_release_dead(runner_cache *c) {
    for (size_t i = c->count; i-- > 0;)
        if (!c->items[i].is_pinned && !c->items[i].is_living) evict(c, i);
}

void runner_cache_unpin(runner_cache *c) {
    for (size_t i = 0; i < c->count; i++)
        c->items[i].is_pinned = false;
}

void runner_cache_mark_living(runner_cache *c, const uint64_t (*hashes)[2], size_t count) {
    for (size_t i = 0; i < c->count; i++)
        c->items[i].is_living = bsearch(c->items[i].structure_hash, hashes, count, sizeof *hashes,
                                        structure_hash_compare) != NULL;
}

// Lower goes first.
static int rank_of(const cached_runner *one, uint64_t most_capacity) {
    if (one->capacity > most_capacity) return 0;
    return one->is_living ? 2 : 1;
}

static bool goes_before(const cached_runner *a, const cached_runner *b, uint64_t most_capacity) {
    const int left = rank_of(a, most_capacity), right = rank_of(b, most_capacity);
    return left != right ? left < right : a->last_use < b->last_use;
}

// False where all are pinned.
static bool evict_one(runner_cache *c, uint64_t most_capacity) {
    size_t first = c->count;
    for (size_t i = 0; i < c->count; i++) {
        if (c->items[i].is_pinned) continue;
        if (first == c->count || goes_before(&c->items[i], &c->items[first], most_capacity))
            first = i;
    }
    if (first == c->count) return false;
    evict(c, first);
    return true;
}

static void make_room(runner_cache *c, uint64_t bytes, uint64_t most_capacity) {
    const uint64_t most = bytes < c->bound ? c->bound - bytes : 0;
    while (c->statistics.bytes > most && evict_one(c, most_capacity)) {
    }
}

void runner_cache_set_bound(runner_cache *c, uint64_t bytes) {
    c->bound = bytes;
    make_room(c, 0, UINT64_MAX);
}

// ---- coming ----

static cached_runner *find(runner_cache *c, const runner_demand *demand) {
    for (size_t i = 0; i < c->count; i++) {
        cached_runner *one = &c->items[i];
        if (one->capacity >= demand->capacity && one->capacity <= demand->most_capacity &&
            structure_hash_compare(one->structure_hash, demand->plan->structure_hash) == 0)
            return one;
    }
    return NULL;
}

static hox_status prepare(runner_cache *c, const runner_demand *demand, hox_error *error) {
    cached_runner *items =
        array_grow(c->items, &c->item_capacity, c->count + 1, sizeof *items, error);
    if (!items) return HOX_OUT_OF_HOST_MEMORY;
    c->items = items;
    cached_runner *added = &items[c->count];
    *added =
        (cached_runner){.capacity = demand->capacity, .bytes = demand->bytes, .is_living = true};
    memcpy(added->structure_hash, demand->plan->structure_hash, sizeof added->structure_hash);
    const hox_prepare_options options = {.struct_size = sizeof options,
                                         .capacity = demand->capacity,
                                         .precision = c->precision,
                                         .purpose = HOX_PURPOSE_INFER};
    HOX_TRY(c->api->prepare(c->runtime, c->lane, demand->plan, &options, &added->runner, error));
    c->count++;
    c->statistics.prepares++;
    c->statistics.bytes += demand->bytes;
    return HOX_OK;
}

hox_status runner_cache_acquire(runner_cache *c, const runner_demand *demand, hox_runner **runner,
                                hox_error *error) {
    *runner = NULL;
    cached_runner *one = find(c, demand);
    if (one) {
        c->statistics.hits++;
    } else {
        make_room(c, demand->bytes, demand->most_capacity);
        HOX_TRY(prepare(c, demand, error));
        one = &c->items[c->count - 1];
    }
    one->is_pinned = true;
    one->last_use = ++c->clock;
    *runner = one->runner;
    return HOX_OK;
}
