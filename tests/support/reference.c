// reference.c - see reference.h. Written from the definition alone; shares nothing with a runtime.
#include "reference.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// A node: the sum of its edges, the sum of absolute values, and what the activation makes of it.
typedef struct map {
    size_t count;
    double *sum, *magnitude, *value;
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
    target_map->sum[pixel] += value;
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
        maps[node].value[i] = activate(plan->node_activation[node], maps[node].sum[i]);
}

typedef struct pixel {
    double value;
    size_t index;
} pixel;

static int compare_pixels(const void *a, const void *b) {
    const pixel *left = a, *right = b;
    if (left->value != right->value) return left->value < right->value ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

// By value, ties by index; free() it.
static pixel *sort_pixels(const map *output) {
    pixel *pixels = calloc(output->count, sizeof *pixels);
    if (!pixels) abort();
    for (size_t i = 0; i < output->count; i++)
        pixels[i] = (pixel){output->value[i], i};
    qsort(pixels, output->count, sizeof *pixels, compare_pixels);
    return pixels;
}

// The pixel that has exactly (count - 1) / 2 pixels before it.
static size_t lower_median(const map *output) {
    pixel *sorted = sort_pixels(output);
    const size_t median = sorted[(output->count - 1) / 2].index;
    free(sorted);
    return median;
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

static map make_map(const hox_plan *plan, uint32_t node) {
    const size_t count =
        (size_t)plan->node_channels[node] * plan->node_height[node] * plan->node_width[node];
    return (map){count, zeros(count), zeros(count), zeros(count)};
}

static map *compute_maps(const hox_plan *plan, const float *weights, const float *image) {
    map *maps = calloc(plan->node_count, sizeof *maps);
    if (!maps) abort();
    for (uint32_t i = 0; i < plan->node_count; i++) {
        maps[i] = make_map(plan, i);
        for (size_t k = 0; i == 0 && k < maps[0].count; k++)
            maps[0].value[k] = image[k];
        if (i > 0) compute_node(plan, i, weights, maps);
    }
    return maps;
}

static void free_maps(const hox_plan *plan, map *maps) {
    for (uint32_t i = 0; i < plan->node_count; i++) {
        free(maps[i].sum);
        free(maps[i].magnitude);
        free(maps[i].value);
    }
    free(maps);
}

reference_result reference_evaluate(const hox_plan *plan, const float *weights,
                                    const float *image) {
    map *maps = compute_maps(plan, weights, image);
    const reference_result result = read_out(plan->readout, &maps[plan->node_count - 1]);
    free_maps(plan, maps);
    return result;
}

double reference_tolerance(const reference_result *result, double relative) {
    return relative * (1 + result->scale);
}

// ---- changes of one weight ----

// How a node's values change; nothing where is_changed is false.
typedef struct change {
    bool is_changed;
    double *value;
} change;

struct reference_maps {
    const hox_plan *plan;
    const float *weights;
    map *maps;
    change *changes;
    double *sum;    // of one node at a time: as large as the largest
    pixel *sorted;  // of the output
    double *nudged; // its values in that order
    double logit;
};

reference_maps *reference_maps_create(const hox_plan *plan, const float *weights,
                                      const float *image) {
    reference_maps *made = calloc(1, sizeof *made);
    if (!made) abort();
    *made = (reference_maps){
        .plan = plan, .weights = weights, .maps = compute_maps(plan, weights, image)};
    made->changes = calloc(plan->node_count, sizeof *made->changes);
    if (!made->changes) abort();
    size_t largest = 0;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        made->changes[i].value = zeros(made->maps[i].count);
        if (made->maps[i].count > largest) largest = made->maps[i].count;
    }
    const map *output = &made->maps[plan->node_count - 1];
    made->sum = zeros(largest);
    made->sorted = sort_pixels(output);
    made->nudged = zeros(output->count);
    made->logit = read_out(plan->readout, output).logit;
    return made;
}

void reference_maps_destroy(reference_maps *maps) {
    if (!maps) return;
    for (uint32_t i = 0; i < maps->plan->node_count; i++)
        free(maps->changes[i].value);
    free_maps(maps->plan, maps->maps);
    free(maps->changes);
    free(maps->sum);
    free(maps->sorted);
    free(maps->nudged);
    free(maps);
}

static uint32_t edge_target(const hox_plan *plan, uint32_t edge) {
    uint32_t node = 1;
    while (plan->node_edge_begin[node + 1] <= edge)
        node++;
    return node;
}

static uint64_t kernel_count(const hox_plan *plan, uint32_t edge, uint32_t target) {
    return (uint64_t)plan->node_channels[target] * plan->node_channels[plan->edge_source[edge]] *
           plan->edge_kernel_h[edge] * plan->edge_kernel_w[edge];
}

// The first position whose tap lies at `position` of the source or behind it, at most `most`.
static int64_t first_position(int64_t position, int64_t tap, int64_t stride, int64_t padding,
                              int64_t most) {
    const int64_t distance = position + padding - tap;
    const int64_t first = distance <= 0 ? 0 : (distance + stride - 1) / stride;
    return first < most ? first : most;
}

// Adds factor times what weight `tap` of an edge's kernel meets.
static void add_tap(const hox_plan *plan, uint32_t edge, uint32_t target, uint32_t tap,
                    double factor, const double *source, double *sum) {
    const uint32_t from = plan->edge_source[edge];
    const uint32_t kernel_h = plan->edge_kernel_h[edge], kernel_w = plan->edge_kernel_w[edge];
    const uint32_t plane = tap / kernel_w / kernel_h;
    const int64_t ky = tap / kernel_w % kernel_h, kx = tap % kernel_w;
    const int64_t ci = plane % plan->node_channels[from], co = plane / plan->node_channels[from];
    const int64_t height = plan->node_height[from], width = plan->node_width[from];
    const int64_t rows = plan->node_height[target], columns = plan->node_width[target];
    const int64_t stride = plan->edge_stride_w[edge], padding = plan->edge_padding_w[edge];
    const int64_t begin = first_position(0, kx, stride, padding, columns);
    const int64_t end = first_position(width, kx, stride, padding, columns);
    for (int64_t y = 0; y < rows; y++) {
        const int64_t sy = y * plan->edge_stride_h[edge] + ky - plan->edge_padding_h[edge];
        if (sy < 0 || sy >= height) continue;
        double *to = sum + (co * rows + y) * columns;
        const double *row = source + (ci * height + sy) * width;
        for (int64_t x = begin; x < end; x++)
            to[x] += factor * row[x * stride + kx - padding];
    }
}

// Puts the new sums through the activation.
static void change_node(reference_maps *maps, uint32_t node) {
    const map *old = &maps->maps[node];
    change *made = &maps->changes[node];
    made->is_changed = true;
    for (size_t i = 0; i < old->count; i++)
        made->value[i] = activate(maps->plan->node_activation[node], maps->sum[i]) - old->value[i];
}

static void begin_node(reference_maps *maps, uint32_t node) {
    memcpy(maps->sum, maps->maps[node].sum, maps->maps[node].count * sizeof *maps->sum);
}

static void nudge_target(reference_maps *maps, uint32_t edge, uint32_t target, uint64_t weight,
                         double step) {
    const hox_plan *plan = maps->plan;
    const uint64_t kernel = kernel_count(plan, edge, target);
    begin_node(maps, target);
    if (weight < kernel) {
        add_tap(plan, edge, target, (uint32_t)weight, step,
                maps->maps[plan->edge_source[edge]].value, maps->sum);
    } else {
        const size_t plane = (size_t)plan->node_height[target] * plan->node_width[target];
        for (size_t i = 0; i < plane; i++)
            maps->sum[(weight - kernel) * plane + i] += step;
    }
    change_node(maps, target);
}

// A convolution is linear: the change of a sum is the sum over the changes.
static void nudge_reader(reference_maps *maps, uint32_t node) {
    const hox_plan *plan = maps->plan;
    maps->changes[node].is_changed = false;
    bool has_begun = false;
    for (uint32_t e = plan->node_edge_begin[node]; e < plan->node_edge_begin[node + 1]; e++) {
        const change *source = &maps->changes[plan->edge_source[e]];
        if (!source->is_changed) continue;
        if (!has_begun) begin_node(maps, node);
        has_begun = true;
        const float *kernel = maps->weights + plan->edge_weight_offset[e];
        const uint64_t taps = kernel_count(plan, e, node);
        for (uint32_t tap = 0; tap < taps; tap++)
            add_tap(plan, e, node, tap, kernel[tap], source->value, maps->sum);
    }
    if (has_begun) change_node(maps, node);
}

// Insertion: a small step leaves the order nearly as it was.
static double sorted_median(double *values, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const double value = values[i];
        size_t place = i;
        for (; place > 0 && values[place - 1] > value; place--)
            values[place] = values[place - 1];
        values[place] = value;
    }
    return values[(count - 1) / 2];
}

