#include "evolution/reproduce.h"

#include "base/array.h"
#include "evolution/select.h"

#include <stdlib.h>

static rng stream(const reproduction *how, size_t slot, uint32_t purpose) {
    return rng_stream(how->seed, how->generation, (uint32_t)slot, purpose);
}

static hox_status add_start_nodes(genome *g, const reproduction *how, map_size input,
                                  hox_error *error) {
    const int64_t *output = how->limits->output_size.values;
    HOX_TRY(genome_add_node(g, (genome_node){.id = GENOME_INPUT, .size = input}, error));
    return genome_add_node(
        g,
        (genome_node){.id = GENOME_OUTPUT,
                      .activation = (uint32_t)how->limits->output_activation,
                      .size = {(uint32_t)output[0], (uint32_t)output[1], (uint32_t)output[2]}},
        error);
}

static hox_status start_one(const reproduction *how, map_size input, size_t slot, genome *g,
                            hox_error *error) {
    rng r = stream(how, slot, RNG_PURPOSE_START);
    const mutation_context context = {how->mutation, how->limits, how->innovations, &r};
    bool is_done = false;
    HOX_TRY(add_start_nodes(g, how, input, error));
    HOX_TRY(mutate_connect(g, &context, GENOME_INPUT, GENOME_OUTPUT, 1.0, true, &is_done, error));
    if (!is_done)
        return hox_error_set(error, HOX_BAD_OPTION,
                             "/genome/max_kernel: %lld is too small for an edge from the %u x %u "
                             "images to the output",
                             (long long)how->limits->max_kernel, input.height, input.width);
    g->id = (*how->next_id)++;
    return HOX_OK;
}

hox_status reproduce_start(const reproduction *how, map_size input, population *children,
                           hox_error *error) {
    HOX_TRY(population_init(children, (size_t)how->config->population_size, error));
    hox_status status = HOX_OK;
    for (size_t slot = 0; slot < children->count && status == HOX_OK; slot++) {
        genome *g = genome_create((uint32_t)how->limits->output_readout, error);
        children->items[slot].genome = g;
        status = g ? start_one(how, input, slot, g, error) : HOX_OUT_OF_HOST_MEMORY;
    }
    if (status != HOX_OK) population_deinit(children);
    return status;
}

static hox_status copy_elite(const individual *champion, individual *child, hox_error *error) {
    child->genome = genome_copy(champion->genome, error);
    if (!child->genome) return HOX_OUT_OF_HOST_MEMORY;
    child->is_elite = true;
    return HOX_OK;
}

static hox_status make_child(const reproduction *how, const population *parents,
                             const size_t *order, size_t parent_count, size_t slot,
                             individual *child, hox_error *error) {
    rng choice = stream(how, slot, RNG_PURPOSE_PARENT);
    const genome *parent = parents->items[order[rng_below(&choice, parent_count)]].genome;
    child->genome = genome_copy(parent, error);
    if (!child->genome) return HOX_OUT_OF_HOST_MEMORY;
    const mutation_context context = {
        .rates = how->mutation, .limits = how->limits, .innovations = how->innovations};
    HOX_TRY(mutate(&child->genome, &context, stream(how, slot, RNG_PURPOSE_WEIGHTS),
                   stream(how, slot, RNG_PURPOSE_STRUCTURE), &child->birth, error));
    child->genome->parent_id = parent->id;
    child->genome->id = (*how->next_id)++;
    return HOX_OK;
}

hox_status reproduce_next(const reproduction *how, const population *parents, population *children,
                          hox_error *error) {
    HOX_TRY(population_init(children, (size_t)how->config->population_size, error));
    hox_status status = HOX_OUT_OF_HOST_MEMORY;
    size_t *order = array_create(parents->count, sizeof *order, error);
    if (order) {
        const size_t parent_count = select_parent_count(parents->count, how->config->survival);
        population_rank(parents, order);
        status = copy_elite(&parents->items[order[0]], &children->items[0], error);
        for (size_t slot = 1; slot < children->count && status == HOX_OK; slot++)
            status =
                make_child(how, parents, order, parent_count, slot, &children->items[slot], error);
    }
    free(order);
    if (status != HOX_OK) population_deinit(children);
    return status;
}
