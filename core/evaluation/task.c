#include "evaluation/task.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t runner_bytes(uint64_t fixed, uint64_t per_sample, uint64_t images) {
    const double bytes = (double)fixed + (double)per_sample * (double)images;
    return bytes < 0x1p48 ? (uint64_t)bytes : UINT64_C(1) << 48;
}

static uint32_t reason_of(hox_status status) {
    switch (status) {
        case HOX_OUT_OF_HOST_MEMORY:
        case HOX_OUT_OF_DEVICE_MEMORY: return EVALUATION_OOM;
        case HOX_UNSUPPORTED: return EVALUATION_UNSUPPORTED;
        case HOX_DEVICE_LOST: return EVALUATION_DEVICE_LOST;
        default: return EVALUATION_PLUGIN_ERROR;
    }
}

void task_fail(task *t, hox_status status, const hox_error *why) {
    evaluation_result *r = t->result;
    t->is_over = true;
    if (r->reason == EVALUATION_OK) r->reason = reason_of(status);
    if (why != &r->error) r->error = *why;
    r->error.status = status;
    if (!r->error.message[0]) // a plugin may say nothing
        snprintf(r->error.message, sizeof r->error.message,
                 "status %d, and the plugin did not say why", status);
    r->fitness = NAN;
    r->metrics = (hox_predictions){0};
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

static hox_status ask_runtime(task *t, const hox_runtime_api *api, const hox_runtime *runtime,
                              uint32_t precision, hox_error *error) {
    const hox_plan *p = &t->plan.view;
    if (!t->plan.has_path) return HOX_OK;
    HOX_TRY(api->check_plan(runtime, p, precision, error));
    t->need =
        (hox_estimate){.struct_size = sizeof t->need, .bytes_per_sample = p->bytes_per_sample};
    if (!HOX_HAS(api, estimate) || !api->estimate) return HOX_OK;
    return api->estimate(runtime, p, precision, &t->need, error);
}

void task_init(task *t, const genome *g, evaluation_result *result, const hox_runtime_api *api,
               const hox_runtime *runtime, uint32_t precision) {
    *t = (task){.genome = g, .result = result};
    *result = (evaluation_result){.fitness = NAN, .error = HOX_ERROR_INIT};
    hox_status status = plan_init(&t->plan, g, &result->error);
    if (status == HOX_OK) {
        result->facts = facts_of(g, &t->plan.view);
        result->bytes_per_sample = t->plan.view.bytes_per_sample;
        memcpy(result->structure_hash, t->plan.view.structure_hash, sizeof result->structure_hash);
        status = ask_runtime(t, api, runtime, precision, &result->error);
    }
    if (status != HOX_OK) task_fail(t, status, &result->error);
}

void task_deinit(task *t) {
    task_unload(t);
    plan_deinit(&t->plan);
}

hox_status task_load(task *t, uint64_t image_count, hox_error *error) {
    t->logits = array_create(image_count, sizeof *t->logits, error);
    if (!t->logits) return HOX_OUT_OF_HOST_MEMORY;
    t->next = t->plan.has_path ? 0 : image_count;
    return t->plan.has_path ? plan_weights_init(&t->weights, &t->plan, t->genome, error) : HOX_OK;
}

void task_unload(task *t) {
    plan_weights_deinit(&t->weights);
    free(t->logits);
    t->logits = NULL;
}
