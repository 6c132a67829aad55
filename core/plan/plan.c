#include "plan/plan.h"

#include "base/array.h"
#include "base/hash.h"
#include "genome/graph.h"

#include <stdlib.h>
#include <string.h>

bool plan_bytes_per_sample(const uint32_t *channels, const uint32_t *heights,
                           const uint32_t *widths, size_t node_count, uint64_t *bytes) {
    uint64_t sum = 0, map;
    for (size_t i = 0; i < node_count; i++) {
        if (__builtin_mul_overflow((uint64_t)heights[i] * widths[i], 4 * (uint64_t)channels[i],
                                   &map) ||
            __builtin_add_overflow(sum, map, &sum))
            return false;
    }
    if (__builtin_mul_overflow(sum, (uint64_t)27, &sum) || sum > INT64_MAX) return false;
    *bytes = sum / 20;
    return true;
}

static const uint32_t NOT_EXECUTED = UINT32_MAX;

// Marks in keep the nodes on an enabled path from input to output.
static hox_status mark_executed(const genome *g, const genome_graph *graph, bool *keep,
                                hox_error *error) {
    bool *reaches_output = array_create(g->node_count, sizeof *reaches_output, error);
    if (!reaches_output) return HOX_OUT_OF_HOST_MEMORY;
    const size_t input = (size_t)(genome_find_node(g, GENOME_INPUT) - g->nodes);
    const size_t output = (size_t)(genome_find_node(g, GENOME_OUTPUT) - g->nodes);
    hox_status status = graph_reach(graph, input, true, keep, error);
    if (status == HOX_OK) status = graph_reach(graph, output, false, reaches_output, error);
    for (size_t i = 0; i < g->node_count; i++)
        keep[i] = keep[i] && reaches_output[i];
    free(reaches_output);
    return status;
}

// order: indices of the executed nodes, in order. Without a path their count is 0.
static hox_status order_executed(const genome *g, uint32_t *order, size_t *count,
                                 hox_error *error) {
    genome_graph graph;
    HOX_TRY(graph_init(&graph, g, error));
    hox_status status = HOX_OUT_OF_HOST_MEMORY;
    bool *keep = array_create(g->node_count, sizeof *keep, error);
    if (keep) status = mark_executed(g, &graph, keep, error);
    if (status == HOX_OK) status = graph_order(&graph, keep, order, count, error);
    free(keep);
    graph_deinit(&graph);
    return status;
}

// The view's members are const for its readers; this is the same memory while it is being filled.
typedef struct plan_arrays {
    uint64_t *edge_weight_offset;
    uint32_t *node_index, *node_channels, *node_height, *node_width, *node_activation,
        *node_edge_begin, *node_last_use;
    uint32_t *edge_index, *edge_source, *edge_kernel_h, *edge_kernel_w, *edge_stride_h,
        *edge_stride_w, *edge_padding_h, *edge_padding_w;
} plan_arrays;

static hox_status allocate(plan *p, size_t nodes, size_t edges, plan_arrays *a, hox_error *error) {
    uint32_t **const per_node[] = {&a->node_index, &a->node_channels,   &a->node_height,
                                   &a->node_width, &a->node_activation, &a->node_last_use};
    uint32_t **const per_edge[] = {&a->edge_index,     &a->edge_source,   &a->edge_kernel_h,
                                   &a->edge_kernel_w,  &a->edge_stride_h, &a->edge_stride_w,
                                   &a->edge_padding_h, &a->edge_padding_w};
    const size_t node_arrays = sizeof per_node / sizeof *per_node;
    const size_t edge_arrays = sizeof per_edge / sizeof *per_edge;
    const size_t words = node_arrays * nodes + (nodes + 1) + edge_arrays * edges;
    p->block = array_create(edges * sizeof(uint64_t) + words * sizeof(uint32_t), 1, error);
    if (!p->block) return HOX_OUT_OF_HOST_MEMORY;
    a->edge_weight_offset = p->block;
    uint32_t *at = (uint32_t *)(a->edge_weight_offset + edges);
    for (size_t i = 0; i < node_arrays; i++, at += nodes)
        *per_node[i] = at;
    a->node_edge_begin = at;
    at += nodes + 1;
    for (size_t i = 0; i < edge_arrays; i++, at += edges)
        *per_edge[i] = at;
    return HOX_OK;
}

