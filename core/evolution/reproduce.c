#include "evolution/reproduce.h"

#include "base/array.h"
#include "evolution/select.h"
#include "evolution/sharing.h"
#include "evolution/stagnation.h"
#include "genome/crossover.h"

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
    const mutation_context context = {&how->config->mutation, how->limits, how->innovations, &r};
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

// ---- who has children ----

// The members of one species, the fittest first.
typedef struct litter {
    const size_t *members; // indices into parents
    size_t member_count;
    size_t parent_count; // of them, may be parents
    size_t child_count;
    bool keeps_champion;
} litter;

typedef struct plan_of_litters {
    size_t *order;   // all individuals, by species and, within one, by rank
    litter *litters; // by species
    size_t count;
    double *shares;
    bool *is_active;
    size_t *counts;
} plan_of_litters;

static void plan_deinit(plan_of_litters *plan) {
    free(plan->order);
    free(plan->litters);
    free(plan->shares);
    free(plan->is_active);
    free(plan->counts);
}

static hox_status plan_init(plan_of_litters *plan, size_t individuals, size_t species_count,
                            hox_error *error) {
    *plan =
        (plan_of_litters){.order = array_create(individuals, 2 * sizeof *plan->order, error),
                          .litters = array_create(species_count, sizeof *plan->litters, error),
                          .count = species_count,
                          .shares = array_create(species_count, sizeof *plan->shares, error),
                          .is_active = array_create(species_count, sizeof *plan->is_active, error),
                          .counts = array_create(species_count, sizeof *plan->counts, error)};
    return plan->order && plan->litters && plan->shares && plan->is_active && plan->counts
               ? HOX_OK
               : HOX_OUT_OF_HOST_MEMORY;
}

// Sorts the ranked individuals by species, keeping their rank within one.
static void group(plan_of_litters *plan, const population *parents, const species_set *set,
                  const size_t *ranked) {
    size_t begin = 0;
    for (size_t s = 0; s < set->count; s++) {
        size_t *members = plan->order + begin;
        size_t count = 0;
        for (size_t i = 0; i < parents->count; i++)
            if (parents->items[ranked[i]].species_id == set->items[s].id)
                members[count++] = ranked[i];
        plan->litters[s] = (litter){.members = members, .member_count = count};
        begin += count;
    }
}

// The champion of all has a child at least: itself. It is taken from the largest litter.
static void spare_champion(plan_of_litters *plan, size_t home) {
    if (plan->counts[home] > 0) return;
    size_t largest = 0;
    for (size_t s = 1; s < plan->count; s++)
        if (plan->counts[s] > plan->counts[largest]) largest = s;
    plan->counts[largest]--;
    plan->counts[home]++;
}

static bool any(const bool *flags, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (flags[i]) return true;
    return false;
}

static size_t index_of_species(const species_set *set, uint32_t id) {
    return (size_t)(species_find(set, id) - set->items);
}

static void decide(plan_of_litters *plan, const reproduction *how, const population *parents,
                   const species_set *set, const individual *champion) {
    const evolution_config *config = how->config;
    const size_t home = index_of_species(set, champion->species_id);
    stagnation_judge(set, &config->species, how->generation - 1, plan->is_active);
    sharing_mean_fitness(set, parents, plan->shares);
    const bool is_extinct = !any(plan->is_active, plan->count);
    if (is_extinct) plan->is_active[home] = true;
    sharing_allot(plan->shares, plan->is_active, plan->count, (size_t)config->population_size,
                  plan->counts);
    spare_champion(plan, home);
    for (size_t s = 0; s < plan->count; s++) {
        litter *l = &plan->litters[s];
        l->child_count = plan->counts[s];
        l->parent_count = is_extinct ? 1 : select_parent_count(l->member_count, config->survival);
        l->keeps_champion =
            s == home || l->member_count >= (size_t)config->species.champion_kept_from;
    }
}

// ---- one child ----

static hox_status copy_elite(const individual *champion, individual *child, hox_error *error) {
    child->genome = genome_copy(champion->genome, error);
    if (!child->genome) return HOX_OUT_OF_HOST_MEMORY;
    child->is_elite = true;
    return HOX_OK;
}

static const individual *draw_parent(const population *parents, const litter *l, rng *choice) {
    return &parents->items[l->members[rng_below(choice, l->parent_count)]];
}

