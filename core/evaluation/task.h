// task.h - one genome on its way through an evaluation.
#pragma once

#include "evaluation/evaluation.h"
#include "plan/value_hash.h"

typedef struct task {
    const genome *genome;
    evaluation_result *result;
    plan plan;
    hox_estimate need;    // what a runner takes
    plan_weights weights; // while its set is evaluated
    float *logits;        // likewise: one per image of the split

    // Guarded by the lanes' mutex while they run.
    uint64_t next; // the first image that no lane has taken
    bool is_over;  // no more images: failed, or set aside
    bool is_aside; // runs alone, after the others
    vram_ladder ladder;
} task;

// What a runner of so many images takes: fixed + images * per_sample, at most 2^48, so that no sum
// of such numbers overflows, whatever a plugin says. [any]
uint64_t runner_bytes(uint64_t fixed, uint64_t per_sample, uint64_t images);

// Plans the genome and asks the runtime what it takes. What fails is the task's failure. [any]
void task_init(task *t, const genome *g, evaluation_result *result, const hox_runtime_api *api,
               const hox_runtime *runtime, uint32_t precision);
void task_deinit(task *t); // {0} too

// Weights and logits for so many images; they are 0 where no path leads to the output, and such a
// task needs no lane. Errors: OUT_OF_HOST_MEMORY. [any]
hox_status task_load(task *t, uint64_t image_count, hox_error *error) HOX_MUST_CHECK;
void task_unload(task *t);

// Over, for this reason, whatever has a reason of its own excepted. [any]
void task_fail(task *t, hox_status status, const hox_error *why);
