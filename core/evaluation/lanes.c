#include "evaluation/lanes.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

// ---- life ----

static hox_status init_lane(lane_worker *one, const lanes *l, uint32_t number, uint32_t precision,
                            hox_error *error) {
    runner_cache_init(&one->cache, l->api, l->runtime, number, precision);
    one->tasks = array_create(l->most_jobs, sizeof *one->tasks, error);
    one->jobs = array_create(l->most_jobs, sizeof *one->jobs, error);
    one->calls = array_create(l->most_jobs, sizeof *one->calls, error);
    one->errors = array_create(l->most_jobs, sizeof *one->errors, error);
    return one->tasks && one->jobs && one->calls && one->errors ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
}

hox_status lanes_init(lanes *l, const lanes_setup *setup, hox_error *error) {
    const hox_runtime_api *api = setup->memory.plugin->plugin->runtime;
    *l = (lanes){.api = api,
                 .runtime = setup->memory.runtime,
                 .memory = setup->memory,
                 .log = setup->log,
                 .listener = setup->listener,
                 .most_jobs = setup->most_jobs,
                 .batch_multiple = setup->batch_multiple,
                 .controller = vram_controller_make(&setup->settings)};
    pthread_mutex_init(&l->mutex, NULL);
    pthread_cond_init(&l->changed, NULL);
    l->items = array_create(setup->lane_count, sizeof *l->items, error);
    if (!l->items) return HOX_OUT_OF_HOST_MEMORY;
    while (l->count < setup->lane_count) {
        lane_worker *one = &l->items[l->count];
        HOX_TRY(init_lane(one, l, l->count++, setup->precision, error));
    }
    hox_error why = HOX_ERROR_INIT;
    const hox_status status = thread_pool_create(setup->lane_count, &l->pool, &why);
    if (status == HOX_OK) return HOX_OK;
    return hox_error_set(error, status, "evaluation.fitness_eval_parallel: %s", why.message);
}

void lanes_deinit(lanes *l) {
    if (!l->api) return;
    thread_pool_destroy(l->pool);
    for (uint32_t i = 0; i < l->count; i++) {
        lane_worker *one = &l->items[i];
        runner_cache_deinit(&one->cache);
        free(one->tasks);
        free(one->jobs);
        free(one->calls);
        free(one->errors);
    }
    free(l->items);
    pthread_mutex_destroy(&l->mutex);
    pthread_cond_destroy(&l->changed);
    *l = (lanes){0};
}

// ---- small things ----

bool lanes_is_memory(hox_status status) {
    return status == HOX_OUT_OF_DEVICE_MEMORY || status == HOX_OUT_OF_HOST_MEMORY;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

uint64_t lanes_chunk_of(const lanes *l, uint64_t batch, uint64_t split_count) {
    const uint64_t multiple = l->batch_multiple;
    return smaller(batch < multiple ? multiple : batch / multiple * multiple, split_count);
}

uint64_t lanes_chunk(lanes *l, uint64_t split_count) {
    pthread_mutex_lock(&l->mutex);
    const uint64_t batch = l->controller.state.batch;
    pthread_mutex_unlock(&l->mutex);
    return lanes_chunk_of(l, batch, split_count);
}

void lanes_tell(const lanes *l, const memory_event *event) {
    char text[512];
    memory_event_describe(event, text, sizeof text);
    log_line(l->log, event->why == MEMORY_STREAMED ? HOX_LOG_INFO : HOX_LOG_DEBUG, "%s", text);
    if (l->listener.hear) l->listener.hear(l->listener.context, event);
}

void lanes_release_idle(lanes *l) {
    for (uint32_t i = 0; i < l->count; i++)
        runner_cache_release_idle(&l->items[i].cache);
}

runner_statistics lanes_statistics(const lanes *l, uint64_t *runner_count) {
    runner_statistics sum = {0};
    *runner_count = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        const runner_statistics *one = &l->items[i].cache.statistics;
        sum.hits += one->hits;
        sum.prepares += one->prepares;
        sum.evictions += one->evictions;
        sum.bytes += one->bytes;
        *runner_count += l->items[i].cache.count;
    }
    return sum;
}

// ---- calls of the runtime ----

typedef struct image_range {
    uint64_t first, count;
} image_range;

