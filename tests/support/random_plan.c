// random_plan.c - see random_plan.h.
#include "random_plan.h"

#include <math.h>
#include <string.h>

enum { NODE_FLOPS = 300000 };

typedef struct axis {
    uint32_t kernel, stride, padding;
} axis;

// Fits any sizes: the rule "derived".
static axis derived_axis(uint32_t source, uint32_t target) {
    if (source >= target) return (axis){source - target + 1, 1, 0};
    const uint32_t padding = (target - source + 1) / 2;
    return (axis){source + 2 * padding - target + 1, 1, padding};
}

// Any stride and padding, the kernel such that target = floor((source + 2p - k) / s) + 1.
static axis random_axis(test_random *random, uint32_t source, uint32_t target) {
    for (int attempt = 0; attempt < 8; attempt++) {
        const uint32_t stride = 1 + random_below(random, 3), padding = random_below(random, 10);
        const int64_t kernel = (int64_t)source + 2 * padding - (int64_t)(target - 1) * stride -
                               random_below(random, stride);
        if (kernel >= 1 && kernel <= 64) return (axis){(uint32_t)kernel, stride, padding};
    }
    return derived_axis(source, target);
}

void plan_begin(random_plan *made, uint32_t readout) {
    memset(made, 0, sizeof *made);
    made->plan = (hox_plan){
        .struct_size = sizeof made->plan,
        .readout = readout,
        .node_channels = made->channels,
        .node_height = made->height,
        .node_width = made->width,
        .node_activation = made->activation,
        .node_edge_begin = made->edge_begin,
        .node_last_use = made->last_use,
        .edge_source = made->source,
        .edge_kernel_h = made->kernel_h,
        .edge_kernel_w = made->kernel_w,
        .edge_stride_h = made->stride_h,
        .edge_stride_w = made->stride_w,
        .edge_padding_h = made->padding_h,
        .edge_padding_w = made->padding_w,
        .edge_weight_offset = made->weight_offset,
    };
}

void plan_add_node(random_plan *made, uint32_t channels, uint32_t height, uint32_t width,
                   uint32_t activation) {
    const uint32_t node = made->plan.node_count++;
    made->channels[node] = channels;
    made->height[node] = height;
    made->width[node] = width;
    made->activation[node] = activation;
    made->last_use[node] = node;
    made->edge_begin[node] = made->edge_begin[node + 1] = made->plan.edge_count;
    made->plan.bytes_per_sample += 4 * (uint64_t)channels * height * width * 27 / 20;
}

static void add_edge(random_plan *made, uint32_t source, axis rows, axis columns) {
    const uint32_t target = made->plan.node_count - 1, edge = made->plan.edge_count++;
    made->source[edge] = source;
    made->kernel_h[edge] = rows.kernel;
    made->kernel_w[edge] = columns.kernel;
    made->stride_h[edge] = rows.stride;
    made->stride_w[edge] = columns.stride;
    made->padding_h[edge] = rows.padding;
    made->padding_w[edge] = columns.padding;
    made->weight_offset[edge] = made->plan.weight_count;
    made->edge_begin[target + 1] = made->plan.edge_count;
    made->last_use[source] = target;
    const uint64_t taps = (uint64_t)made->channels[source] * rows.kernel * columns.kernel;
    made->plan.weight_count += made->channels[target] * (taps + 1);
    made->plan.flops_per_sample +=
        2 * taps * made->channels[target] * made->height[target] * made->width[target];
}

void plan_add_edge(random_plan *made, uint32_t source) {
    const uint32_t target = made->plan.node_count - 1;
    add_edge(made, source, derived_axis(made->height[source], made->height[target]),
             derived_axis(made->width[source], made->width[target]));
}

static void add_random_edge(random_plan *made, test_random *random, uint32_t source) {
    const uint32_t target = made->plan.node_count - 1;
    const axis rows = random_axis(random, made->height[source], made->height[target]);
    const axis columns = random_axis(random, made->width[source], made->width[target]);
    add_edge(made, source, rows, columns);
}

static void add_random_node(random_plan *made, test_random *random) {
    static const uint32_t sizes[][2] = {{1, 1},   {2, 2},   {5, 7},  {9, 4},   {12, 16}, {16, 16},
                                        {28, 28}, {31, 33}, {1, 13}, {32, 32}, {64, 3},  {2, 64}};
    static const uint32_t channels[] = {1, 2, 3, 3, 3, 4, 7, 8, 16, 17, 33, 64};
    const uint32_t *size = sizes[random_below(random, sizeof sizes / sizeof *sizes)];
    plan_add_node(made, channels[random_below(random, sizeof channels / sizeof *channels)], size[0],
                  size[1], random_below(random, HOX_ACTIVATION_COUNT));
}

// A node that reads one earlier node at least; the output reads all that nobody read.
static void add_connected_node(random_plan *made, test_random *random, int is_output) {
    add_random_node(made, random);
    const uint32_t node = made->plan.node_count - 1, chosen = random_below(random, node);
    for (uint32_t source = 0; source < node; source++) {
        const int is_unread = made->last_use[source] == source;
        if (source == chosen || (is_output && is_unread) || random_below(random, 3) == 0)
            add_random_edge(made, random, source);
    }
}

// The struct points into itself, so a copy is put back rather than kept.
static void try_until_small(random_plan *made, test_random *random, int is_output) {
    const random_plan before = *made;
    for (uint64_t limit = NODE_FLOPS;; limit += limit / 16) { // grows, so it ends
        add_connected_node(made, random, is_output);
        if (made->plan.flops_per_sample - before.plan.flops_per_sample <= limit) return;
        *made = before;
    }
}

void random_plan_make(random_plan *made, uint64_t seed) {
    test_random random = {seed};
    const uint32_t node_count = 2 + random_below(&random, RANDOM_PLAN_NODES - 1);
    plan_begin(made, random_below(&random, HOX_READOUT_COUNT));
    add_random_node(made, &random);
    made->activation[0] = HOX_ACTIVATION_IDENTITY;
    for (uint32_t node = 1; node < node_count; node++)
        try_until_small(made, &random, node == node_count - 1);
}

static uint32_t edge_target(const hox_plan *plan, uint32_t edge) {
    uint32_t node = 0;
    while (plan->node_edge_begin[node + 1] <= edge)
        node++;
    return node;
}

void random_weights(const hox_plan *plan, uint64_t seed, float *values) {
    test_random random = {seed};
    for (uint32_t edge = 0; edge < plan->edge_count; edge++) {
        const uint32_t taps = plan->node_channels[plan->edge_source[edge]] *
                              plan->edge_kernel_h[edge] * plan->edge_kernel_w[edge];
        const uint32_t biases = plan->node_channels[edge_target(plan, edge)];
        float *value = values + plan->edge_weight_offset[edge];
        for (uint32_t i = 0; i < biases * taps; i++)
            *value++ = sqrtf(6.0F / (float)taps) * random_signed(&random);
        for (uint32_t i = 0; i < biases; i++)
            *value++ = 0.1F * random_signed(&random);
    }
}

void random_images(uint64_t seed, size_t count, float *values) {
    test_random random = {seed};
    for (size_t i = 0; i < count; i++)
        values[i] = 0.5F + 0.5F * random_signed(&random);
}
