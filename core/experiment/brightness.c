#include "experiment/brightness.h"

#include "base/array.h"

#include <stdlib.h>

typedef struct shade {
    double brightness;
    bool is_positive;
} shade;

static int by_brightness(const void *a, const void *b) {
    const double left = ((const shade *)a)->brightness, right = ((const shade *)b)->brightness;
    return left < right ? -1 : left > right;
}

static size_t collect(const split_part *part, shade *shades) {
    for (uint64_t i = 0; i < part->count; i++)
        shades[i] = (shade){part->brightness[i], part->labels[i]};
    return part->count;
}

static double share(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : 0.0;
}

// Walks the threshold through every gap between two different shades.
static void fit(const shade *shades, size_t count, uint64_t positives, brightness_rule *rule) {
    const uint64_t negatives = count - positives;
    uint64_t positives_below = 0, negatives_below = 0;
    *rule = (brightness_rule){.threshold = -1.0, .is_positive_above = true};
    rule->balanced_accuracy = (share(positives, positives) + share(0, negatives)) / 2.0;
    for (size_t i = 0; i < count; i++) {
        positives_below += shades[i].is_positive;
        negatives_below += !shades[i].is_positive;
        if (i + 1 < count && shades[i + 1].brightness == shades[i].brightness) continue;
        const double above =
            (share(positives - positives_below, positives) + share(negatives_below, negatives)) /
            2.0;
        const double below =
            (share(positives_below, positives) + share(negatives - negatives_below, negatives)) /
            2.0;
        const double best = above >= below ? above : below;
        if (best > rule->balanced_accuracy)
            *rule = (brightness_rule){shades[i].brightness, above >= below, best};
    }
}

hox_status brightness_fit(const splits *s, brightness_rule *rule, hox_error *error) {
    const split_part *refine = &s->parts[SPLIT_REFINE], *select = &s->parts[SPLIT_SELECT];
    shade *shades = array_create(refine->count + select->count, sizeof *shades, error);
    if (!shades) return HOX_OUT_OF_HOST_MEMORY;
    size_t count = collect(refine, shades);
    count += collect(select, shades + count);
    qsort(shades, count, sizeof *shades, by_brightness);
    fit(shades, count, refine->positive_count + select->positive_count, rule);
    free(shades);
    return HOX_OK;
}

double brightness_score(const brightness_rule *rule, const split_part *part) {
    uint64_t right[2] = {0, 0}; // negatives, positives
    for (uint64_t i = 0; i < part->count; i++) {
        const bool is_above = part->brightness[i] > rule->threshold;
        right[part->labels[i]] += (is_above == rule->is_positive_above) == (part->labels[i] == 1);
    }
    return (share(right[1], part->positive_count) +
            share(right[0], part->count - part->positive_count)) /
           2.0;
}
