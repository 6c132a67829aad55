// mutation_fixture.h - all that a mutation needs, at its defaults.
#pragma once

#include "genome/mutate.h"
#include "genome_fixture.h"

typedef struct mutation_fixture {
    mutation_config rates;
    genome_config limits;
    innovation_table *innovations;
    rng random;
    mutation_context context; // of the members above: do not move the struct
    uint64_t seed;
    uint32_t mutation_count;
} mutation_fixture;

// Defaults of the tables; max_kernel 32.
void mutation_init(mutation_fixture *f, uint64_t seed);
void mutation_deinit(mutation_fixture *f);

// The rates of all changes of structure are 0 but one, which is rate; weights stay.
void only_change(mutation_fixture *f, uint32_t change, double rate);
double *rate_of(mutation_fixture *f, uint32_t change);

// One edge, input to output.
genome *start_genome(mutation_fixture *f, map_size input);

// The edge of the run's number; enabled, kernel drawn.
genome_edge *connect(mutation_fixture *f, genome *g, uint32_t from, uint32_t to);

// mutate with the next streams of the fixture.
mutation_record mutate_next(mutation_fixture *f, genome **g);

// One try of an operator; whether it was done.
bool try_operator(mutation_fixture *f, mutation_operator *operate, genome *g);
