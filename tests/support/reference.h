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

// All maps of one image, kept to see what a change of one weight does.
typedef struct reference_maps reference_maps;

// Borrows plan and weights. [any]
reference_maps *reference_maps_create(const hox_plan *plan, const float *weights,
                                      const float *image);
void reference_maps_destroy(reference_maps *maps);

// The logit if value `weight` of an edge (of its kernel, then of its bias) were larger by step.
double reference_nudge(reference_maps *maps, uint32_t edge, uint64_t weight, double step);

// How near the image comes to where a derivative jumps: the smallest of |sum| over the nodes with a
// kink, and of the distances from the median to other values; relative to 1 + what was summed.
double reference_clearance(const reference_maps *maps);
