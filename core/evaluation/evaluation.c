#include "evaluation/evaluation.h"

#include "base/array.h"
#include "base/cpu.h"
#include "evaluation/device.h"
#include "evaluation/metrics.h"
#include "plan/value_hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const evaluation_reasons[EVALUATION_REASON_COUNT] = {"ok", "oom", "nan", "unsupported",
                                                                 "plugin-error"};

// A lane's own memory, as large as the largest split so far.
typedef struct lane_memory {
    float *logits;
    uint64_t *keys;
    uint64_t capacity; // images
} lane_memory;

struct evaluation {
    const hox_runtime_api *api;
    const instance *fitness;
    double threshold;
    uint64_t batch_size; // images in a chunk: a multiple of the runtime's
    uint32_t runtime_flags;
    hox_device_info device;
    hox_runtime *runtime;
    thread_pool *pool;
    lane_memory *lanes; // one per lane
};

static hox_status open_runtime(evaluation *e, const evaluation_config *config,
                               const instance *runtime, ledger *accounts, uint32_t lane_count,
                               hox_error *error) {
    uint32_t device;
    HOX_TRY(device_choose(runtime, config->device, &device, &e->device, error));
    if (config->gpu_vram_cap_bytes > 0)
        HOX_TRY(ledger_set_budget(accounts, e->device.address, (uint64_t)config->gpu_vram_cap_bytes,
                                  error));
    HOX_TRY(e->api->open(&runtime->services.host, device, lane_count, runtime->options, &e->runtime,
                         error));
    hox_runtime_caps caps = {.struct_size = sizeof caps};
    e->api->caps(e->runtime, &caps);
    e->runtime_flags = caps.flags;
    const uint64_t multiple = caps.batch_multiple ? caps.batch_multiple : 1;
    const uint64_t wanted = (uint64_t)config->eval_batch_size;
    e->batch_size = wanted < multiple ? multiple : wanted / multiple * multiple;
    return HOX_OK;
}

hox_status evaluation_create(const evaluation_config *config, double decision_threshold,
                             const instance *runtime, const instance *fitness, ledger *accounts,
                             evaluation **out, hox_error *error) {
    *out = NULL;
    const uint32_t lane_count =
        config->fitness_eval_parallel ? (uint32_t)config->fitness_eval_parallel : cpu_core_count();
    evaluation *e = array_create(1, sizeof *e, error);
    if (!e) return HOX_OUT_OF_HOST_MEMORY;
    *e = (evaluation){.api = runtime->plugin->runtime,
                      .fitness = fitness,
                      .threshold = decision_threshold,
                      .lanes = array_create(lane_count, sizeof *e->lanes, error)};
    hox_status status = e->lanes ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
    if (status == HOX_OK) status = open_runtime(e, config, runtime, accounts, lane_count, error);
    if (status == HOX_OK) status = thread_pool_create(lane_count, &e->pool, error);
    if (status == HOX_OK)
        *out = e;
    else
        evaluation_destroy(e);
    return status;
}

void evaluation_destroy(evaluation *e) {
    if (!e) return;
    for (uint32_t i = 0; e->pool && i < thread_pool_lane_count(e->pool); i++) {
        free(e->lanes[i].logits);
        free(e->lanes[i].keys);
    }
    thread_pool_destroy(e->pool);
    e->api->close(e->runtime);
    free(e->lanes);
    free(e);
}

const hox_device_info *evaluation_device(const evaluation *e) {
    return &e->device;
}

uint32_t evaluation_lane_count(const evaluation *e) {
    return thread_pool_lane_count(e->pool);
}

uint32_t evaluation_runtime_flags(const evaluation *e) {
    return e->runtime_flags;
}

// ---- splits ----

hox_status evaluation_split_init(evaluation *e, evaluation_split *split, uint64_t count,
                                 uint32_t channels, uint32_t height, uint32_t width,
                                 hox_error *error) {
    *split = (evaluation_split){.labels = array_create(count, 1, error), .count = count};
    hox_status status = split->labels ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
    if (status == HOX_OK)
        status = e->api->samples_create(e->runtime, count, channels, height, width, &split->samples,
                                        error);
    if (status != HOX_OK) evaluation_split_deinit(e, split);
    return status;
}

