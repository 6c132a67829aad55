#include "tile_program.h"

#include "runtime/memory.h"

#include <stdbool.h>
#include <string.h>

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

// ---- how an edge is computed ----

enum { GROUPS = CUDA_TILE_THREADS / CUDA_TILE, MOST_HALVINGS = 3 }; // of a warp's 8 groups

// The edge's target and taps, and nothing else, choose: SPEC 7.
typedef struct work {
    uint64_t channels, height, width; // of the target
    uint64_t rows, kernel_w;          // rows of taps
} work;

static uint64_t tiles_of(const shape *s, const work *w) {
    return divide_up(w->channels, s->channels) * divide_up(w->width, s->pixels) * w->height;
}

// Instructions for all of the target on the processor's four schedulers, 8 parts of tiles a warp:
// products, loads of weights and pixels, steps of the loop; beginning a row; adding parts.
static uint64_t cost_of(const shape *s, const work *w, uint32_t halvings) {
    enum { PARTS = 32 / CUDA_TILE, SCHEDULERS = 4, VECTOR = 2, OTHER = 4, ROW = 60, ADD = 2 };
    const uint64_t values = s->channels * s->pixels;
    const uint64_t tap = values + VECTOR * divide_up(s->channels, 4) + OTHER;
    const uint64_t part = divide_up(w->rows, 1U << halvings) * (w->kernel_w * tap + ROW);
    return divide_up(tiles_of(s, w) << halvings, (uint64_t)PARTS * SCHEDULERS) *
           (part + halvings * values * ADD);
}

// The cheapest way, with as few halvings as may be. A tile is shared only where all parts of the
// target have a group of threads each.
static const shape *choose_way(const work *w, uint32_t *halvings) {
    const shape *best = shapes;
    *halvings = 0;
    for (uint32_t h = 0; h <= MOST_HALVINGS; h++)
        for (const shape *s = shapes; s < shapes + SHAPES; s++) {
            if (h > 0 && tiles_of(s, w) << h > GROUPS) continue;
            if (cost_of(s, w, h) >= cost_of(best, w, *halvings)) continue;
            best = s;
            *halvings = h;
        }
    return best;
}

static tile_node make_node(const hox_plan *plan, uint32_t i) {
    tile_node node = {.map = shape_map(plan, i),
                      .activation = plan->node_activation[i],
                      .edge_begin = plan->node_edge_begin[i],
                      .edge_end = plan->node_edge_begin[i + 1]};
    node.size = (uint64_t)node.map.channels * node.map.plane + CUDA_TILE_SLACK;
    return node;
}

static tile_edge make_edge(const hox_plan *plan, uint32_t e, const cuda_map *target) {
    tile_edge edge = {.source = plan->edge_source[e],
                      .kernel_h = plan->edge_kernel_h[e],
                      .kernel_w = plan->edge_kernel_w[e],
                      .stride_h = plan->edge_stride_h[e],
                      .stride_w = plan->edge_stride_w[e],
                      .padding_h = plan->edge_padding_h[e],
                      .padding_w = plan->edge_padding_w[e],
                      .weights = plan->edge_weight_offset[e]};
    const work w = {.channels = target->channels,
                    .height = target->height,
                    .width = target->width,
                    .rows = (uint64_t)plan->node_channels[edge.source] * edge.kernel_h,
                    .kernel_w = edge.kernel_w};
    const shape *s = choose_way(&w, &edge.halvings);
    edge.kind = s->kind;
    edge.taps_row = edge.kernel_w * (uint32_t)divide_up(s->channels, 4);
    if (edge.halvings > 0) edge.taps_row |= 1;
    return edge;
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
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const tile_node node = p->nodes[i] = make_node(plan, i);
        p->step_count += node.activation > HOX_ACTIVATION_LEAKY_RELU;
        for (uint32_t e = node.edge_begin; e < node.edge_end; e++) {
            uint64_t bias;
            p->edges[e] = make_edge(plan, e, &node.map);
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

// All taps for channels first .. end - 1 of the target.
static void pack_group(const tile_edge *edge, uint64_t rows, uint32_t first, uint32_t end,
                       const float *weights, float *packed) {
    const uint32_t width = (uint32_t)divide_up(channels_of(edge->kind), 4) * 4;
    const uint64_t row_floats = (uint64_t)edge->taps_row * 4, taps = rows * edge->kernel_w;
    memset(packed, 0, rows * row_floats * sizeof *packed);
    for (uint64_t tap = 0; tap < taps; tap++) {
        float *place = packed + tap / edge->kernel_w * row_floats + tap % edge->kernel_w * width;
        for (uint32_t k = first; k < end; k++)
            place[k - first] = weights[k * taps + tap];
    }
}

uint64_t tile_program_pack(const tile_program *p, const tile_node *target, const tile_edge *edge,
                           const float *weights, float *packed, uint64_t *bias) {
    const uint32_t channels = channels_of(edge->kind), all = target->map.channels;
    const uint64_t rows = (uint64_t)p->nodes[edge->source].map.channels * edge->kernel_h;
    const uint64_t group_floats = rows * edge->taps_row * 4;
    const uint64_t biases = divide_up(all, 4) * 4;
    *bias = divide_up(all, channels) * group_floats;
    if (packed) {
        const float *own = weights + edge->weights;
        for (uint32_t first = 0; first < all; first += channels, packed += group_floats)
            pack_group(edge, rows, first, first + channels < all ? first + channels : all, own,
                       packed);
        for (uint32_t k = 0; k < biases; k++)
            packed[k] = k < all ? own[all * rows * edge->kernel_w + k] : 0;
    }
    return *bias + biases;
}
