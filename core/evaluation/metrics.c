#include "evaluation/metrics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static double share(double part, double whole) {
    return whole > 0.0 ? part / whole : 0.0;
}

static int by_value(const void *a, const void *b) {
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

// Whole numbers in the order of the floats they stand for; -0 is 0.
static uint32_t ordered(float value) {
    const float plain = value + 0.0f;
    uint32_t bits;
    memcpy(&bits, &plain, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// Chance that a positive stands above a negative, ties counting half. keys: logit in the high bits,
// label in the lowest.
static double area_under_curve(uint64_t *keys, uint64_t count, uint64_t positives) {
    const uint64_t negatives = count - positives;
    if (positives == 0 || negatives == 0) return 0.5;
    qsort(keys, count, sizeof *keys, by_value);
    uint64_t negatives_below = 0, twice_wins = 0;
    for (uint64_t i = 0; i < count;) {
        uint64_t tied_positives = 0, tied_negatives = 0;
        const uint64_t logit = keys[i] >> 1;
        for (; i < count && keys[i] >> 1 == logit; i++) {
            tied_positives += keys[i] & 1;
            tied_negatives += !(keys[i] & 1);
        }
        twice_wins += tied_positives * (2 * negatives_below + tied_negatives);
        negatives_below += tied_negatives;
    }
    return (double)twice_wins / (2.0 * (double)positives * (double)negatives);
}

// -ln of the probability given to the right class, without overflow: max(z, 0) - z y + ln(1 +
// exp(-|z|)).
static double log_loss(double z, bool is_positive) {
    return (z > 0.0 ? z : 0.0) - (is_positive ? z : 0.0) + log1p(exp(-fabs(z)));
}

void metrics_compute(const float *logits, const uint8_t *labels, uint64_t count, double threshold,
                     uint64_t *keys, hox_predictions *m) {
    uint64_t cells[2][2] = {{0, 0}, {0, 0}}; // by label, by decision
    double loss = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        const bool is_positive = labels[i] != 0;
        cells[is_positive][(double)logits[i] >= threshold]++;
        loss += log_loss((double)logits[i], is_positive);
        keys[i] = (uint64_t)ordered(logits[i]) << 1 | is_positive;
    }
    const double tp = (double)cells[1][1], fn = (double)cells[1][0];
    const double tn = (double)cells[0][0], fp = (double)cells[0][1];
    const double recall = share(tp, tp + fn), precision = share(tp, tp + fp);
    *m = (hox_predictions){.struct_size = sizeof *m,
                           .count = count,
                           .logits = logits,
                           .labels = labels,
                           .threshold = threshold,
                           .true_positives = cells[1][1],
                           .true_negatives = cells[0][0],
                           .false_positives = cells[0][1],
                           .false_negatives = cells[1][0],
                           .accuracy = share(tp + tn, (double)count),
                           .balanced_accuracy = (recall + share(tn, tn + fp)) / 2.0,
                           .precision = precision,
                           .recall = recall,
                           .f1 = share(2.0 * tp, 2.0 * tp + fp + fn),
                           .mcc = share(tp * tn - fp * fn, sqrt(tp + fp) * sqrt(tp + fn) *
                                                               sqrt(tn + fp) * sqrt(tn + fn)),
                           .auc = area_under_curve(keys, count, cells[1][1] + cells[1][0]),
                           .logloss = share(loss, (double)count)};
}
