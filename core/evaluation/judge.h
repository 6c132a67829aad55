// judge.h - from logits to fitness.
#pragma once

#include "evaluation/task.h"

typedef struct judge_space judge_space; // a lane's room to sort logits

typedef struct judge {
    const instance *fitness; // borrowed
    double threshold;        // of the decision, on logits
    judge_space *spaces;     // one per lane
    uint32_t lane_count;
} judge;

// Errors: OUT_OF_HOST_MEMORY. [main]
hox_status judge_init(judge *j, const instance *fitness, double threshold, uint32_t lane_count,
                      hox_error *error) HOX_MUST_CHECK;
void judge_deinit(judge *j); // {0} too

// Room for splits of so many images. Errors: OUT_OF_HOST_MEMORY. [main]
hox_status judge_reserve(judge *j, uint64_t image_count, hox_error *error) HOX_MUST_CHECK;

// Fills the task's result from its logits; what is not finite, or fails, is its failure. [lane]
void judge_task(const judge *j, task *t, const evaluation_split *split, uint32_t lane);
