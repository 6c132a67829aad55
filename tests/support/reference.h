// reference.h - what a plan computes, in double precision and as slowly as the definition says.
#pragma once

#include <hox/plan.h>

typedef struct reference_result {
    double logit;
    double scale; // S: sum over output pixels of |readout coefficient| (sum of |w x| + |bias|)
} reference_result;

reference_result reference_evaluate(const hox_plan *plan, const float *weights, const float *image);

// How far a runtime's logit may be off: relative (1 + S).
double reference_tolerance(const reference_result *result, double relative);