static void fill_nodes(const genome *g, const uint32_t *order, size_t node_count, plan_arrays *a) {
    for (size_t i = 0; i < node_count; i++) {
        const genome_node *node = &g->nodes[order[i]];
        a->node_index[i] = order[i];
        a->node_channels[i] = node->size.channels;
        a->node_height[i] = node->size.height;
        a->node_width[i] = node->size.width;
        a->node_activation[i] = node->activation;
        a->node_last_use[i] = (uint32_t)i;
    }
}

static void fill_edge(plan_arrays *a, uint32_t at, const genome_edge *edge, uint32_t source,
                      uint32_t target) {
    a->edge_source[at] = source;
    a->edge_kernel_h[at] = edge->geometry.rows.kernel;
    a->edge_kernel_w[at] = edge->geometry.columns.kernel;
    a->edge_stride_h[at] = edge->geometry.rows.stride;
    a->edge_stride_w[at] = edge->geometry.columns.stride;
    a->edge_padding_h[at] = edge->geometry.rows.padding;
    a->edge_padding_w[at] = edge->geometry.columns.padding;
    if (a->node_last_use[source] < target) a->node_last_use[source] = target;
}

// place: per genome node, its index in the plan or NOT_EXECUTED.
static uint32_t place_of(const genome *g, const uint32_t *place, uint32_t id) {
    const genome_node *node = genome_find_node(g, id);
    return node ? place[node - g->nodes] : NOT_EXECUTED;
}

static bool is_executed(const genome *g, const uint32_t *place, const genome_edge *edge) {
    return edge->is_enabled && place_of(g, place, edge->from) != NOT_EXECUTED &&
           place_of(g, place, edge->to) != NOT_EXECUTED;
}

// Groups the executed edges by target; within a target the genome's order, by innovation, stays.
static void fill_edges(const genome *g, const uint32_t *place, size_t node_count, plan_arrays *a) {
    uint32_t *begin = a->node_edge_begin;
    for (size_t i = 0; i < g->edge_count; i++)
        if (is_executed(g, place, &g->edges[i])) begin[place_of(g, place, g->edges[i].to) + 1]++;
    for (size_t i = 0; i < node_count; i++)
        begin[i + 1] += begin[i];
    const uint32_t edge_count = begin[node_count];
    for (size_t i = g->edge_count; i-- > 0;) { // backwards: begin[t + 1] sinks to the start of t
        const genome_edge *edge = &g->edges[i];
        if (!is_executed(g, place, edge)) continue;
        const uint32_t target = place_of(g, place, edge->to);
        const uint32_t at = --begin[target + 1];
        a->edge_index[at] = (uint32_t)i;
        fill_edge(a, at, edge, place_of(g, place, edge->from), target);
    }
    memmove(begin, begin + 1, node_count * sizeof *begin);
    begin[node_count] = edge_count;
}

// Weight offsets and the sums over edges.
static void add_up(plan *p, const genome *g, plan_arrays *a) {
    hox_plan *v = &p->view;
    for (uint32_t node = 0; node < v->node_count; node++)
        for (uint32_t e = a->node_edge_begin[node]; e < a->node_edge_begin[node + 1]; e++) {
            const kernel *k = g->edges[a->edge_index[e]].kernel;
            a->edge_weight_offset[e] = v->weight_count;
            v->weight_count += kernel_value_count(k);
            v->flops_per_sample +=
                2 * kernel_weight_count(k) * a->node_height[node] * a->node_width[node];
        }
}

