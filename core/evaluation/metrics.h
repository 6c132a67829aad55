// metrics.h - what a list of logits is worth against the labels (SPEC 6).
#pragma once

#include <hox/fitness.h>

// Fills *m from count finite logits and labels (1 = positive), decision logit >= threshold. keys:
// room for count numbers, overwritten. AUC is the Mann-Whitney statistic: Hanley and McNeil,
// Radiology 143 (1982). [any]
void metrics_compute(const float *logits, const uint8_t *labels, uint64_t count, double threshold,
                     uint64_t *keys, hox_predictions *m);