// Another litter that may have children too, or the same where there is none.
static const litter *draw_other_litter(const plan_of_litters *plan, const litter *own,
                                       rng *choice) {
    size_t others = 0;
    for (size_t s = 0; s < plan->count; s++)
        others += &plan->litters[s] != own && plan->litters[s].child_count > 0;
    if (others == 0) return own;
    uint64_t place = rng_below(choice, others);
    for (size_t s = 0;; s++)
        if (&plan->litters[s] != own && plan->litters[s].child_count > 0 && place-- == 0)
            return &plan->litters[s];
}

static hox_status cross(const reproduction *how, const individual *a, const individual *b,
                        size_t slot, individual *child, hox_error *error) {
    const bool is_a_fitter = individual_is_fitter(a, b);
    const genome *fitter = is_a_fitter ? a->genome : b->genome;
    const genome *other = is_a_fitter ? b->genome : a->genome;
    rng random = stream(how, slot, RNG_PURPOSE_CROSSOVER);
    HOX_TRY(
        crossover(fitter, other, how->config->crossover_disabled, &random, &child->genome, error));
    child->genome->parent_ids[0] = fitter->id;
    child->genome->parent_ids[1] = other->id;
    child->is_crossover = true;
    return HOX_OK;
}

static hox_status copy_parent(const individual *parent, individual *child, hox_error *error) {
    child->genome = genome_copy(parent->genome, error);
    if (!child->genome) return HOX_OUT_OF_HOST_MEMORY;
    child->genome->parent_ids[0] = parent->genome->id;
    child->genome->parent_ids[1] = 0;
    return HOX_OK;
}

static hox_status make_child(const reproduction *how, const population *parents,
                             const plan_of_litters *plan, const litter *own, size_t slot,
                             individual *child, hox_error *error) {
    const evolution_config *config = how->config;
    rng choice = stream(how, slot, RNG_PURPOSE_PARENT);
    const individual *first = draw_parent(parents, own, &choice), *second = first;
    if (rng_chance(&choice, config->crossover_rate)) {
        const bool is_between = rng_chance(&choice, config->interspecies_rate);
        const litter *from = is_between ? draw_other_litter(plan, own, &choice) : own;
        second = draw_parent(parents, from, &choice);
    }
    if (second != first)
        HOX_TRY(cross(how, first, second, slot, child, error));
    else
        HOX_TRY(copy_parent(first, child, error));
    child->genome->id = (*how->next_id)++;
    if (child->is_crossover && rng_chance(&choice, config->crossover_unmutated)) return HOX_OK;
    const mutation_context context = {
        .rates = &config->mutation, .limits = how->limits, .innovations = how->innovations};
    return mutate(&child->genome, &context, stream(how, slot, RNG_PURPOSE_WEIGHTS),
                  stream(how, slot, RNG_PURPOSE_STRUCTURE), &child->birth, error);
}

// ---- all of them ----

static hox_status fill_litter(const reproduction *how, population *parents,
                              const plan_of_litters *plan, const litter *l, size_t first_slot,
                              population *children, hox_error *error) {
    size_t born = 0;
    if (l->keeps_champion && l->child_count > 0)
        HOX_TRY(copy_elite(&parents->items[l->members[0]], &children->items[first_slot + born++],
                           error));
    for (size_t i = 0; i < l->parent_count && l->child_count > 0; i++)
        parents->items[l->members[i]].is_parent = true;
    for (; born < l->child_count; born++)
        HOX_TRY(make_child(how, parents, plan, l, first_slot + born,
                           &children->items[first_slot + born], error));
    return HOX_OK;
}

static hox_status fill(const reproduction *how, population *parents, const species_set *set,
                       plan_of_litters *plan, population *children, hox_error *error) {
    size_t *ranked = plan->order + parents->count; // the second half
    population_rank(parents, ranked);
    group(plan, parents, set, ranked);
    decide(plan, how, parents, set, &parents->items[ranked[0]]);
    size_t slot = 0;
    for (size_t s = 0; s < plan->count; s++) {
        HOX_TRY(fill_litter(how, parents, plan, &plan->litters[s], slot, children, error));
        slot += plan->litters[s].child_count;
    }
    return HOX_OK;
}

hox_status reproduce_next(const reproduction *how, population *parents, const species_set *set,
                          population *children, hox_error *error) {
    HOX_TRY(population_init(children, (size_t)how->config->population_size, error));
    plan_of_litters plan;
    hox_status status = plan_init(&plan, parents->count, set->count, error);
    if (status == HOX_OK) status = fill(how, parents, set, &plan, children, error);
    plan_deinit(&plan);
    if (status != HOX_OK) population_deinit(children);
    return status;
}
