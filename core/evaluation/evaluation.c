#include "evaluation/evaluation.h"

#include "base/array.h"
#include "base/cpu.h"
#include "evaluation/device.h"
#include "evaluation/judge.h"
#include "evaluation/residency.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const evaluation_reasons[EVALUATION_REASON_COUNT] = {
    "ok", "oom", "nan", "unsupported", "plugin-error", "device-lost"};

enum { MOST_LOGIT_BYTES = 1 << 28, CUDA_LANES = 2 };

struct evaluation {
    const hox_runtime_api *api;
    evaluation_config config;
    uint32_t runtime_flags, precision;
    hox_runtime *runtime;
    lanes lanes;
    residency residency;
    judge judge;
    uint64_t cache_bound;      // bytes of runners a lane may keep
    bool is_asked;             // the formula, in this generation
    uint64_t generation_count; // that have ended
    runner_statistics before;  // of the lanes, when this generation began
};

// ---- life ----

static uint32_t choose_precision(const evaluation_setup *setup, uint32_t precisions) {
    if (!setup->config->use_amp) return HOX_PRECISION_FP32;
    if (precisions & HOX_PRECISION_MIXED) return HOX_PRECISION_MIXED;
    log_line(setup->log, HOX_LOG_WARNING,
             "evaluation.use_amp: runtime %s has no half precision here; it is fp32",
             setup->runtime->plugin->name);
    return HOX_PRECISION_FP32;
}

static hox_status open_runtime(evaluation *e, const evaluation_setup *setup, hox_error *error) {
    const evaluation_config *config = setup->config;
    lanes_setup l = {
        .memory = {.plugin = setup->runtime, .cap = (uint64_t)config->gpu_vram_cap_bytes},
        .log = setup->log,
        .listener = setup->listener};
    hox_device_info *device = &l.memory.device;
    uint32_t number;
    HOX_TRY(device_choose(setup->runtime, config->device, setup->trains, &number, device, error));
    l.lane_count = (uint32_t)config->fitness_eval_parallel;
    if (l.lane_count == 0)
        l.lane_count = device->kind == HOX_DEVICE_CUDA ? CUDA_LANES : cpu_core_count();
    l.settings = evaluation_vram_settings(config, device->kind == HOX_DEVICE_CUDA);
    HOX_TRY(e->api->open(&setup->runtime->services.host, number, l.lane_count,
                         setup->runtime->options, &e->runtime, error));
    hox_runtime_caps caps = {.struct_size = sizeof caps};
    e->api->caps(e->runtime, &caps);
    e->runtime_flags = caps.flags;
    l.precision = e->precision = choose_precision(setup, caps.precisions);
    if (l.settings.lower_bound < caps.batch_multiple) l.settings.lower_bound = caps.batch_multiple;
    l.most_jobs = caps.max_group ? caps.max_group : 1;
    l.batch_multiple = caps.batch_multiple ? caps.batch_multiple : 1;
    l.memory.runtime = e->runtime;
    HOX_TRY(lanes_init(&e->lanes, &l, error));
    e->residency = (residency){.lanes = &e->lanes,
                               .is_wanted = {
                                   [SPLIT_USE_SCORE] = config->cache_val_on_gpu != 0,
                                   [SPLIT_USE_TRAIN] = config->cache_refinement_train_on_gpu != 0,
                                   [SPLIT_USE_MONITOR] = config->cache_refinement_test_on_gpu != 0,
                               }};
    HOX_TRY(judge_init(&e->judge, setup->fitness, setup->decision_threshold, l.lane_count, error));
    return device_memory_set_budget(&e->lanes.memory, error);
}

hox_status evaluation_create(const evaluation_setup *setup, evaluation **out, hox_error *error) {
    *out = NULL;
    evaluation *e = array_create(1, sizeof *e, error);
    if (!e) return HOX_OUT_OF_HOST_MEMORY;
    *e = (evaluation){.api = setup->runtime->plugin->runtime, .config = *setup->config};
    const hox_status status = open_runtime(e, setup, error);
    if (status == HOX_OK)
        *out = e;
    else
        evaluation_destroy(e);
    return status;
}

