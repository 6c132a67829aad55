// mutate_node.c - operators on one hidden node: size, channels, activation. Size and channels are
// part of what a node is, so a node of another size is a new node in the old one's place.
#include "genome/mutate.h"

static const genome_node *draw_hidden(const genome *g, const mutation_context *context) {
    const genome_node *node = &g->nodes[rng_below(context->random, g->node_count)];
    return node->id > GENOME_OUTPUT ? node : NULL;
}

// Removes what hangs on old_id and puts new_id in its place; kernels drawn anew.
static hox_status rewire(genome *g, const mutation_context *context, uint32_t old_id,
                         uint32_t new_id, bool *is_done, hox_error *error) {
    *is_done = true;
    for (size_t i = 0; i < g->edge_count && *is_done;) {
        const genome_edge edge = g->edges[i];
        if (edge.from != old_id && edge.to != old_id) {
            i++;
            continue;
        }
        genome_remove_edge(g, i);
        HOX_TRY(mutate_connect(g, context, edge.from == old_id ? new_id : edge.from,
                               edge.to == old_id ? new_id : edge.to, 1.0, edge.is_enabled, is_done,
                               error));
        i = 0; // the new edge's innovation may stand anywhere
    }
    genome_remove_node(g, old_id);
    return HOX_OK;
}

static hox_status replace_node(genome *g, const mutation_context *context, genome_node node,
                               map_size size, bool *is_done, hox_error *error) {
    *is_done = false;
    if (map_size_equals(size, node.size)) return HOX_OK;
    const uint32_t old_id = node.id;
    for (uint32_t n = 0;; n++) {
        HOX_TRY(innovation_of_resize(context->innovations, old_id, size, n, &node.id, error));
        if (!genome_find_node(g, node.id)) break;
    }
    node.size = size;
    HOX_TRY(genome_add_node(g, node, error));
    return rewire(g, context, old_id, node.id, is_done, error);
}

// Uniform over side +- max(1, side / 4), at least 1; the same place in both axes' ranges, so that a
// square map stays square.
static uint32_t draw_side(uint32_t side, double place) {
    const uint32_t reach = side / 4 > 1 ? side / 4 : 1;
    const int64_t drawn = (int64_t)side - reach + (int64_t)(place * (2.0 * reach + 1.0));
    return drawn < 1 ? 1 : (uint32_t)drawn;
}

hox_status mutate_resize_node(genome *g, const mutation_context *context, bool *is_done,
                              hox_error *error) {
    *is_done = false;
    const genome_node *node = draw_hidden(g, context);
    if (!node) return HOX_OK;
    const double place = rng_uniform(context->random);
    map_size size = node->size;
    size.height = draw_side(size.height, place);
    size.width = draw_side(size.width, place);
    return replace_node(g, context, *node, size, is_done, error);
}

hox_status mutate_channels(genome *g, const mutation_context *context, bool *is_done,
                           hox_error *error) {
    *is_done = false;
    const genome_node *node = draw_hidden(g, context);
    if (!node) return HOX_OK;
    const hox_int_list *allowed = &context->limits->allowed_channels;
    map_size size = node->size;
    size.channels = (uint32_t)allowed->values[rng_below(context->random, (uint64_t)allowed->count)];
    return replace_node(g, context, *node, size, is_done, error);
}

hox_status mutate_activation(genome *g, const mutation_context *context, bool *is_done,
                             hox_error *error) {
    (void)error;
    *is_done = false;
    const genome_node *node = draw_hidden(g, context);
    if (!node) return HOX_OK;
    const uint32_t drawn = (uint32_t)rng_below(context->random, HOX_ACTIVATION_COUNT);
    *is_done = drawn != node->activation;
    g->nodes[node - g->nodes].activation = drawn;
    return HOX_OK;
}
