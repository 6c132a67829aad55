#include "genome/validate.h"

#include "base/array.h"
#include "genome/graph.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_SIDE = 65536 };

static hox_status check_node(const genome_node *node, hox_error *error) {
    const map_size s = node->size;
    if (s.channels < 1 || s.height < 1 || s.width < 1 || s.channels > MAX_SIDE ||
        s.height > MAX_SIDE || s.width > MAX_SIDE)
        return hox_error_set(error, HOX_INVALID_ARGUMENT,
                             "node %u: size %u x %u x %u is outside 1..%d", node->id, s.channels,
                             s.height, s.width, MAX_SIDE);
    if (node->activation >= HOX_ACTIVATION_COUNT)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "node %u: unknown activation %u",
                             node->id, node->activation);
    return HOX_OK;
}

static hox_status wrong_edge(const genome_edge *edge, const char *what, hox_error *error) {
    return hox_error_set(error, HOX_INVALID_ARGUMENT, "edge %u -> %u: %s", edge->from, edge->to,
                         what);
}

static hox_status check_kernel(const genome_edge *edge, map_size source, map_size target,
                               hox_error *error) {
    const kernel *k = edge->kernel;
    if (k->source_channels != source.channels || k->target_channels != target.channels ||
        k->height != edge->geometry.rows.kernel || k->width != edge->geometry.columns.kernel)
        return wrong_edge(edge, "the weights have another shape than the edge", error);
    const uint64_t count = kernel_value_count(k);
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(k->values[i])) return wrong_edge(edge, "a weight is not finite", error);
    return HOX_OK;
}

static hox_status check_edge(const genome *g, const genome_edge *edge, uint32_t max_kernel,
                             hox_error *error) {
    const genome_node *from = genome_find_node(g, edge->from);
    const genome_node *to = genome_find_node(g, edge->to);
    if (!from || !to)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "edge %u -> %u: there is no node %u",
                             edge->from, edge->to, from ? edge->to : edge->from);
    if (edge->to == GENOME_INPUT) return wrong_edge(edge, "leads into the input", error);
    if (edge->from == GENOME_OUTPUT) return wrong_edge(edge, "leads out of the output", error);
    const geometry e = edge->geometry;
    if (e.rows.stride > MAX_SIDE || e.columns.stride > MAX_SIDE || e.rows.padding > MAX_SIDE ||
        e.columns.padding > MAX_SIDE)
        return wrong_edge(edge, "a stride or a padding is above 65536", error);
    if (!geometry_fits(e, from->size, to->size))
        return hox_error_set(error, HOX_INVALID_ARGUMENT,
                             "edge %u -> %u: kernel %u x %u, stride %u x %u, padding %u x %u do "
                             "not lead from %u x %u to %u x %u",
                             edge->from, edge->to, e.rows.kernel, e.columns.kernel, e.rows.stride,
                             e.columns.stride, e.rows.padding, e.columns.padding, from->size.height,
                             from->size.width, to->size.height, to->size.width);
    if (max_kernel && geometry_largest_kernel(e) > max_kernel)
        return hox_error_set(error, HOX_INVALID_ARGUMENT,
                             "edge %u -> %u: kernel %u x %u is larger than max_kernel %u",
                             edge->from, edge->to, e.rows.kernel, e.columns.kernel, max_kernel);
    return check_kernel(edge, from->size, to->size, error);
}

static int by_ends(const void *a, const void *b) {
    const genome_edge *left = *(genome_edge *const *)a, *right = *(genome_edge *const *)b;
    if (left->from != right->from) return left->from < right->from ? -1 : 1;
    return left->to < right->to ? -1 : left->to > right->to;
}

static hox_status check_no_twins(const genome *g, hox_error *error) {
    const genome_edge **sorted = array_create(g->edge_count, sizeof *sorted, error);
    if (!sorted) return HOX_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < g->edge_count; i++)
        sorted[i] = &g->edges[i];
    qsort(sorted, g->edge_count, sizeof *sorted, by_ends);
    hox_status status = HOX_OK;
    for (size_t i = 1; i < g->edge_count && status == HOX_OK; i++)
        if (by_ends(&sorted[i - 1], &sorted[i]) == 0)
            status = wrong_edge(sorted[i], "given twice", error);
    free(sorted);
    return status;
}

static hox_status check_acyclic(const genome *g, hox_error *error) {
    genome_graph graph;
    HOX_TRY(graph_init(&graph, g, error));
    uint32_t *order = array_create(g->node_count, sizeof *order, error);
    bool *is_ordered = array_create(g->node_count, sizeof *is_ordered, error);
    size_t order_count = 0;
    hox_status status = HOX_OUT_OF_HOST_MEMORY;
    if (order && is_ordered) status = graph_order(&graph, NULL, order, &order_count, error);
    if (status == HOX_OK && order_count < g->node_count) {
        for (size_t i = 0; i < order_count; i++)
            is_ordered[order[i]] = true;
        // Every node left has a source that is left: walking back long enough ends on the cycle
        // itself.
        uint32_t at = 0;
        while (is_ordered[at])
            at++;
        for (size_t step = 0; step < g->node_count; step++) {
            uint32_t i = graph.in_begin[at];
            while (is_ordered[graph.in_node[i]])
                i++;
            at = graph.in_node[i];
        }
        status = hox_error_set(error, HOX_INVALID_ARGUMENT,
                               "node %u: lies on a cycle of enabled edges", g->nodes[at].id);
    }
    free(order);
    free(is_ordered);
    graph_deinit(&graph);
    return status;
}

hox_status genome_validate(const genome *g, uint32_t max_kernel, hox_error *error) {
    if (g->readout >= HOX_READOUT_COUNT)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "unknown readout %u", g->readout);
    if (!genome_find_node(g, GENOME_INPUT) || !genome_find_node(g, GENOME_OUTPUT))
        return hox_error_set(error, HOX_INVALID_ARGUMENT,
                             "node 0 (input) or node 1 (output) is missing");
    for (size_t i = 0; i < g->node_count; i++)
        HOX_TRY(check_node(&g->nodes[i], error));
    for (size_t i = 0; i < g->edge_count; i++)
        HOX_TRY(check_edge(g, &g->edges[i], max_kernel, error));
    HOX_TRY(check_no_twins(g, error));
    return check_acyclic(g, error);
}
