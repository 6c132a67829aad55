#include "evolution/stagnation.h"

static bool is_better(const species *a, const species *b) {
    if (a->has_best != b->has_best) return a->has_best;
    if (a->has_best && a->best_fitness != b->best_fitness) return a->best_fitness > b->best_fitness;
    return a->id < b->id;
}

static size_t count_better(const species_set *set, const species *one) {
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++)
        count += is_better(&set->items[i], one);
    return count;
}

void stagnation_judge(const species_set *set, const species_config *config, uint32_t generation,
                      bool *is_active) {
    for (size_t i = 0; i < set->count; i++) {
        const species *one = &set->items[i];
        const bool is_stagnant =
            config->stagnation > 0 && generation - one->improved_generation >= config->stagnation;
        is_active[i] = !is_stagnant || count_better(set, one) < (size_t)config->protected_species;
    }
}
