// evolution_fixture.h - small evolutions: images of 1 x 4 x 4, settings at their defaults.
#pragma once

#include "evolution/evolution.h"
#include "genome_fixture.h"

typedef struct settings {
    evolution_config evolution;
    genome_config limits;
} settings;

settings default_settings(int64_t population_size);

evolution *evolve_with(const settings *s, uint64_t seed);
const population *ask(evolution *e);

// A fitness of the genome alone, with ties.
double toy_fitness(const genome *g);

// The individual whose genome has this id; NULL = none.
const individual *find_individual(const population *p, uint64_t id);

// Tells toy_fitness of everybody; the best of it.
double tell_toy(evolution *e, const population *p);