// Makes the job ready that a lane has at place i.
static hox_status ready_job(const lane_pass *p, lane_worker *one, uint32_t i, task *t,
                            image_range range, uint64_t capacity, hox_error *error) {
    const uint64_t most = lanes_chunk(p->lanes, UINT64_MAX);
    const runner_demand demand = {
        .plan = &t->plan.view,
        .capacity = (uint32_t)capacity,
        .most_capacity = most > capacity ? most : capacity, // others may have shrunk it just now
        .bytes = runner_bytes(t->need.fixed_bytes, t->need.bytes_per_sample, capacity)};
    hox_runner *runner;
    HOX_TRY(runner_cache_acquire(&one->cache, &demand, &runner, error));
    one->errors[i] = (hox_error)HOX_ERROR_INIT;
    one->jobs[i] = (hox_job){.struct_size = sizeof(hox_job),
                             .runner = runner,
                             .weights = &t->weights.view,
                             .samples = p->samples,
                             .first = range.first - p->first,
                             .count = range.count,
                             .logits = t->logits + range.first,
                             .error = &one->errors[i]};
    one->calls[i] = &one->jobs[i];
    return HOX_OK;
}

// All tasks of the lane in one call. Not OK: none has run, and unless the device is lost each is
// worth a try of its own.
static hox_status run_group(const lane_pass *p, lane_worker *one, uint32_t job_count,
                            image_range range, uint64_t capacity, hox_error *error) {
    hox_status status = HOX_OK;
    for (uint32_t i = 0; i < job_count && status == HOX_OK; i++)
        status = ready_job(p, one, i, one->tasks[i], range, capacity, error);
    if (status == HOX_OK)
        status = p->lanes->api->evaluate(p->lanes->runtime, one->cache.lane, one->calls, job_count,
                                         error);
    runner_cache_unpin(&one->cache);
    return status;
}

// One task; a runner that failed is released.
static hox_status run_once(const lane_pass *p, lane_worker *one, task *t, image_range range,
                           uint64_t capacity, hox_error *error) {
    HOX_TRY(ready_job(p, one, 0, t, range, capacity, error));
    hox_status status =
        p->lanes->api->evaluate(p->lanes->runtime, one->cache.lane, one->calls, 1, error);
    if (status == HOX_OK && one->jobs[0].status != HOX_OK) {
        status = one->jobs[0].status;
        if (error->status == HOX_OK) *error = one->errors[0];
    }
    if (status != HOX_OK) runner_cache_release(&one->cache, one->jobs[0].runner);
    runner_cache_unpin(&one->cache);
    return status;
}

// What a device fails at may pass, so it is tried twice. A device that does not even say how much
// memory it has is lost: no genome is to blame.
static hox_status run_one(const lane_pass *p, lane_worker *one, task *t, image_range range,
                          uint64_t capacity, hox_error *error) {
    hox_error why = HOX_ERROR_INIT;
    hox_status status = run_once(p, one, t, range, capacity, &why);
    if (status == HOX_DEVICE) {
        why = (hox_error)HOX_ERROR_INIT;
        status = run_once(p, one, t, range, capacity, &why);
    }
    status = device_memory_verdict(&p->lanes->memory, status);
    return status == HOX_OK ? HOX_OK : hox_error_pass(error, status, &why);
}

// ---- failures ----

static void fail(lanes *l, task *t, hox_status status, const hox_error *why) {
    pthread_mutex_lock(&l->mutex);
    if (!t->is_over) task_fail(t, status, why);
    if (status == HOX_DEVICE_LOST && !l->is_lost) {
        l->is_lost = true;
        l->lost_error = t->result->error;
    }
    pthread_mutex_unlock(&l->mutex);
}

// ---- out of memory ----

static bool has_all_released(const lanes *l, uint64_t request) {
    for (uint32_t i = 0; i < l->count; i++)
        if (l->items[i].seen < request && !l->items[i].is_waiting) return false;
    return true;
}

// Releases what runners nobody uses, here and on the other lanes, each when it comes past.
static void release_everywhere(lanes *l, lane_worker *one) {
    runner_cache_release_idle(&one->cache);
    pthread_mutex_lock(&l->mutex);
    const uint64_t request = ++l->requests;
    one->seen = request;
    one->is_waiting = true;
    pthread_cond_broadcast(&l->changed);
    while (!has_all_released(l, request))
        pthread_cond_wait(&l->changed, &l->mutex);
    one->is_waiting = false;
    pthread_mutex_unlock(&l->mutex);
}

// Whether the genome is worth another try.
static bool make_room(lanes *l, lane_worker *one, task *t, uint64_t tried, const hox_error *why) {
    release_everywhere(l, one);
    device_memory_trim(&l->memory);
    const bool fits =
        why->bytes_requested > 0 && device_memory_fits(&l->memory, why->bytes_requested);
    memory_event event = {.genome_id = t->genome->id,
                          .lane = one->cache.lane,
                          .tried = tried,
                          .bytes_needed = why->bytes_requested,
                          .bytes_left = why->bytes_available};
    if (device_memory_read(&l->memory, &event.reading, NULL) != HOX_OK)
        event.reading = (vram_reading){0};
    pthread_mutex_lock(&l->mutex);
    const vram_decision d = vram_out_of_memory(&l->controller, &t->ladder, tried, fits);
    event.ceiling = l->controller.state.ceiling;
    if (d.reason == VRAM_SET_ASIDE) t->is_over = t->is_aside = true;
    pthread_mutex_unlock(&l->mutex);
    event.why = d.reason;
    event.batch_before = d.before;
    event.batch_after = d.after;
    lanes_tell(l, &event);
    return d.reason != VRAM_SET_ASIDE;
}

