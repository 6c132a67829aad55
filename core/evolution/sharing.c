#include "evolution/sharing.h"

#include <math.h>

typedef struct range {
    double smallest, largest;
} range;

static range fitness_range(const population *p) {
    range r = {INFINITY, -INFINITY};
    for (size_t i = 0; i < p->count; i++) {
        const individual *one = &p->items[i];
        if (one->has_fitness && one->fitness < r.smallest) r.smallest = one->fitness;
        if (one->has_fitness && one->fitness > r.largest) r.largest = one->fitness;
    }
    return r;
}

void sharing_mean_fitness(const species_set *set, const population *p, double *shares) {
    const range r = fitness_range(p);
    // A power of two changes no proportion and keeps differences and their sums from overflowing.
    const double scale = r.largest / 2.0 - r.smallest / 2.0 > 0x1p900 ? 0x1p-200 : 1.0;
    for (size_t s = 0; s < set->count; s++) {
        double sum = 0.0;
        for (size_t i = 0; i < p->count; i++)
            if (p->items[i].species_id == set->items[s].id && p->items[i].has_fitness)
                sum += (p->items[i].fitness * scale - r.smallest * scale) /
                       (double)set->items[s].member_count;
        shares[s] = sum;
    }
}

// What species i would get, were children divisible.
static double quota(const double *shares, size_t i, double share_sum, size_t active_count,
                    size_t total) {
    return share_sum > 0.0 ? shares[i] / share_sum * (double)total
                           : (double)total / (double)active_count;
}

void sharing_allot(const double *shares, const bool *is_active, size_t count, size_t total,
                   size_t *counts) {
    double share_sum = 0.0;
    size_t active_count = 0, given = 0;
    for (size_t i = 0; i < count; i++) {
        counts[i] = 0;
        if (!is_active[i]) continue;
        active_count++;
        share_sum += shares[i];
    }
    if (active_count == 0) return;
    for (size_t i = 0; i < count; i++) {
        if (!is_active[i]) continue;
        counts[i] = (size_t)quota(shares, i, share_sum, active_count, total);
        if (counts[i] > total - given) counts[i] = total - given; // rounding of the quotas
        given += counts[i];
    }
    for (; given < total;
         given++) { // one to the largest remainder left; a second round is rounding only
        size_t best = count;
        double best_remainder = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            if (!is_active[i]) continue;
            const double remainder =
                quota(shares, i, share_sum, active_count, total) - (double)counts[i];
            if (remainder > best_remainder) {
                best = i;
                best_remainder = remainder;
            }
        }
        counts[best]++;
    }
}
