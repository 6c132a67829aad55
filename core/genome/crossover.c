#include "genome/crossover.h"

#include "base/array.h"
#include "genome/graph.h"

#include <stdlib.h>

// Mixes the other's kernels in. is_wanted: per gene, whether it shall be enabled.
static void inherit(genome *child, const genome *other, double disabled_rate, rng *random,
                    bool *is_wanted) {
    size_t j = 0;
    for (size_t i = 0; i < child->edge_count; i++) {
        genome_edge *edge = &child->edges[i];
        while (j < other->edge_count && other->edges[j].innovation < edge->innovation)
            j++;
        const bool is_match =
            j < other->edge_count && other->edges[j].innovation == edge->innovation;
        const bool takes_other = is_match && (rng_word(random) & 1);
        if (takes_other && kernel_has_shape_of(edge->kernel, other->edges[j].kernel))
            genome_replace_kernel(edge, kernel_retain(other->edges[j].kernel));
        const bool is_disabled = !edge->is_enabled || (is_match && !other->edges[j].is_enabled);
        is_wanted[i] = !is_disabled || !rng_chance(random, disabled_rate);
    }
}

static hox_status enable(genome *child, size_t index, hox_error *error) {
    genome_edge *edge = &child->edges[index];
    bool closes_cycle;
    HOX_TRY(graph_has_path(child, edge->to, edge->from, &closes_cycle, error));
    edge->is_enabled = !closes_cycle;
    return HOX_OK;
}

// Genes the fitter has enabled cannot close a cycle among themselves; only the others are searched.
static hox_status set_flags(genome *child, const genome *fitter, const bool *is_wanted,
                            hox_error *error) {
    for (size_t i = 0; i < child->edge_count; i++)
        child->edges[i].is_enabled = fitter->edges[i].is_enabled && is_wanted[i];
    for (size_t i = 0; i < child->edge_count; i++)
        if (is_wanted[i] && !fitter->edges[i].is_enabled) HOX_TRY(enable(child, i, error));
    bool has_path;
    HOX_TRY(graph_has_path(child, GENOME_INPUT, GENOME_OUTPUT, &has_path, error));
    for (size_t i = 0; !has_path && i < child->edge_count; i++)
        child->edges[i].is_enabled = fitter->edges[i].is_enabled;
    return HOX_OK;
}

hox_status crossover(const genome *fitter, const genome *other, double disabled_rate, rng *random,
                     genome **child, hox_error *error) {
    *child = genome_copy(fitter, error);
    bool *is_wanted = array_create(fitter->edge_count, sizeof *is_wanted, error);
    hox_status status = *child && is_wanted ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
    if (status == HOX_OK) {
        inherit(*child, other, disabled_rate, random, is_wanted);
        status = set_flags(*child, fitter, is_wanted, error);
    }
    free(is_wanted);
    if (status == HOX_OK) return HOX_OK;
    genome_destroy(*child);
    *child = NULL;
    return status;
}