static double nudged_logit(reference_maps *maps) {
    const uint32_t readout = maps->plan->readout, last = maps->plan->node_count - 1;
    const size_t count = maps->maps[last].count;
    if (!maps->changes[last].is_changed) return maps->logit;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        maps->nudged[i] = maps->sorted[i].value + maps->changes[last].value[maps->sorted[i].index];
        sum += maps->nudged[i];
    }
    if (readout == HOX_READOUT_SUM) return sum;
    if (readout == HOX_READOUT_MEAN) return sum / (double)count;
    return sum / (double)count - sorted_median(maps->nudged, count);
}

double reference_nudge(reference_maps *maps, uint32_t edge, uint64_t weight, double step) {
    const uint32_t target = edge_target(maps->plan, edge);
    for (uint32_t i = 0; i < target; i++)
        maps->changes[i].is_changed = false;
    nudge_target(maps, edge, target, weight, step);
    for (uint32_t i = target + 1; i < maps->plan->node_count; i++)
        nudge_reader(maps, i);
    return nudged_logit(maps);
}

static double node_clearance(const map *m) {
    double smallest = INFINITY;
    for (size_t i = 0; i < m->count; i++)
        smallest = fmin(smallest, fabs(m->sum[i]) / (1 + m->magnitude[i]));
    return smallest;
}

