// evolution_fixture.c - see evolution_fixture.h.
#include "evolution_fixture.h"

#include "config/field.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

settings default_settings(int64_t population_size) {
    settings s = {0};
    arena memory = {0};
    problem_list problems = {0};
    const field_reader reader = {.memory = &memory, .problems = &problems};
    const field_section sections[] = {
        {"/evolution", FIELD_TABLE(evolution_fields, evolution_field_count), &s.evolution, false},
        {"/mutation", FIELD_TABLE(mutation_fields, mutation_field_count), &s.evolution.mutation,
         false},
        {"/species", FIELD_TABLE(species_fields, species_field_count), &s.evolution.species, false},
        {"/distance", FIELD_TABLE(distance_fields, distance_field_count), &s.evolution.distance,
         false},
        {"/genome", FIELD_TABLE(genome_fields, genome_field_count), &s.limits, false}};
    cr_assert_eq(field_set_defaults(sections, sizeof sections / sizeof *sections, &reader, NULL),
                 HOX_OK);
    arena_deinit(&memory);
    s.evolution.population_size = population_size;
    return s;
}

evolution *evolve_with(const settings *s, uint64_t seed) {
    evolution *e;
    cr_assert_eq(evolution_create(&s->evolution, &s->limits, seed, SIZE(1, 4, 4), &e, NULL),
                 HOX_OK);
    return e;
}

const population *ask(evolution *e) {
    const population *p;
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(evolution_ask(e, &p, &error), HOX_OK, "%s", error.message);
    return p;
}

double toy_fitness(const genome *g) {
    const genome_edge *edge = genome_find_edge(g, GENOME_INPUT, GENOME_OUTPUT);
    return edge ? floor(20.0 * edge->kernel->values[0]) : -100.0;
}

const individual *find_individual(const population *p, uint64_t id) {
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].genome->id == id) return &p->items[i];
    return NULL;
}

double tell_toy(evolution *e, const population *p) {
    double *fitness = calloc(p->count, sizeof *fitness);
    double best = -INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        fitness[i] = toy_fitness(p->items[i].genome);
        best = fmax(best, fitness[i]);
    }
    evolution_tell(e, fitness);
    free(fitness);
    return best;
}