void evaluation_destroy(evaluation *e) {
    if (!e) return;
    residency_drop_all(&e->residency);
    judge_deinit(&e->judge);
    lanes_deinit(&e->lanes);
    e->api->close(e->runtime);
    free(e);
}

const hox_device_info *evaluation_device(const evaluation *e) {
    return &e->lanes.memory.device;
}

uint32_t evaluation_lane_count(const evaluation *e) {
    return e->lanes.count;
}

uint32_t evaluation_runtime_flags(const evaluation *e) {
    return e->runtime_flags;
}

vram_state evaluation_memory_state(const evaluation *e) {
    return e->lanes.controller.state;
}

void evaluation_restore_memory(evaluation *e, const vram_state *state) {
    vram_controller_restore(&e->lanes.controller, state);
}

void evaluation_drop_split(evaluation *e, evaluation_split *split) {
    residency_drop(&e->residency, split);
}

hox_status evaluation_check(const evaluation *e, const genome *g, hox_error *error) {
    plan p;
    HOX_TRY(plan_init(&p, g, error));
    const hox_status status =
        p.has_path ? e->api->check_plan(e->runtime, &p.view, e->precision, error) : HOX_OK;
    plan_deinit(&p);
    return status;
}

// ---- one evaluation ----

typedef struct scoring {
    evaluation *e;
    evaluation_split *split;
    task *tasks;  // task i belongs to genome i
    task **order; // the costly first, equal structures together
    size_t count;
    const genome *const *genomes;
    evaluation_result *results;
    vram_demand demand; // of the largest genome
} scoring;

static hox_status scoring_init(scoring *s, hox_error *error) {
    s->tasks = array_create(s->count, sizeof *s->tasks, error);
    s->order = array_create(s->count, sizeof *s->order, error);
    if (!s->tasks || !s->order) return HOX_OUT_OF_HOST_MEMORY;
    return judge_reserve(&s->e->judge, s->split->count, error);
}

static void scoring_deinit(scoring *s) {
    for (size_t i = 0; s->tasks && i < s->count; i++)
        task_deinit(&s->tasks[i]);
    free(s->tasks);
    free(s->order);
}

static void plan_one(void *context, uint64_t item, uint32_t lane) {
    (void)lane;
    const scoring *s = context;
    task_init(&s->tasks[item], s->genomes[item], &s->results[item], s->e->api, s->e->runtime,
              s->e->precision);
}

static int costly_first(const void *a, const void *b) {
    const task *left = *(task *const *)a, *right = *(task *const *)b;
    const uint64_t left_flops = left->plan.view.flops_per_sample,
                   right_flops = right->plan.view.flops_per_sample;
    if (left_flops != right_flops) return left_flops < right_flops ? 1 : -1;
    const int structure =
        structure_hash_compare(left->plan.view.structure_hash, right->plan.view.structure_hash);
    if (structure != 0) return structure;
    return left < right ? -1 : left > right;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

// Errors: DEVICE_LOST; whatever else fails is a genome's.
static hox_status plan_all(scoring *s, hox_error *error) {
    thread_pool_run(s->e->lanes.pool, s->count, plan_one, s);
    s->demand.lane_count = s->e->lanes.count;
    for (size_t i = 0; i < s->count; i++) {
        s->order[i] = &s->tasks[i];
        s->demand.fixed = larger(s->demand.fixed, s->tasks[i].need.fixed_bytes);
        s->demand.per_sample = larger(s->demand.per_sample, s->tasks[i].need.bytes_per_sample);
    }
    qsort(s->order, s->count, sizeof(task *), costly_first);
    for (size_t i = 0; i < s->count; i++)
        if (s->results[i].reason == EVALUATION_DEVICE_LOST)
            return hox_error_set(error, HOX_DEVICE_LOST, "%s", s->results[i].error.message);
    return HOX_OK;
}

// ---- living structures ----

// Those of the results; runners of others go first where room is needed.
static hox_status mark_living(evaluation *e, const evaluation_result *results, size_t count,
                              hox_error *error) {
    uint64_t(*hashes)[2] = array_create(count, sizeof *hashes, error);
    if (!hashes) return HOX_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < count; i++)
        memcpy(hashes[i], results[i].structure_hash, sizeof hashes[i]);
    qsort(hashes, count, sizeof *hashes, structure_hash_compare);
    for (uint32_t i = 0; i < e->lanes.count; i++)
        runner_cache_mark_living(&e->lanes.items[i].cache, (const uint64_t(*)[2])hashes, count);
    free(hashes);
    return HOX_OK;
}

