// mutate_remove.c - operators that shrink the graph or switch a gene off and on.
#include "genome/mutate.h"

#include "genome/graph.h"

hox_status mutate_remove_edge(genome *g, const mutation_context *context, bool *is_done,
                              hox_error *error) {
    (void)error;
    *is_done = g->edge_count > 0;
    if (*is_done) genome_remove_edge(g, rng_below(context->random, g->edge_count));
    return HOX_OK;
}

hox_status mutate_remove_node(genome *g, const mutation_context *context, bool *is_done,
                              hox_error *error) {
    (void)error;
    const uint32_t id = g->nodes[rng_below(context->random, g->node_count)].id;
    *is_done = id > GENOME_OUTPUT;
    if (*is_done) genome_remove_node(g, id);
    return HOX_OK;
}

hox_status mutate_toggle_edge(genome *g, const mutation_context *context, bool *is_done,
                              hox_error *error) {
    *is_done = false;
    if (g->edge_count == 0) return HOX_OK;
    genome_edge *edge = &g->edges[rng_below(context->random, g->edge_count)];
    bool closes_cycle = false;
    if (!edge->is_enabled) HOX_TRY(graph_has_path(g, edge->to, edge->from, &closes_cycle, error));
    if (closes_cycle) return HOX_OK;
    edge->is_enabled = !edge->is_enabled;
    *is_done = true;
    return HOX_OK;
}