// Equal values stay equal however they are summed, as far as they are of one making.
static double median_clearance(const reference_maps *maps) {
    const map *output = &maps->maps[maps->plan->node_count - 1];
    const size_t middle = (output->count - 1) / 2;
    const double median = maps->sorted[middle].value;
    size_t below = middle, above = middle;
    while (below > 0 && maps->sorted[below].value == median)
        below--;
    while (above + 1 < output->count && maps->sorted[above].value == median)
        above++;
    const double scale = 1 + output->magnitude[maps->sorted[middle].index];
    const double down = median - maps->sorted[below].value;
    const double up = maps->sorted[above].value - median;
    return fmin(down > 0 ? down : INFINITY, up > 0 ? up : INFINITY) / scale;
}

double reference_clearance(const reference_maps *maps) {
    const hox_plan *plan = maps->plan;
    double smallest = INFINITY;
    for (uint32_t i = 1; i < plan->node_count; i++) {
        const uint32_t activation = plan->node_activation[i];
        if (activation == HOX_ACTIVATION_RELU || activation == HOX_ACTIVATION_LEAKY_RELU)
            smallest = fmin(smallest, node_clearance(&maps->maps[i]));
    }
    if (plan->readout != HOX_READOUT_MEAN_MINUS_MEDIAN) return smallest;
    return fmin(smallest, median_clearance(maps));
}