hox_status evaluation_split_write(evaluation *e, evaluation_split *split, uint64_t first,
                                  uint64_t count, const float *images, hox_error *error) {
    return e->api->samples_write(split->samples, first, count, images, error);
}

void evaluation_split_deinit(evaluation *e, evaluation_split *split) {
    if (split->samples) e->api->samples_destroy(split->samples);
    free(split->labels);
    *split = (evaluation_split){0};
}

static hox_status reserve_lanes(evaluation *e, uint64_t count, hox_error *error) {
    for (uint32_t i = 0; i < evaluation_lane_count(e); i++) {
        lane_memory *lane = &e->lanes[i];
        if (lane->capacity >= count) continue;
        free(lane->logits);
        free(lane->keys);
        *lane = (lane_memory){.logits = array_create(count, sizeof *lane->logits, error),
                              .keys = array_create(count, sizeof *lane->keys, error)};
        if (!lane->logits || !lane->keys) return HOX_OUT_OF_HOST_MEMORY;
        lane->capacity = count;
    }
    return HOX_OK;
}

// ---- one genome on one lane ----

typedef struct scoring {
    evaluation *e;
    const genome *const *genomes;
    const evaluation_split *split;
    evaluation_result *results;
} scoring;

static uint32_t reason_of(hox_status status) {
    switch (status) {
        case HOX_OUT_OF_HOST_MEMORY:
        case HOX_OUT_OF_DEVICE_MEMORY: return EVALUATION_OOM;
        case HOX_UNSUPPORTED: return EVALUATION_UNSUPPORTED;
        default: return EVALUATION_PLUGIN_ERROR;
    }
}

static hox_genome_facts facts_of(const genome *g, const hox_plan *p) {
    return (hox_genome_facts){.struct_size = sizeof(hox_genome_facts),
                              .node_count = (uint32_t)g->node_count,
                              .edge_count = (uint32_t)g->edge_count,
                              .enabled_edge_count = (uint32_t)genome_enabled_edge_count(g),
                              .executed_node_count = p->node_count,
                              .executed_edge_count = p->edge_count,
                              .weight_count = p->weight_count,
                              .flops_per_sample = p->flops_per_sample};
}

// All chunks of the split through one runner.
static hox_status run_chunks(const scoring *s, uint32_t lane, hox_runner *runner,
                             const hox_weights *weights, uint64_t capacity, hox_error *error) {
    const evaluation *e = s->e;
    for (uint64_t first = 0; first < s->split->count; first += capacity) {
        const uint64_t left = s->split->count - first;
        hox_job job = {.struct_size = sizeof job,
                       .runner = runner,
                       .weights = weights,
                       .samples = s->split->samples,
                       .first = first,
                       .count = left < capacity ? left : capacity,
                       .logits = e->lanes[lane].logits + first,
                       .error = error};
        hox_job *const jobs[] = {&job};
        HOX_TRY(e->api->evaluate(e->runtime, lane, jobs, 1, error));
        if (job.status != HOX_OK) return job.status;
    }
    return HOX_OK;
}

static hox_status run_plan(const scoring *s, uint32_t lane, const plan *p, const genome *g,
                           hox_error *error) {
    const evaluation *e = s->e;
    HOX_TRY(e->api->check_plan(e->runtime, &p->view, HOX_PRECISION_FP32, error));
    plan_weights weights;
    HOX_TRY(plan_weights_init(&weights, p, g, error));
    const uint64_t capacity = e->batch_size < s->split->count ? e->batch_size : s->split->count;
    const hox_prepare_options options = {.struct_size = sizeof options,
                                         .capacity = (uint32_t)capacity,
                                         .precision = HOX_PRECISION_FP32,
                                         .purpose = HOX_PURPOSE_INFER};
    hox_runner *runner = NULL;
    hox_status status = e->api->prepare(e->runtime, lane, &p->view, &options, &runner, error);
    if (status == HOX_OK) status = run_chunks(s, lane, runner, &weights.view, capacity, error);
    if (runner) e->api->release(runner);
    plan_weights_deinit(&weights);
    return status;
}

