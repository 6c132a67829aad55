#include "evolution/population.h"

#include "base/array.h"

#include <stdlib.h>

hox_status population_init(population *p, size_t count, hox_error *error) {
    *p = (population){.items = array_create(count, sizeof *p->items, error), .count = count};
    return p->items ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
}

void population_deinit(population *p) {
    for (size_t i = 0; p->items && i < p->count; i++)
        genome_destroy(p->items[i].genome);
    free(p->items);
    *p = (population){0};
}

bool individual_is_fitter(const individual *a, const individual *b) {
    if (a->has_fitness != b->has_fitness) return a->has_fitness;
    if (a->has_fitness && a->fitness != b->fitness) return a->fitness > b->fitness;
    if (a->genome->edge_count != b->genome->edge_count)
        return a->genome->edge_count < b->genome->edge_count;
    return a->genome->id < b->genome->id;
}

static int compare_rank(const void *a, const void *b, void *context) {
    const population *p = context;
    const individual *left = &p->items[*(const size_t *)a], *right = &p->items[*(const size_t *)b];
    return individual_is_fitter(left, right) ? -1 : individual_is_fitter(right, left);
}

void population_rank(const population *p, size_t *order) {
    for (size_t i = 0; i < p->count; i++)
        order[i] = i;
    qsort_r(order, p->count, sizeof *order, compare_rank, (void *)p);
}