// ---- how many images at once ----

static void warn(const lanes *l, uint32_t warnings) {
    static const char *const texts[] = {
        "memory: what gpu_memory_fraction and the reserve leave free holds no image: the batch is "
        "eval_batch_size_min",
        "memory: the device says that more is free than it has; it is taken to be all free",
        "memory: the device does not say how much it has: vram_usage_threshold is not applied"};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (warnings & 1u << i) log_line(l->log, HOX_LOG_WARNING, "%s", texts[i]);
}

static void tell_decision(const lanes *l, const vram_decision *d) {
    warn(l, d->warnings);
    if (d->reason == VRAM_KEPT) return;
    lanes_tell(l, &(memory_event){.why = d->reason,
                                  .reading = d->reading,
                                  .batch_before = d->before,
                                  .batch_after = d->after,
                                  .ceiling = l->controller.state.ceiling});
}

// Idle runners count as free: they go when room is needed.
static hox_status read_memory(const lanes *l, vram_reading *reading, hox_error *error) {
    HOX_TRY(device_memory_read(&l->memory, reading, error));
    uint64_t count;
    const uint64_t idle = lanes_statistics(l, &count).bytes;
    const uint64_t freed = idle < reading->used ? idle : reading->used;
    reading->used -= freed;
    reading->free = reading->free > UINT64_MAX - freed ? UINT64_MAX : reading->free + freed;
    return HOX_OK;
}

static hox_status choose_batch(scoring *s, hox_error *error) {
    evaluation *e = s->e;
    lanes *l = &e->lanes;
    vram_reading reading;
    HOX_TRY(device_memory_set_budget(&l->memory, error));
    HOX_TRY(residency_place(&e->residency, s->split, &s->demand, error));
    if (l->controller.settings.is_adaptive && !e->is_asked) device_memory_trim(&l->memory);
    HOX_TRY(read_memory(l, &reading, error));
    if (!e->is_asked) {
        HOX_TRY(mark_living(e, s->results, s->count, error));
        vram_demand demand = s->demand;
        if (!s->split->samples) // all lanes share a window of the images
            demand.per_sample += (split_image_bytes(s->split) + l->count - 1) / l->count;
        const vram_decision d = vram_before_generation(&l->controller, &reading, &demand);
        tell_decision(l, &d);
        if (d.after != d.before) lanes_release_idle(l);
        reading = d.reading;
        e->is_asked = true;
    }
    if (!s->split->samples) {
        const uint64_t window = lanes_chunk(l, s->split->count) * split_image_bytes(s->split);
        reading.free -= window < reading.free ? window : reading.free;
    }
    const int64_t share = vram_share(&l->controller.settings, &reading, l->count);
    e->cache_bound = share > 0 ? (uint64_t)share : 0;
    for (uint32_t i = 0; i < l->count; i++)
        runner_cache_set_bound(&l->items[i].cache,
                               e->config.keep_population_on_gpu_within_generation ? UINT64_MAX
                                                                                  : e->cache_bound);
    return HOX_OK;
}

// ---- a set: genomes whose runners fit the caches together ----

typedef struct task_set {
    const scoring *scoring;
    task **tasks;
    size_t count;
} task_set;

static void set_aside(task *t) {
    t->is_over = t->is_aside = true;
}

// The images cannot be had beside the set.
static void set_all_aside(const task_set *set) {
    for (size_t i = 0; i < set->count; i++)
        if (!set->tasks[i]->is_over && set->tasks[i]->plan.has_path) set_aside(set->tasks[i]);
}

static void load_one(void *context, uint64_t item, uint32_t lane) {
    (void)lane;
    const task_set *set = context;
    task *t = set->tasks[item];
    if (!t->is_over && task_load(t, set->scoring->split->count, NULL) != HOX_OK) set_aside(t);
}

static void judge_one(void *context, uint64_t item, uint32_t lane) {
    const task_set *set = context;
    const scoring *s = set->scoring;
    if (!set->tasks[item]->is_over) judge_task(&s->e->judge, set->tasks[item], s->split, lane);
}

