#include "genome/graph.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

typedef struct index_pair {
    uint32_t from, to;
} index_pair;

static uint32_t index_of(const genome *g, const genome_node *node) {
    return (uint32_t)(node - g->nodes);
}

// Counting sort of pairs into begin (node_count + 1) and node, by one end.
static void fill_lists(const index_pair *pairs, size_t pair_count, size_t node_count,
                       bool is_by_source, uint32_t *begin, uint32_t *node) {
    for (size_t i = 0; i < pair_count; i++)
        begin[(is_by_source ? pairs[i].from : pairs[i].to) + 1]++;
    for (size_t i = 0; i < node_count; i++)
        begin[i + 1] += begin[i];
    for (size_t i = pair_count;
         i-- > 0;) { // backwards, so that begin[k] sinks from the list's end to its start
        const uint32_t key = is_by_source ? pairs[i].from : pairs[i].to;
        node[--begin[key + 1]] = is_by_source ? pairs[i].to : pairs[i].from;
    }
    memmove(begin, begin + 1, node_count * sizeof *begin);
    begin[node_count] = (uint32_t)pair_count;
}

hox_status graph_init(genome_graph *graph, const genome *g, hox_error *error) {
    const size_t lists = g->node_count + 1;
    *graph = (genome_graph){.node_count = g->node_count,
                            .out_begin = array_create(lists, sizeof(uint32_t), error),
                            .out_node = array_create(g->edge_count, sizeof(uint32_t), error),
                            .in_begin = array_create(lists, sizeof(uint32_t), error),
                            .in_node = array_create(g->edge_count, sizeof(uint32_t), error)};
    index_pair *pairs = array_create(g->edge_count, sizeof *pairs, error);
    if (!graph->out_begin || !graph->out_node || !graph->in_begin || !graph->in_node || !pairs) {
        graph_deinit(graph);
        free(pairs);
        return HOX_OUT_OF_HOST_MEMORY;
    }
    size_t pair_count = 0;
    for (size_t i = 0; i < g->edge_count; i++) {
        const genome_edge *edge = &g->edges[i];
        const genome_node *from = genome_find_node(g, edge->from);
        const genome_node *to = genome_find_node(g, edge->to);
        if (edge->is_enabled && from && to)
            pairs[pair_count++] = (index_pair){index_of(g, from), index_of(g, to)};
    }
    fill_lists(pairs, pair_count, g->node_count, true, graph->out_begin, graph->out_node);
    fill_lists(pairs, pair_count, g->node_count, false, graph->in_begin, graph->in_node);
    free(pairs);
    return HOX_OK;
}

void graph_deinit(genome_graph *graph) {
    free(graph->out_begin);
    free(graph->out_node);
    free(graph->in_begin);
    free(graph->in_node);
    *graph = (genome_graph){0};
}

hox_status graph_reach(const genome_graph *graph, size_t start, bool is_forward, bool *reached,
                       hox_error *error) {
    const uint32_t *begin = is_forward ? graph->out_begin : graph->in_begin;
    const uint32_t *node = is_forward ? graph->out_node : graph->in_node;
    uint32_t *waiting = array_create(graph->node_count, sizeof *waiting, error);
    if (!waiting) return HOX_OUT_OF_HOST_MEMORY;
    memset(reached, 0, graph->node_count * sizeof *reached);
    size_t waiting_count = 0;
    reached[start] = true;
    waiting[waiting_count++] = (uint32_t)start;
    while (waiting_count > 0) {
        const uint32_t at = waiting[--waiting_count];
        for (uint32_t i = begin[at]; i < begin[at + 1]; i++) {
            if (reached[node[i]]) continue;
            reached[node[i]] = true;
            waiting[waiting_count++] = node[i];
        }
    }
    free(waiting);
    return HOX_OK;
}

static void heap_push(uint32_t *heap, size_t *count, uint32_t value) {
    size_t at = (*count)++;
    while (at > 0 && heap[(at - 1) / 2] > value) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = value;
}

static uint32_t heap_pop(uint32_t *heap, size_t *count) {
    const uint32_t least = heap[0], last = heap[--*count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= *count) break;
        if (child + 1 < *count && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= last) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return least;
}

hox_status graph_order(const genome_graph *graph, const bool *keep, uint32_t *order,
                       size_t *order_count, hox_error *error) {
    uint32_t *ready = array_create(graph->node_count, sizeof *ready, error);
    uint32_t *missing = array_create(graph->node_count, sizeof *missing, error);
    if (!ready || !missing) {
        free(ready);
        free(missing);
        return HOX_OUT_OF_HOST_MEMORY;
    }
    size_t ready_count = 0;
    for (uint32_t node = 0; node < graph->node_count; node++) {
        if (keep && !keep[node]) continue;
        for (uint32_t i = graph->in_begin[node]; i < graph->in_begin[node + 1]; i++)
            missing[node] += !keep || keep[graph->in_node[i]];
        if (missing[node] == 0) heap_push(ready, &ready_count, node);
    }
    *order_count = 0;
    while (ready_count > 0) {
        const uint32_t node = heap_pop(ready, &ready_count);
        order[(*order_count)++] = node;
        for (uint32_t i = graph->out_begin[node]; i < graph->out_begin[node + 1]; i++) {
            const uint32_t target = graph->out_node[i];
            if ((!keep || keep[target]) && --missing[target] == 0)
                heap_push(ready, &ready_count, target);
        }
    }
    free(ready);
    free(missing);
    return HOX_OK;
}

hox_status graph_has_path(const genome *g, uint32_t from, uint32_t to, bool *has_path,
                          hox_error *error) {
    *has_path = false;
    const genome_node *start = genome_find_node(g, from), *end = genome_find_node(g, to);
    if (!start || !end) return HOX_OK;
    genome_graph graph;
    HOX_TRY(graph_init(&graph, g, error));
    bool *reached = array_create(graph.node_count, sizeof *reached, error);
    hox_status status = HOX_OUT_OF_HOST_MEMORY;
    if (reached) status = graph_reach(&graph, index_of(g, start), true, reached, error);
    if (status == HOX_OK) *has_path = reached[index_of(g, end)];
    free(reached);
    graph_deinit(&graph);
    return status;
}
