// mutate_add.c - operators that grow the graph: a new edge, a new node in the middle of an edge.
#include "genome/mutate.h"

hox_status mutate_add_edge(genome *g, const mutation_context *context, bool *is_done,
                           hox_error *error) {
    *is_done = false;
    if (g->edge_count >= (uint64_t)context->limits->max_edges) return HOX_OK;
    const uint32_t from = g->nodes[rng_below(context->random, g->node_count)].id;
    const uint32_t to = g->nodes[rng_below(context->random, g->node_count)].id;
    return mutate_connect(g, context, from, to, context->rates->add_edge_scale, true, is_done,
                          error);
}

// The smallest n whose node the genome lacks.
static hox_status pick_split_node(const genome *g, const mutation_context *context,
                                  const genome_edge *edge, uint32_t channels, uint32_t *id,
                                  hox_error *error) {
    for (uint32_t n = 0;; n++) {
        HOX_TRY(
            innovation_of_split(context->innovations, edge->innovation, channels, n, id, error));
        if (!genome_find_node(g, *id)) return HOX_OK;
    }
}

hox_status mutate_add_node(genome *g, const mutation_context *context, bool *is_done,
                           hox_error *error) {
    *is_done = false;
    const bool keeps_edge = context->rates->split_keeps_edge;
    if (g->edge_count == 0 || g->node_count >= (uint64_t)context->limits->max_nodes ||
        g->edge_count + 2 > (uint64_t)context->limits->max_edges)
        return HOX_OK;
    genome_edge *edge = &g->edges[rng_below(context->random, g->edge_count)];
    if (!edge->is_enabled) return HOX_OK;
    const map_size source = genome_find_node(g, edge->from)->size;
    const map_size target = genome_find_node(g, edge->to)->size;
    const uint32_t from = edge->from, to = edge->to;
    genome_node node = {.activation = (uint32_t)context->limits->hidden_activation,
                        .size = {.channels = source.channels,
                                 .height = (source.height + target.height) / 2,
                                 .width = (source.width + target.width) / 2}};
    HOX_TRY(pick_split_node(g, context, edge, source.channels, &node.id, error));
    if (!keeps_edge) edge->is_enabled = false;
    HOX_TRY(genome_add_node(g, node, error));
    HOX_TRY(mutate_connect(g, context, from, node.id, 1.0, true, is_done, error));
    if (!*is_done) return HOX_OK;
    return mutate_connect(g, context, node.id, to, keeps_edge ? 0.0 : 1.0, true, is_done, error);
}