static void run_images(const task_set *set, const size_t *home, const hox_samples *samples,
                       uint64_t first, uint64_t end) {
    lane_pass p = {.lanes = &set->scoring->e->lanes,
                   .queue = {.tasks = set->tasks, .home = home, .end = end},
                   .samples = samples,
                   .first = first,
                   .split_count = set->scoring->split->count};
    lanes_run(&p);
}

static hox_status stream_set(scoring *s, const task_set *set, const size_t *home,
                             hox_error *error) {
    const evaluation_split *split = s->split;
    hox_samples *window = NULL;
    hox_error why = HOX_ERROR_INIT;
    uint64_t size;
    hox_status status = residency_create_window(&s->e->residency, split, &window, &size, &why);
    for (uint64_t first = 0; first < split->count && status == HOX_OK; first += size) {
        const uint64_t count = split->count - first < size ? split->count - first : size;
        status = residency_fill(&s->e->residency, split, window, first, count, &why);
        if (status == HOX_OK) run_images(set, home, window, first, first + count);
    }
    s->e->api->samples_destroy(window);
    if (status == HOX_OK) return HOX_OK;
    if (!lanes_is_memory(status)) return hox_error_pass(error, status, &why);
    set_all_aside(set);
    return HOX_OK;
}

static hox_status run_set(scoring *s, task_set *set, hox_error *error) {
    lanes *l = &s->e->lanes;
    hox_status status = HOX_OK;
    size_t *home = array_create(l->count + 1, sizeof *home, error);
    if (!home) return HOX_OUT_OF_HOST_MEMORY;
    thread_pool_run(l->pool, set->count, load_one, set);
    job_queue_share(set->tasks, set->count, l->count, home);
    if (s->split->samples)
        run_images(set, home, s->split->samples, 0, s->split->count);
    else
        status = stream_set(s, set, home, error);
    if (status == HOX_OK && !l->is_lost) thread_pool_run(l->pool, set->count, judge_one, set);
    for (size_t i = 0; i < set->count; i++)
        task_unload(set->tasks[i]);
    free(home);
    return status;
}

// How many of the tasks from begin on make a set: their logits fit the host's memory and, where the
// images come in several chunks, their runners fit the caches.
static size_t set_size(const scoring *s, size_t begin) {
    lanes *l = &s->e->lanes;
    const uint64_t chunk = lanes_chunk(l, s->split->count);
    const bool is_bounded =
        chunk < s->split->count && !s->e->config.keep_population_on_gpu_within_generation;
    const size_t most = larger(1, MOST_LOGIT_BYTES / sizeof(float) / s->split->count);
    const double bound = (double)s->e->cache_bound * l->count;
    double bytes = 0.0;
    size_t count = 0;
    for (; begin + count < s->count && count < most; count++) {
        const task *t = s->order[begin + count];
        const bool is_new = count == 0 || structure_hash_compare(
                                              s->order[begin + count - 1]->plan.view.structure_hash,
                                              t->plan.view.structure_hash) != 0;
        if (is_new)
            bytes += (double)runner_bytes(t->need.fixed_bytes, t->need.bytes_per_sample, chunk);
        if (is_bounded && bytes > bound && count >= l->count) break;
    }
    return count;
}

// ---- the last run, alone ----

// What to change lies where the lower bound comes from.
static const char *bounding_key(const evaluation_config *c) {
    if (c->eval_batch_size <= c->eval_batch_size_min || c->eval_batch_size <= c->batch_size)
        return "eval_batch_size";
    return c->batch_size > c->eval_batch_size_min ? "batch_size" : "eval_batch_size_min";
}

// Of the genome alone, its images and its runner.
static uint64_t bytes_alone(const scoring *s, const task *t, uint64_t batch) {
    return batch * split_image_bytes(s->split) +
           runner_bytes(t->need.fixed_bytes, t->need.bytes_per_sample, batch);
}

