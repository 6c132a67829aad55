// mutate_weights.c - steps of the weights, relative to each edge's own scale; structure stays.
#include "genome/mutate.h"

static hox_status change_edge(genome_edge *edge, map_size source, map_size target,
                              const mutation_context *context, hox_error *error) {
    const bool is_replaced = rng_chance(context->random, context->rates->weights_replace);
    kernel *k = is_replaced
                    ? kernel_draw(source, target, edge->geometry, 1.0, context->random, error)
                    : kernel_copy(edge->kernel, error);
    if (!k) return HOX_OUT_OF_HOST_MEMORY;
    if (!is_replaced) {
        const double step = context->rates->weights_step * kernel_sigma(k);
        const uint64_t count = kernel_value_count(k);
        for (uint64_t i = 0; i < count; i++)
            k->values[i] = (float)((double)k->values[i] + step * rng_normal(context->random));
    }
    genome_replace_kernel(edge, k);
    return HOX_OK;
}

hox_status mutate_weights(genome *g, const mutation_context *context, hox_error *error) {
    const size_t sure = rng_below(context->random, g->edge_count); // changes if no other does
    size_t changed_count = 0;
    for (size_t round = 0; round < 2 && changed_count == 0; round++)
        for (size_t i = 0; i < g->edge_count; i++) {
            genome_edge *edge = &g->edges[i];
            const bool is_chosen =
                round == 0 ? rng_chance(context->random, context->rates->weights_edge) : i == sure;
            if (!is_chosen) continue;
            HOX_TRY(change_edge(edge, genome_find_node(g, edge->from)->size,
                                genome_find_node(g, edge->to)->size, context, error));
            changed_count++;
        }
    return HOX_OK;
}
