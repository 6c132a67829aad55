#include "genome/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t kernel_weight_count(const kernel *k) {
    return (uint64_t)k->target_channels * k->source_channels * k->height * k->width;
}

uint64_t kernel_value_count(const kernel *k) {
    return kernel_weight_count(k) + k->target_channels;
}

bool kernel_has_shape_of(const kernel *a, const kernel *b) {
    return a->target_channels == b->target_channels && a->source_channels == b->source_channels &&
           a->height == b->height && a->width == b->width;
}

double kernel_sigma(const kernel *k) {
    return sqrt(2.0 / ((double)k->source_channels * k->height * k->width));
}

kernel *kernel_create(map_size source, map_size target, geometry g, hox_error *error) {
    const kernel shape = {.target_channels = target.channels,
                          .source_channels = source.channels,
                          .height = g.rows.kernel,
                          .width = g.columns.kernel};
    kernel *k = calloc(1, sizeof *k + kernel_value_count(&shape) * sizeof(float));
    if (!k) {
        hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory: no room for a %u x %u kernel",
                      shape.height, shape.width);
        return NULL;
    }
    atomic_init(&k->reference_count, 1);
    k->target_channels = shape.target_channels;
    k->source_channels = shape.source_channels;
    k->height = shape.height;
    k->width = shape.width;
    return k;
}

kernel *kernel_draw(map_size source, map_size target, geometry g, double scale, rng *r,
                    hox_error *error) {
    kernel *k = kernel_create(source, target, g, error);
    if (!k || scale == 0.0) return k;
    const double deviation = scale * kernel_sigma(k);
    const uint64_t count = kernel_weight_count(k);
    for (uint64_t i = 0; i < count; i++)
        k->values[i] = (float)(deviation * rng_normal(r));
    return k;
}

kernel *kernel_copy(const kernel *k, hox_error *error) {
    const map_size source = {k->source_channels, 1, 1}, target = {k->target_channels, 1, 1};
    const geometry g = {{k->height, 1, 0}, {k->width, 1, 0}};
    kernel *copy = kernel_create(source, target, g, error);
    if (copy) memcpy(copy->values, k->values, kernel_value_count(k) * sizeof *k->values);
    return copy;
}

kernel *kernel_retain(kernel *k) {
    atomic_fetch_add(&k->reference_count, 1);
    return k;
}

void kernel_release(kernel *k) {
    if (k && atomic_fetch_sub(&k->reference_count, 1) == 1) free(k);
}