// Hash of all that prepares alike: counts, readout and every array but the indices into the genome.
static hox_status hash_structure(plan *p, hox_error *error) {
    hox_plan *v = &p->view;
    const struct {
        const uint32_t *words;
        size_t count;
    } parts[] = {
        {(const uint32_t[]){v->node_count, v->edge_count, v->readout}, 3},
        {v->node_channels, v->node_count},
        {v->node_height, v->node_count},
        {v->node_width, v->node_count},
        {v->node_activation, v->node_count},
        {v->node_edge_begin, v->node_count + 1},
        {v->edge_source, v->edge_count},
        {v->edge_kernel_h, v->edge_count},
        {v->edge_kernel_w, v->edge_count},
        {v->edge_stride_h, v->edge_count},
        {v->edge_stride_w, v->edge_count},
        {v->edge_padding_h, v->edge_count},
        {v->edge_padding_w, v->edge_count},
    };
    size_t total = 0, at = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        total += parts[i].count;
    uint32_t *words = array_create(total, sizeof *words, error);
    if (!words) return HOX_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; at += parts[i++].count)
        memcpy(words + at, parts[i].words, parts[i].count * sizeof *words);
    const hash128 hash = hash_bytes(words, total * sizeof *words);
    memcpy(v->structure_hash, hash.words, sizeof hash.words);
    free(words);
    return HOX_OK;
}

static hox_status fill(plan *p, const genome *g, const uint32_t *order, size_t node_count,
                       uint32_t *place, hox_error *error) {
    memset(place, 0xff, g->node_count * sizeof *place);
    for (size_t i = 0; i < node_count; i++)
        place[order[i]] = (uint32_t)i;
    size_t edge_count = 0;
    for (size_t i = 0; i < g->edge_count; i++)
        edge_count += is_executed(g, place, &g->edges[i]);

    plan_arrays a;
    HOX_TRY(allocate(p, node_count, edge_count, &a, error));
    fill_nodes(g, order, node_count, &a);
    fill_edges(g, place, node_count, &a);

    p->view = (hox_plan){.struct_size = sizeof(hox_plan),
                         .node_count = (uint32_t)node_count,
                         .edge_count = (uint32_t)edge_count,
                         .readout = g->readout,
                         .node_channels = a.node_channels,
                         .node_height = a.node_height,
                         .node_width = a.node_width,
                         .node_activation = a.node_activation,
                         .node_edge_begin = a.node_edge_begin,
                         .node_last_use = a.node_last_use,
                         .edge_source = a.edge_source,
                         .edge_kernel_h = a.edge_kernel_h,
                         .edge_kernel_w = a.edge_kernel_w,
                         .edge_stride_h = a.edge_stride_h,
                         .edge_stride_w = a.edge_stride_w,
                         .edge_padding_h = a.edge_padding_h,
                         .edge_padding_w = a.edge_padding_w,
                         .edge_weight_offset = a.edge_weight_offset};
    p->node_index = a.node_index;
    p->edge_index = a.edge_index;
    p->has_path = true;
    add_up(p, g, &a);
    if (!plan_bytes_per_sample(a.node_channels, a.node_height, a.node_width, node_count,
                               &p->view.bytes_per_sample))
        return hox_error_set(error, HOX_INVALID_ARGUMENT,
                             "the maps of one image are larger than 2^63 bytes");
    return hash_structure(p, error);
}

hox_status plan_init(plan *p, const genome *g, hox_error *error) {
    *p = (plan){0};
    uint32_t *order = array_create(g->node_count, sizeof *order, error);
    uint32_t *place = array_create(g->node_count, sizeof *place, error);
    hox_status status = HOX_OUT_OF_HOST_MEMORY;
    size_t node_count = 0;
    if (order && place) status = order_executed(g, order, &node_count, error);
    if (status == HOX_OK && node_count > 0) status = fill(p, g, order, node_count, place, error);
    if (status != HOX_OK) plan_deinit(p);
    free(order);
    free(place);
    return status;
}

void plan_deinit(plan *p) {
    free(p->block);
    *p = (plan){0};
}

void plan_copy_weights(const plan *p, const genome *g, float *values) {
    for (uint32_t e = 0; e < p->view.edge_count; e++) {
        const kernel *k = g->edges[p->edge_index[e]].kernel;
        memcpy(values + p->view.edge_weight_offset[e], k->values,
               kernel_value_count(k) * sizeof *values);
    }
}