static bool all_finite(const float *logits, uint64_t count, uint64_t *first_wrong) {
    for (*first_wrong = 0; *first_wrong < count; ++*first_wrong)
        if (!isfinite(logits[*first_wrong])) return false;
    return true;
}

// From logits to fitness.
static hox_status judge(const scoring *s, uint32_t lane, evaluation_result *result) {
    const lane_memory *memory = &s->e->lanes[lane];
    uint64_t wrong;
    if (!all_finite(memory->logits, s->split->count, &wrong)) {
        result->reason = EVALUATION_NAN;
        return hox_error_set(&result->error, HOX_INTERNAL, "the logit of image %llu is not finite",
                             (unsigned long long)wrong);
    }
    metrics_compute(memory->logits, s->split->labels, s->split->count, s->e->threshold,
                    memory->keys, &result->metrics);
    const instance *fitness = s->e->fitness;
    HOX_TRY(fitness->plugin->fitness->score(fitness->options, &result->metrics, &result->facts,
                                            &result->fitness, &result->error));
    result->metrics.logits = NULL;
    result->metrics.labels = NULL;
    if (isfinite(result->fitness)) return HOX_OK;
    result->reason = EVALUATION_NAN;
    return hox_error_set(&result->error, HOX_INTERNAL, "the fitness is not finite");
}

static hox_status run_and_judge(const scoring *s, uint32_t lane, const plan *p, const genome *g,
                                evaluation_result *result) {
    if (p->has_path)
        HOX_TRY(run_plan(s, lane, p, g, &result->error));
    else
        memset(s->e->lanes[lane].logits, 0, s->split->count * sizeof(float));
    return judge(s, lane, result);
}

static void score_one(void *context, uint64_t item, uint32_t lane) {
    const scoring *s = context;
    const genome *g = s->genomes[item];
    evaluation_result *result = &s->results[item];
    *result = (evaluation_result){.error = HOX_ERROR_INIT};
    plan p;
    hox_status status = plan_init(&p, g, &result->error);
    if (status == HOX_OK) {
        result->facts = facts_of(g, &p.view);
        result->bytes_per_sample = p.view.bytes_per_sample;
        memcpy(result->structure_hash, p.view.structure_hash, sizeof result->structure_hash);
        status = run_and_judge(s, lane, &p, g, result);
        plan_deinit(&p);
    }
    if (status == HOX_OK) return;
    if (result->reason == EVALUATION_OK) result->reason = reason_of(status);
    result->error.status = status;
    if (!result->error.message[0]) // a plugin may say nothing
        snprintf(result->error.message, sizeof result->error.message,
                 "status %d, and the plugin did not say why", status);
    result->fitness = NAN;
    result->metrics = (hox_predictions){0};
}

hox_status evaluation_check(const evaluation *e, const genome *g, hox_error *error) {
    plan p;
    HOX_TRY(plan_init(&p, g, error));
    const hox_status status =
        p.has_path ? e->api->check_plan(e->runtime, &p.view, HOX_PRECISION_FP32, error) : HOX_OK;
    plan_deinit(&p);
    return status;
}

hox_status evaluation_score(evaluation *e, const genome *const *genomes, size_t genome_count,
                            const evaluation_split *split, evaluation_result *results,
                            hox_error *error) {
    scoring s = {e, genomes, split, results};
    HOX_TRY(reserve_lanes(e, split->count, error));
    thread_pool_run(e->pool, genome_count, score_one, &s);
    for (size_t i = 0; i < genome_count; i++)
        if (results[i].error.status == HOX_DEVICE_LOST)
            return hox_error_set(error, HOX_DEVICE_LOST, "%s", results[i].error.message);
    return HOX_OK;
}
