// value_hash.h - what a genome's executed nodes and edges compute, as 128-bit names: equal name,
// equal map for the same image, in this genome or another (SPEC 2).
#pragma once

#include "plan/plan.h"

#include <hox/weights.h>

// The weights of one genome in its plan's order, ready for a runtime.
typedef struct plan_weights {
    hox_weights view;
    void *block; // one allocation behind all arrays
} plan_weights;

// p has a path and was made from g. Errors: OUT_OF_HOST_MEMORY. [any]
hox_status plan_weights_init(plan_weights *weights, const plan *p, const genome *g,
                             hox_error *error) HOX_MUST_CHECK;
void plan_weights_deinit(plan_weights *weights);
