// population.h - the genomes of one generation, with how they came about and what they are worth.
#pragma once

#include "genome/mutate.h"

typedef struct individual {
    genome *genome;        // owned by the population
    mutation_record birth; // all zero for the first generation and for elites
    bool is_crossover;     // has two parents
    bool is_elite;         // came unchanged from the generation before
    bool is_parent;        // may have children in the next
    uint32_t species_id;   // 0 = not yet known
    bool has_fitness;      // false: not evaluated, or evaluation failed
    double fitness;        // finite where has_fitness
} individual;

typedef struct population {
    individual *items;
    size_t count;
} population;

hox_status population_init(population *p, size_t count, hox_error *error) HOX_MUST_CHECK;
void population_deinit(population *p);

// Fitness above none; more above less; then fewer genes, then the lower id: a total order. [any]
bool individual_is_fitter(const individual *a, const individual *b);

// Indices into p->items, the fittest first. order holds p->count.
void population_rank(const population *p, size_t *order);