static void advise(const evaluation_config *config, uint64_t batch, char *text, size_t size) {
    const bool can_lower = batch > 1, can_raise = config->gpu_vram_cap_bytes > 0;
    if (can_lower || can_raise)
        snprintf(text, size, "%s%s%s%s", can_lower ? "lower evaluation." : "",
                 can_lower ? bounding_key(config) : "", can_lower && can_raise ? " or " : "",
                 can_raise ? "raise evaluation.gpu_vram_cap_bytes" : "");
    else
        snprintf(text, size, "it takes a device with more memory");
}

// A device of its own runs out of more than one memory; which one its message tells.
static void explain(const scoring *s, task *t, uint64_t batch, const hox_error *why) {
    const hox_device_info *device = &s->e->lanes.memory.device;
    char numbers[240], advice[120];
    if (why->bytes_requested > 0 && device->kind == HOX_DEVICE_CPU)
        snprintf(numbers, sizeof numbers,
                 "%" PRIu64 " bytes needed, %" PRIu64 " free, of about %" PRIu64
                 " it takes with its images",
                 why->bytes_requested, why->bytes_available, bytes_alone(s, t, batch));
    else
        snprintf(numbers, sizeof numbers, "%.199s", why->message);
    advise(&s->e->config, batch, advice, sizeof advice);
    snprintf(t->result->error.message, sizeof t->result->error.message,
             "genome %" PRIu64 " (%u nodes, %u edges, %" PRIu64
             " bytes an image) does not fit on %s, even alone with %" PRIu64
             " images at once: %s; %s",
             t->genome->id, t->plan.view.node_count, t->plan.view.edge_count,
             t->result->bytes_per_sample, device->address, batch, numbers, advice);
}

static hox_status run_windows(scoring *s, task *t, hox_samples *window, uint64_t size,
                              hox_error *error) {
    const evaluation_split *split = s->split;
    residency *r = &s->e->residency;
    lane_pass p = {.lanes = &s->e->lanes, .samples = window, .split_count = split->count};
    for (; p.first < split->count; p.first += size) {
        p.queue.end = split->count - p.first < size ? split->count : p.first + size;
        HOX_TRY(residency_fill(r, split, window, p.first, p.queue.end - p.first, error));
        HOX_TRY(lanes_run_alone(&p, t, size, error));
    }
    return HOX_OK;
}

static hox_status try_alone(scoring *s, task *t, uint64_t batch, hox_error *error) {
    hox_samples *window;
    HOX_TRY(task_load(t, s->split->count, error));
    HOX_TRY(residency_create_samples(&s->e->residency, s->split, batch, &window, error));
    const hox_status status = run_windows(s, t, window, batch, error);
    s->e->api->samples_destroy(window);
    return status;
}

// Nothing else is on the device. What fails now has failed for good. Errors: DEVICE_LOST.
static hox_status run_alone(scoring *s, task *t, hox_error *error) {
    lanes *l = &s->e->lanes;
    const vram_state *state = &l->controller.state;
    const uint64_t bound = l->controller.settings.lower_bound;
    const uint64_t batch =
        lanes_chunk_of(l, state->batch < bound ? state->batch : bound, s->split->count);
    residency_drop_all(&s->e->residency);
    residency_make_room(&s->e->residency);
    memory_event event = {.why = MEMORY_ALONE,
                          .batch_before = state->batch,
                          .batch_after = batch,
                          .ceiling = state->ceiling,
                          .genome_id = t->genome->id,
                          .tried = batch};
    HOX_TRY(device_memory_read(&l->memory, &event.reading, error));
    event.bytes_needed = bytes_alone(s, t, batch);
    event.bytes_left = event.reading.free;
    lanes_tell(l, &event);
    hox_error why = HOX_ERROR_INIT;
    t->is_over = false;
    const hox_status status = try_alone(s, t, batch, &why);
    if (status == HOX_OK) {
        judge_task(&s->e->judge, t, s->split, 0);
    } else {
        task_fail(t, status, &why);
        if (lanes_is_memory(status)) explain(s, t, batch, &why);
    }
    task_unload(t);
    lanes_release_idle(l);
    return status == HOX_DEVICE_LOST ? hox_error_pass(error, status, &why) : HOX_OK;
}

// ---- all of it ----

