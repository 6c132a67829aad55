// reference.c - see reference.h. Written from the definition alone; shares nothing with a runtime.
#include "reference.h"

#include <math.h>
#include <stdlib.h>

// A node while its edges are summed: the sum, and the sum of absolute values.
typedef struct map {
    size_t count;
    double *value;
    double *magnitude;
} map;

static double *zeros(size_t count) {
    double *values = calloc(count, sizeof *values);
    if (!values) abort();
    return values;
}

static double activate(uint32_t activation, double x) {
    switch (activation) {
        case HOX_ACTIVATION_IDENTITY: return x;
        case HOX_ACTIVATION_RELU: return x > 0 ? x : 0;
        case HOX_ACTIVATION_LEAKY_RELU: return x > 0 ? x : 0.01 * x;
        case HOX_ACTIVATION_TANH: return tanh(x);
        case HOX_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
        case HOX_ACTIVATION_GELU: return x * (1 + erf(x / sqrt(2))) / 2;
        case HOX_ACTIVATION_SILU: return x / (1 + exp(-x));
    }
    abort();
}

// One output pixel of one edge.
static void add_pixel(const hox_plan *plan, uint32_t edge, uint32_t target, const float *weights,
                      const map *source_map, uint32_t co, int64_t y, int64_t x, map *target_map) {
    const uint32_t source = plan->edge_source[edge];
    const int64_t channels = plan->node_channels[source];
    const int64_t height = plan->node_height[source], width = plan->node_width[source];
    const int64_t kernel_h = plan->edge_kernel_h[edge], kernel_w = plan->edge_kernel_w[edge];
    const float *kernel = weights + plan->edge_weight_offset[edge];
    const float *bias = kernel + plan->node_channels[target] * channels * kernel_h * kernel_w;

    double value = bias[co], magnitude = fabs((double)bias[co]);
    for (int64_t ci = 0; ci < channels; ci++) {
        for (int64_t ky = 0; ky < kernel_h; ky++) {
            for (int64_t kx = 0; kx < kernel_w; kx++) {
                const int64_t sy = y * plan->edge_stride_h[edge] + ky - plan->edge_padding_h[edge];
                const int64_t sx = x * plan->edge_stride_w[edge] + kx - plan->edge_padding_w[edge];
                if (sy < 0 || sy >= height || sx < 0 || sx >= width) continue;
                const double w = kernel[((co * channels + ci) * kernel_h + ky) * kernel_w + kx];
                const double product = w * source_map->value[(ci * height + sy) * width + sx];
                value += product;
                magnitude += fabs(product);
            }
        }
    }
    const size_t pixel =
        (size_t)((co * (int64_t)plan->node_height[target] + y) * (int64_t)plan->node_width[target] +
                 x);
    target_map->value[pixel] += value;
    target_map->magnitude[pixel] += magnitude;
}

static void compute_node(const hox_plan *plan, uint32_t node, const float *weights, map *maps) {
    for (uint32_t e = plan->node_edge_begin[node]; e < plan->node_edge_begin[node + 1]; e++)
        for (uint32_t co = 0; co < plan->node_channels[node]; co++)
            for (uint32_t y = 0; y < plan->node_height[node]; y++)
                for (uint32_t x = 0; x < plan->node_width[node]; x++)
                    add_pixel(plan, e, node, weights, &maps[plan->edge_source[e]], co, y, x,
                              &maps[node]);
    for (size_t i = 0; i < maps[node].count; i++)
        maps[node].value[i] = activate(plan->node_activation[node], maps[node].value[i]);
}

// The pixel that has exactly (count - 1) / 2 pixels before it, ties by index.
static size_t lower_median(const map *output) {
    for (size_t i = 0; i < output->count; i++) {
        size_t before = 0;
        for (size_t j = 0; j < output->count; j++)
            before += output->value[j] < output->value[i] ||
                      (output->value[j] == output->value[i] && j < i);
        if (before == (output->count - 1) / 2) return i;
    }
    return 0; // only NaN has no median
}

static reference_result read_out(uint32_t readout, const map *output) {
    reference_result result = {0, 0};
    const double share = readout == HOX_READOUT_SUM ? 1 : 1 / (double)output->count;
    for (size_t i = 0; i < output->count; i++) {
        result.logit += share * output->value[i];
        result.scale += share * output->magnitude[i];
    }
    if (readout == HOX_READOUT_MEAN_MINUS_MEDIAN) {
        const size_t median = lower_median(output);
        result.logit -= output->value[median];
        result.scale += output->magnitude[median];
    }
    return result;
}

reference_result reference_evaluate(const hox_plan *plan, const float *weights,
                                    const float *image) {
    map *maps = calloc(plan->node_count, sizeof *maps);
    if (!maps) abort();
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const size_t count =
            (size_t)plan->node_channels[i] * plan->node_height[i] * plan->node_width[i];
        maps[i] = (map){count, zeros(count), zeros(count)};
        for (size_t pixel = 0; i == 0 && pixel < count; pixel++)
            maps[0].value[pixel] = image[pixel];
        if (i > 0) compute_node(plan, i, weights, maps);
    }
    const reference_result result = read_out(plan->readout, &maps[plan->node_count - 1]);
    for (uint32_t i = 0; i < plan->node_count; i++) {
        free(maps[i].value);
        free(maps[i].magnitude);
    }
    free(maps);
    return result;
}

double reference_tolerance(const reference_result *result, double relative) {
    return relative * (1 + result->scale);
}
