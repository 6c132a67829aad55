#include "genome/distance.h"

#include <math.h>

const hox_field distance_fields[] = {
    HOX_REAL(distance_config, excess, 1.0, 0.0, 1000.0,
             "weight of the share of genes beyond the other genome's newest"),
    HOX_REAL(distance_config, disjoint, 1.0, 0.0, 1000.0,
             "weight of the share of genes that one genome lacks in between"),
    HOX_REAL(distance_config, weights, 0.4, 0.0, 1000.0,
             "weight of the mean difference of matching kernels, in sigma"),
};
const uint32_t distance_field_count = sizeof distance_fields / sizeof *distance_fields;

static double kernel_distance(const kernel *a, const kernel *b) {
    if (a == b) return 0.0;
    if (!kernel_has_shape_of(a, b)) return 1.0;
    const uint64_t count = kernel_value_count(a);
    double sum = 0.0;
    for (uint64_t i = 0; i < count; i++)
        sum += fabs((double)a->values[i] - (double)b->values[i]);
    const double mean = sum / (double)count / kernel_sigma(a);
    return mean < 2.0 ? mean : 2.0;
}

static uint64_t newest(const genome *g) {
    return g->edge_count ? g->edges[g->edge_count - 1].innovation : 0;
}

double distance_between(const genome *a, const genome *b, const distance_config *config) {
    const uint64_t newest_common = newest(a) < newest(b) ? newest(a) : newest(b);
    size_t i = 0, j = 0, match_count = 0, lone_count = 0, excess_count = 0;
    double difference = 0.0;
    while (i < a->edge_count || j < b->edge_count) {
        const uint64_t left = i < a->edge_count ? a->edges[i].innovation : UINT64_MAX;
        const uint64_t right = j < b->edge_count ? b->edges[j].innovation : UINT64_MAX;
        if (left == right) {
            difference += kernel_distance(a->edges[i].kernel, b->edges[j].kernel);
            match_count++;
        } else {
            lone_count++;
            excess_count += (left < right ? left : right) > newest_common;
        }
        i += left <= right;
        j += right <= left;
    }
    const size_t larger = a->edge_count > b->edge_count ? a->edge_count : b->edge_count;
    if (larger == 0) return 0.0;
    return (config->excess * (double)excess_count +
            config->disjoint * (double)(lone_count - excess_count)) /
               (double)larger +
           (match_count ? config->weights * difference / (double)match_count : 0.0);
}
