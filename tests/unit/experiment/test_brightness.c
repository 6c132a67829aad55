// test_brightness.c - the best threshold on brightness, against rules found by hand.
#include "experiment/brightness.h"

#include <criterion/criterion.h>

static splits with_parts(double *refine, uint8_t *refine_labels, uint64_t refine_positives,
                         double *select, uint8_t *select_labels, uint64_t select_positives,
                         uint64_t refine_count, uint64_t select_count) {
    splits s = {0};
    s.parts[SPLIT_REFINE] = (split_part){.brightness = refine,
                                         .labels = refine_labels,
                                         .count = refine_count,
                                         .positive_count = refine_positives};
    s.parts[SPLIT_SELECT] = (split_part){.brightness = select,
                                         .labels = select_labels,
                                         .count = select_count,
                                         .positive_count = select_positives};
    return s;
}

// Sorted: 0.1 n, 0.2 n, 0.25 p, 0.3 p, 0.4 n. Above 0.2: both positives, two of three negatives.
Test(brightness, finds_the_best_threshold_of_both_parts) {
    double refine[] = {0.3, 0.1, 0.2}, select[] = {0.4, 0.25};
    uint8_t refine_labels[] = {1, 0, 0}, select_labels[] = {0, 1};
    const splits s = with_parts(refine, refine_labels, 1, select, select_labels, 1, 3, 2);
    brightness_rule rule;
    cr_assert_eq(brightness_fit(&s, &rule, NULL), HOX_OK);
    cr_expect_eq(rule.threshold, 0.2);
    cr_expect(rule.is_positive_above);
    cr_expect_float_eq(rule.balanced_accuracy, (1 + 2.0 / 3) / 2, 1e-15);

    // 0.2 is not above: right; 0.21 right; 0.05 wrong
    double other[] = {0.2, 0.21, 0.05};
    uint8_t other_labels[] = {0, 1, 1};
    const split_part part = {
        .brightness = other, .labels = other_labels, .count = 3, .positive_count = 2};
    cr_expect_float_eq(brightness_score(&rule, &part), 0.75, 1e-15);
}

// The same upside down: positives are dark. Up to 0.2: two of three positives and all negatives.
Test(brightness, may_call_the_dark_ones_positive) {
    double refine[] = {0.1, 0.2, 0.25}, select[] = {0.3, 0.4};
    uint8_t refine_labels[] = {1, 1, 0}, select_labels[] = {0, 1};
    const splits s = with_parts(refine, refine_labels, 2, select, select_labels, 1, 3, 2);
    brightness_rule rule;
    cr_assert_eq(brightness_fit(&s, &rule, NULL), HOX_OK);
    cr_expect_eq(rule.threshold, 0.2);
    cr_expect_not(rule.is_positive_above);
    cr_expect_float_eq(rule.balanced_accuracy, (1 + 2.0 / 3) / 2, 1e-15);
    cr_expect_float_eq(brightness_score(&rule, &s.parts[SPLIT_REFINE]), 1, 1e-15);
    cr_expect_float_eq(brightness_score(&rule, &s.parts[SPLIT_SELECT]), 0.5, 1e-15);
}

// Equal shades cannot be told apart: half right is all there is.
Test(brightness, never_cuts_between_equal_shades) {
    double refine[] = {0.5, 0.5}, select[] = {0.5, 0.5};
    uint8_t refine_labels[] = {1, 0}, select_labels[] = {0, 1};
    const splits s = with_parts(refine, refine_labels, 1, select, select_labels, 1, 2, 2);
    brightness_rule rule;
    cr_assert_eq(brightness_fit(&s, &rule, NULL), HOX_OK);
    cr_expect_eq(rule.balanced_accuracy, 0.5);
    cr_expect_eq(brightness_score(&rule, &s.parts[SPLIT_REFINE]), 0.5);
}

Test(brightness, does_without_refine_or_a_class) {
    double select[] = {0.1, 0.9};
    uint8_t mixed[] = {0, 1}, none[] = {0, 0};
    brightness_rule rule;
    splits s = with_parts(NULL, NULL, 0, select, mixed, 1, 0, 2);
    cr_assert_eq(brightness_fit(&s, &rule, NULL), HOX_OK);
    cr_expect_eq(rule.balanced_accuracy, 1);
    cr_expect_eq(rule.threshold, 0.1);
    s = with_parts(NULL, NULL, 0, select, none, 0, 0, 2);
    cr_assert_eq(brightness_fit(&s, &rule, NULL), HOX_OK);
    cr_expect_eq(rule.balanced_accuracy, 0.5, "an absent class counts 0");
}
