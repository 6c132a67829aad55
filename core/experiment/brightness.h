// brightness.h - the simplest rival: a threshold on the mean brightness of an image. A champion
// that does not beat it has learned nothing about shapes.
#pragma once

#include "experiment/splits.h"

typedef struct brightness_rule {
    double threshold;         // mean raw pixel, 0..1
    bool is_positive_above;   // positive: brighter than the threshold; else darker or equal
    double balanced_accuracy; // on what it was fitted to
} brightness_rule;

// The threshold and side with the best balanced accuracy on refine and select together, which have
// been read. Errors: OUT_OF_HOST_MEMORY. [main]
hox_status brightness_fit(const splits *s, brightness_rule *rule, hox_error *error) HOX_MUST_CHECK;

// Balanced accuracy of the rule on a part that has been read.
double brightness_score(const brightness_rule *rule, const split_part *part);
