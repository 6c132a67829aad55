// readout.c - sum, mean, and mean minus median, summed in double.
#include "cpu/readout.h"

#include <hox/plan.h>
#include <string.h>

// The value at place `rank` of the sorted values; reorders them. Hoare's FIND, as in Wirth,
// "Algorithms + Data Structures"; NaN ends a scan, so it stays within bounds.
static float select_rank(float *values, ptrdiff_t count, ptrdiff_t rank) {
    ptrdiff_t low = 0, high = count - 1;
    while (low < high) {
        const float pivot = values[rank];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i > j) break;
            const float swapped = values[i];
            values[i++] = values[j];
            values[j--] = swapped;
        }
        if (j < rank) low = i;
        if (rank < i) high = j;
    }
    return values[rank];
}

static float lower_median(const float *map, size_t count, float *scratch) {
    memcpy(scratch, map, count * sizeof *map);
    return select_rank(scratch, (ptrdiff_t)count, (ptrdiff_t)(count - 1) / 2);
}

float readout_logit(uint32_t kind, const float *map, size_t count, float *scratch) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += map[i];
    if (kind == HOX_READOUT_SUM) return (float)sum;

    const double mean = sum / (double)count;
    if (kind == HOX_READOUT_MEAN) return (float)mean;
    return (float)(mean - lower_median(map, count, scratch));
}

void readout_gradient(uint32_t kind, const float *map, size_t count, float dlogit, float *gradient,
                      float *scratch) {
    const float each = kind == HOX_READOUT_SUM ? dlogit : dlogit / (float)count;
    for (size_t i = 0; i < count; i++)
        gradient[i] = each;
    if (kind != HOX_READOUT_MEAN_MINUS_MEDIAN) return;
    const float median = lower_median(map, count, scratch);
    for (size_t i = 0; i < count; i++) {
        if (map[i] != median) continue;
        gradient[i] -= dlogit;
        return;
    }
}
