// test_metrics.c - every number of a prediction against tables worked out by hand.
#include "evaluation/metrics.h"
#include "random.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

enum { MOST = 300 };

static hox_predictions compute(const float *logits, const uint8_t *labels, uint64_t count,
                               double threshold) {
    uint64_t keys[MOST];
    hox_predictions m;
    metrics_compute(logits, labels, count, threshold, keys, &m);
    return m;
}

static const struct {
    const char *what;
    uint64_t count;
    float logits[12];
    uint8_t labels[12];
    double threshold;
    uint64_t cells[4]; // TP TN FP FN
    double accuracy, balanced_accuracy, precision, recall, f1, mcc, auc;
} rows[] = {
    // positives 2, -1 over negatives 0.5, -3: three of four pairs
    {"one of each",
     4,
     {2, -1, 0.5F, -3},
     {1, 1, 0, 0},
     0,
     {1, 1, 1, 1},
     0.5,
     0.5,
     0.5,
     0.5,
     0.5,
     0,
     0.75},
    // mcc = (6*3 - 1*2) / sqrt(7*8*4*5); auc = (6*3 + 6*1/2 + 2*3/2) / 32
    {"many ties",
     12,
     {1, 1, 1, 1, 1, 1, -1, -1, 1, -1, -1, -1},
     {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
     0,
     {6, 3, 1, 2},
     0.75,
     0.75,
     6.0 / 7,
     0.75,
     0.8,
     0.47809144373375747,
     0.75},
    {"no positive", 3, {1, -1, -1}, {0, 0, 0}, 0, {0, 2, 1, 0}, 2.0 / 3, 1.0 / 3, 0, 0, 0, 0, 0.5},
    {"no negative", 2, {1, -1}, {1, 1}, 0, {1, 0, 0, 1}, 0.5, 0.25, 1, 0.5, 2.0 / 3, 0, 0.5},
    {"none called positive", 2, {-1, -1}, {1, 0}, 0, {0, 1, 0, 1}, 0.5, 0.5, 0, 0, 0, 0, 0.5},
    {"all called positive", 2, {1, 1}, {1, 0}, 0, {1, 0, 1, 0}, 0.5, 0.5, 0.5, 1, 2.0 / 3, 0, 0.5},
    {"at the threshold", 2, {0.5F, 0.49999997F}, {1, 0}, 0.5, {1, 1, 0, 0}, 1, 1, 1, 1, 1, 1, 1},
    {"zeros of both signs",
     2,
     {-0.0F, 0.0F},
     {1, 0},
     0,
     {1, 0, 1, 0},
     0.5,
     0.5,
     0.5,
     1,
     2.0 / 3,
     0,
     0.5},
    {"all wrong", 2, {-1, 1}, {1, 0}, 0, {0, 0, 1, 1}, 0, 0, 0, 0, 0, -1, 0},
    {"across the signs",
     4,
     {-2, -1, FLT_MAX, 1e-45F},
     {0, 1, 1, 0},
     0,
     {1, 1, 1, 1},
     0.5,
     0.5,
     0.5,
     0.5,
     0.5,
     0,
     0.75},
};

Test(metrics, are_what_the_tables_say) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const hox_predictions m =
            compute(rows[i].logits, rows[i].labels, rows[i].count, rows[i].threshold);
        const char *what = rows[i].what;
        cr_expect_eq(m.struct_size, sizeof m);
        cr_expect_eq(m.count, rows[i].count, "%s", what);
        cr_expect_eq(m.true_positives, rows[i].cells[0], "%s: TP", what);
        cr_expect_eq(m.true_negatives, rows[i].cells[1], "%s: TN", what);
        cr_expect_eq(m.false_positives, rows[i].cells[2], "%s: FP", what);
        cr_expect_eq(m.false_negatives, rows[i].cells[3], "%s: FN", what);
        cr_expect_float_eq(m.accuracy, rows[i].accuracy, 1e-15, "%s: accuracy", what);
        cr_expect_float_eq(m.balanced_accuracy, rows[i].balanced_accuracy, 1e-15, "%s: balanced",
                           what);
        cr_expect_float_eq(m.precision, rows[i].precision, 1e-15, "%s: precision", what);
        cr_expect_float_eq(m.recall, rows[i].recall, 1e-15, "%s: recall", what);
        cr_expect_float_eq(m.f1, rows[i].f1, 1e-15, "%s: f1", what);
        cr_expect_float_eq(m.mcc, rows[i].mcc, 1e-15, "%s: mcc", what);
        cr_expect_float_eq(m.auc, rows[i].auc, 1e-15, "%s: auc", what);
        cr_expect_eq(m.logits, rows[i].logits);
        cr_expect_eq(m.labels, rows[i].labels);
        cr_expect_eq(m.threshold, rows[i].threshold);
    }
}

// ln(1 + 1/e) where the decision is right, 1 more where it is wrong: three of the twelve above.
Test(metrics, log_loss_is_the_mean_of_ln_probability) {
    const hox_predictions m = compute(rows[1].logits, rows[1].labels, 12, 0);
    cr_expect_float_eq(m.logloss, 0.31326168751822283 + 0.25, 1e-15);
    static const float zero[] = {0, 0};
    cr_expect_float_eq(compute(zero, (const uint8_t[]){0, 1}, 2, 0).logloss, 0.69314718055994531,
                       1e-15);
}

Test(metrics, log_loss_stays_finite) {
    static const float huge[] = {1000, -1000, 1000, -1000};
    cr_expect_eq(compute(huge, (const uint8_t[]){1, 0, 1, 0}, 4, 0).logloss, 0);
    cr_expect_eq(compute(huge, (const uint8_t[]){0, 1, 1, 0}, 4, 0).logloss, 500);
    static const float largest[] = {FLT_MAX, -FLT_MAX};
    const double loss = compute(largest, (const uint8_t[]){0, 1}, 2, 0).logloss;
    cr_expect_float_eq(loss / (double)FLT_MAX, 1, 1e-12);
}

static double naive_auc(const float *logits, const uint8_t *labels, size_t count) {
    double wins = 0, pairs = 0;
    for (size_t p = 0; p < count; p++)
        for (size_t n = 0; n < count; n++) {
            if (!labels[p] || labels[n]) continue;
            pairs++;
            wins += logits[p] > logits[n] ? 1 : logits[p] == logits[n] ? 0.5 : 0;
        }
    return wins / pairs;
}

Test(metrics, agree_with_slow_definitions_on_random_data) {
    for (uint64_t seed = 0; seed < 50; seed++) {
        test_random r = {seed};
        const uint32_t count = 2 + random_below(&r, MOST - 1);
        const uint32_t steps = 1 + random_below(&r, 40); // few: many ties
        float logits[MOST];
        uint8_t labels[MOST];
        double loss = 0;
        for (uint32_t i = 0; i < count; i++) {
            labels[i] = i < 2 ? (uint8_t)i : (uint8_t)random_below(&r, 2);
            logits[i] = (float)random_below(&r, steps) - (float)steps / 2 + (float)labels[i];
            const double z = labels[i] ? (double)logits[i] : -(double)logits[i];
            loss += log(1 + exp(-z)) / count;
        }
        const hox_predictions m = compute(logits, labels, count, 0.5);
        cr_expect_float_eq(m.auc, naive_auc(logits, labels, count), 1e-12, "seed %zu",
                           (size_t)seed);
        cr_expect_float_eq(m.logloss, loss, 1e-9, "seed %zu", (size_t)seed);
        cr_expect_eq(m.true_positives + m.true_negatives + m.false_positives + m.false_negatives,
                     count);
    }
}