static hox_status run_all(scoring *s, hox_error *error) {
    lanes *l = &s->e->lanes;
    HOX_TRY(plan_all(s, error));
    HOX_TRY(choose_batch(s, error));
    for (size_t begin = 0; begin < s->count && !l->is_lost;) {
        task_set set = {s, s->order + begin, set_size(s, begin)};
        HOX_TRY(run_set(s, &set, error));
        begin += set.count;
    }
    for (size_t i = 0; i < s->count && !l->is_lost; i++)
        if (s->tasks[i].is_aside) HOX_TRY(run_alone(s, &s->tasks[i], error));
    if (!l->is_lost) return HOX_OK;
    *error = l->lost_error;
    return HOX_DEVICE_LOST;
}

hox_status evaluation_score(evaluation *e, const genome *const *genomes, size_t genome_count,
                            evaluation_split *split, evaluation_result *results, hox_error *error) {
    scoring s = {
        .e = e, .split = split, .count = genome_count, .genomes = genomes, .results = results};
    hox_error why = HOX_ERROR_INIT;
    hox_status status = scoring_init(&s, &why);
    if (status == HOX_OK) status = run_all(&s, &why);
    scoring_deinit(&s);
    return status == HOX_OK ? HOX_OK : hox_error_pass(error, status, &why);
}

// ---- training ----

// On whichever device.
static bool has_training(const hox_runtime_api *api) {
    return HOX_HAS(api, train_backward) && api->train_forward && api->train_backward;
}

hox_status evaluation_check_training(const evaluation *e, hox_error *error) {
    const char *name = e->lanes.memory.plugin->plugin->name;
    const hox_device_info *device = &e->lanes.memory.device;
    const bool is_possible = has_training(e->api);
    if (is_possible && (e->runtime_flags & HOX_RUNTIME_TRAINS)) return HOX_OK;
    if (is_possible && device->kind != HOX_DEVICE_CPU)
        return hox_error_set(error, HOX_UNSUPPORTED,
                             "runtime %s does not train on %s; evaluation.device \"cpu\" does",
                             name, device->address);
    return hox_error_set(error, HOX_UNSUPPORTED,
                         "runtime %s does not train; evaluation.forward_runtime names another, "
                         "eager for one",
                         name);
}

hox_status evaluation_refine(evaluation *e, const refinement_order *order, evaluation_split *split,
                             refinement_job *jobs, size_t count, hox_error *error) {
    HOX_TRY(evaluation_check_training(e, error));
    return refinement_run(&e->lanes, &e->residency, order, split, jobs, count, error);
}

// ---- between generations ----

static void tell_generation(evaluation *e, const vram_decision *d, uint64_t peak) {
    const lanes *l = &e->lanes;
    memory_event event = {.why = MEMORY_GENERATION,
                          .reading = d->reading,
                          .batch_before = d->before,
                          .batch_after = d->after,
                          .ceiling = l->controller.state.ceiling};
    event.runners = lanes_statistics(l, &event.runner_count);
    const runner_statistics now = event.runners;
    event.runners.hits -= e->before.hits;
    event.runners.prepares -= e->before.prepares;
    event.runners.evictions -= e->before.evictions;
    event.peak_bytes = peak;
    e->before = now;
    lanes_tell(l, &event);
}

hox_status evaluation_end_generation(evaluation *e, const evaluation_result *results, size_t count,
                                     hox_error *error) {
    lanes *l = &e->lanes;
    const int64_t interval = e->config.cuda_empty_cache_interval;
    vram_reading reading;
    uint64_t peak;
    HOX_TRY(device_memory_read(&l->memory, &reading, error));
    HOX_TRY(device_memory_peak(&l->memory, &peak, error));
    HOX_TRY(mark_living(e, results, count, error));
    for (uint32_t i = 0; i < l->count; i++) {
        runner_cache_release_dead(&l->items[i].cache);
        runner_cache_set_bound(&l->items[i].cache, e->cache_bound);
    }
    const vram_decision d = vram_after_generation(&l->controller, &reading, l->largest);
    if (d.after != d.before) lanes_release_idle(l);
    if (interval > 0 && ++e->generation_count % (uint64_t)interval == 0)
        device_memory_trim(&l->memory);
    tell_decision(l, &d);
    tell_generation(e, &d, peak);
    l->largest = 0;
    e->is_asked = false;
    return HOX_OK;
}
