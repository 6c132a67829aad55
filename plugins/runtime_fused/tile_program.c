#include "tile_program.h"

#include "runtime/memory.h"

#include <stdbool.h>

typedef struct shape {
    uint32_t kind, channels, pixels;
} shape;

static const shape shapes[] = {
#define X(name, channels, pixels) {name, channels, pixels},
    CUDA_STEP_MAP(X)
#undef X
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static uint64_t divide_up(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

// ---- maps ----

// Neighbouring rows begin on other banks where a row is an odd number of columns long. Images are
// as they are, and the output's map is only read out.
static cuda_map shape_map(const hox_plan *plan, uint32_t node) {
    const bool is_padded = node > 0 && node + 1 < plan->node_count;
    const uint32_t width = plan->node_width[node];
    const uint32_t row = (is_padded ? width | 1 : width) * CUDA_TILE;
    return (cuda_map){.channels = plan->node_channels[node],
                      .height = plan->node_height[node],
                      .width = width,
                      .row = row,
                      .plane = row * plan->node_height[node]};
}

hox_status tile_program_check(const hox_plan *plan, hox_error *error) {
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const uint64_t floats = (uint64_t)plan->node_channels[i] * plan->node_height[i] *
                                (plan->node_width[i] + 1) * CUDA_TILE;
        if (floats <= INT32_MAX) continue;
        if (error && error->status == HOX_OK) error->plan_node = (int32_t)i;
        return hox_error_set(error, HOX_UNSUPPORTED, "node %u: a map of %u x %u x %u is too large",
                             i, plan->node_channels[i], plan->node_height[i], plan->node_width[i]);
    }
    return HOX_OK;
}

// ---- how a node is computed ----

// Instructions for one tap over all of the target, on the processor's four schedulers, 8 tiles a
// warp: products, loads of weights and pixels, steps of the loop.
static uint64_t cost_of(const shape *s, const cuda_map *target) {
    enum { TILES = 32 / CUDA_TILE, SCHEDULERS = 4, VECTOR = 2, OTHER = 4 };
    const uint64_t tiles = divide_up(target->channels, s->channels) *
                           divide_up(target->width, s->pixels) * target->height;
    return divide_up(tiles, (uint64_t)TILES * SCHEDULERS) *
           (s->channels * s->pixels + VECTOR * divide_up(s->channels, 4) + OTHER);
}

static uint32_t choose_kind(const cuda_map *target) {
    const shape *best = shapes;
    for (size_t i = 1; i < SHAPES; i++)
        if (cost_of(&shapes[i], target) < cost_of(best, target)) best = &shapes[i];
    return best->kind;
}

static tile_node make_node(const hox_plan *plan, uint32_t i) {
    tile_node node = {.map = shape_map(plan, i),
                      .activation = plan->node_activation[i],
                      .edge_begin = plan->node_edge_begin[i],
                      .edge_end = plan->node_edge_begin[i + 1]};
    node.size = (uint64_t)node.map.channels * node.map.plane + CUDA_TILE_SLACK;
    node.kind = choose_kind(&node.map);
    return node;
}

static tile_edge make_edge(const hox_plan *plan, uint32_t e) {
    return (tile_edge){.source = plan->edge_source[e],
                       .kernel_h = plan->edge_kernel_h[e],
                       .kernel_w = plan->edge_kernel_w[e],
                       .stride_h = plan->edge_stride_h[e],
                       .stride_w = plan->edge_stride_w[e],
                       .padding_h = plan->edge_padding_h[e],
                       .padding_w = plan->edge_padding_w[e],
                       .weights = plan->edge_weight_offset[e]};
}

// ---- all of it ----

size_t tile_program_bytes(const hox_plan *plan) {
    return sizeof(tile_program) + plan->node_count * sizeof(tile_node) +
           plan->edge_count * sizeof(tile_edge);
}

tile_program *tile_program_make(void *memory, const hox_plan *plan) {
    tile_program *p = memory;
    *p = (tile_program){.node_count = plan->node_count,
                        .edge_count = plan->edge_count,
                        .readout = plan->readout,
                        .step_count = plan->edge_count + 1,
                        .nodes = (tile_node *)(p + 1)};
    p->edges = (tile_edge *)(p->nodes + plan->node_count);
    for (uint32_t e = 0; e < plan->edge_count; e++)
        p->edges[e] = make_edge(plan, e);
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const tile_node node = p->nodes[i] = make_node(plan, i);
        p->step_count += node.activation > HOX_ACTIVATION_LEAKY_RELU;
        for (uint32_t e = node.edge_begin; e < node.edge_end; e++) {
            uint64_t bias;
            p->weight_floats += tile_program_pack(p, &p->nodes[i], &p->edges[e], NULL, NULL, &bias);
        }
    }
    return p;
}

// ---- weights ----

static uint32_t channels_of(uint32_t kind) {
    const shape *s = shapes;
    while (s->kind != kind)
        s++;
    return s->channels;
}

// All taps for the target's channels from `first` on.
static void pack_group(const tile_node *target, uint64_t taps, uint32_t first, uint32_t width,
                       const float *weights, float *packed) {
    const uint32_t channels = channels_of(target->kind);
    for (uint64_t tap = 0; tap < taps; tap++)
        for (uint32_t k = 0; k < width; k++) {
            const bool is_real = k < channels && first + k < target->map.channels;
            *packed++ = is_real ? weights[(first + k) * taps + tap] : 0;
        }
}

uint64_t tile_program_pack(const tile_program *p, const tile_node *target, const tile_edge *edge,
                           const float *weights, float *packed, uint64_t *bias) {
    const uint32_t channels = channels_of(target->kind), all = target->map.channels;
    const uint32_t width = (uint32_t)divide_up(channels, 4) * 4;
    const uint64_t taps =
        (uint64_t)p->nodes[edge->source].map.channels * edge->kernel_h * edge->kernel_w;
    const uint64_t group_floats = taps * width, groups = divide_up(all, channels);
    const uint64_t biases = divide_up(all, 4) * 4;
    *bias = groups * group_floats;
    if (packed) {
        const float *own = weights + edge->weights;
        for (uint32_t g = 0; g < groups; g++)
            pack_group(target, taps, g * channels, width, own, packed + g * group_floats);
        for (uint32_t k = 0; k < biases; k++)
            packed[*bias + k] = k < all ? own[all * taps + k] : 0;
    }
    return *bias + biases;
}