static bool is_over(lanes *l, const task *t) {
    pthread_mutex_lock(&l->mutex);
    const bool over = t->is_over;
    pthread_mutex_unlock(&l->mutex);
    return over;
}

static void run_single(const lane_pass *p, lane_worker *one, task *t, image_range range) {
    lanes *l = p->lanes;
    while (range.count > 0 && !is_over(l, t)) {
        hox_error why = HOX_ERROR_INIT;
        const uint64_t chunk = lanes_chunk(l, p->split_count);
        const image_range part = {range.first, smaller(chunk, range.count)};
        const hox_status status = run_one(p, one, t, part, chunk, &why);
        if (status == HOX_OK) {
            range.first += part.count;
            range.count -= part.count;
        } else if (!lanes_is_memory(status)) {
            fail(l, t, status, &why);
        } else if (!make_room(l, one, t, chunk, &why)) {
            return;
        }
    }
}

// ---- a lane's work ----

static void run_taken(const lane_pass *p, lane_worker *one, uint32_t job_count, image_range range,
                      uint64_t capacity) {
    hox_error why = HOX_ERROR_INIT;
    hox_status group = HOX_OUT_OF_DEVICE_MEMORY; // one job is tried by itself at once
    if (job_count > 1) group = run_group(p, one, job_count, range, capacity, &why);
    for (uint32_t i = 0; i < job_count; i++) {
        task *t = one->tasks[i];
        const hox_status status = group == HOX_OK ? one->jobs[i].status : group;
        if (status == HOX_OK) continue;
        if (status == HOX_DEVICE_LOST)
            fail(p->lanes, t, status, group == HOX_OK ? &one->errors[i] : &why);
        else if (group != HOX_OK || lanes_is_memory(status))
            run_single(p, one, t, range);
        else
            fail(p->lanes, t, status, &one->errors[i]);
    }
}

// Does what other lanes ask for, and parks where there is no work. Returns the jobs taken, 0 = all
// lanes are parked. Called and left with the mutex held.
static uint32_t take(lane_pass *p, lane_worker *one, image_range *range, uint64_t *capacity) {
    lanes *l = p->lanes;
    bool is_parked = false;
    for (;;) {
        if (one->seen != l->requests) {
            const uint64_t request = l->requests;
            pthread_mutex_unlock(&l->mutex);
            runner_cache_release_idle(&one->cache);
            pthread_mutex_lock(&l->mutex);
            one->seen = request;
            pthread_cond_broadcast(&l->changed);
            continue;
        }
        if (!is_parked && !l->is_lost) {
            *capacity = lanes_chunk_of(l, l->controller.state.batch, p->split_count);
            const uint32_t taken = job_queue_take(&p->queue, one->cache.lane, *capacity, one->tasks,
                                                  &range->first, &range->count);
            if (taken > 0 && l->largest < *capacity) l->largest = *capacity;
            for (uint32_t i = 0; i < taken; i++) // other images, another try
                one->tasks[i]->ladder.same_batch = 0;
            if (taken > 0) return taken;
        }
        if (!is_parked) {
            is_parked = true;
            l->parked++;
            pthread_cond_broadcast(&l->changed);
        }
        if (l->parked == l->count) return 0;
        pthread_cond_wait(&l->changed, &l->mutex);
    }
}

static void work(void *context, uint64_t item, uint32_t number) {
    (void)item;
    lane_pass *p = context;
    lane_worker *one = &p->lanes->items[number];
    for (;;) {
        image_range range;
        uint64_t capacity;
        pthread_mutex_lock(&p->lanes->mutex);
        const uint32_t taken = take(p, one, &range, &capacity);
        pthread_mutex_unlock(&p->lanes->mutex);
        if (taken == 0) return;
        run_taken(p, one, taken, range, capacity);
    }
}

void lanes_run(lane_pass *p) {
    p->lanes->parked = 0;
    p->queue.lane_count = p->lanes->count;
    p->queue.most_jobs = p->lanes->most_jobs;
    thread_pool_run(p->lanes->pool, p->lanes->count, work, p);
}

hox_status lanes_run_alone(const lane_pass *p, task *t, uint64_t chunk, hox_error *error) {
    for (uint64_t first = p->first; first < p->queue.end; first += chunk) {
        const image_range part = {first, smaller(chunk, p->queue.end - first)};
        HOX_TRY(run_one(p, &p->lanes->items[0], t, part, chunk, error));
    }
    return HOX_OK;
}
