// mutation_fixture.c - see mutation_fixture.h.
#include "mutation_fixture.h"

#include "config/field.h"

#include <criterion/criterion.h>

void mutation_init(mutation_fixture *f, uint64_t seed) {
    arena memory = {0};
    problem_list problems = {0};
    const field_reader reader = {.memory = &memory, .problems = &problems};
    *f = (mutation_fixture){.seed = seed, .random = rng_stream(seed, 0, 0, 99)};
    const field_section sections[] = {
        {"/mutation", FIELD_TABLE(mutation_fields, mutation_field_count), &f->rates, false},
        {"/genome", FIELD_TABLE(genome_fields, genome_field_count), &f->limits, false}};
    cr_assert_eq(field_set_defaults(sections, 2, &reader, NULL), HOX_OK);
    f->limits.max_kernel = 32;
    f->innovations = innovation_table_create(NULL);
    f->context = (mutation_context){&f->rates, &f->limits, f->innovations, &f->random};
    arena_deinit(&memory);
}

void mutation_deinit(mutation_fixture *f) {
    innovation_table_destroy(f->innovations);
}

double *rate_of(mutation_fixture *f, uint32_t change) {
    mutation_config *r = &f->rates;
    double *const rates[MUTATION_COUNT] = {NULL,
                                           &r->add_edge,
                                           &r->add_node,
                                           &r->remove_edge,
                                           &r->remove_node,
                                           &r->toggle_edge,
                                           &r->resize_node,
                                           &r->channels,
                                           &r->activation};
    return rates[change];
}

void only_change(mutation_fixture *f, uint32_t change, double rate) {
    for (uint32_t i = 1; i < MUTATION_COUNT; i++)
        *rate_of(f, i) = i == change ? rate : 0.0;
    f->rates.weights = 0.0;
}

genome_edge *connect(mutation_fixture *f, genome *g, uint32_t from, uint32_t to) {
    bool is_done;
    cr_assert_eq(mutate_connect(g, &f->context, from, to, 1.0, true, &is_done, NULL), HOX_OK);
    cr_assert(is_done, "%u -> %u", from, to);
    return genome_find_edge(g, from, to);
}

genome *start_genome(mutation_fixture *f, map_size input) {
    const int64_t *output = f->limits.output_size.values;
    genome *g =
        genome_of(input, SIZE((uint32_t)output[0], (uint32_t)output[1], (uint32_t)output[2]));
    connect(f, g, GENOME_INPUT, GENOME_OUTPUT);
    return g;
}

mutation_record mutate_next(mutation_fixture *f, genome **g) {
    mutation_record record;
    const uint32_t turn = f->mutation_count++;
    const mutation_context context = {&f->rates, &f->limits, f->innovations, NULL};
    cr_assert_eq(mutate(g, &context, rng_stream(f->seed, turn, 0, RNG_PURPOSE_WEIGHTS),
                        rng_stream(f->seed, turn, 0, RNG_PURPOSE_STRUCTURE), &record, NULL),
                 HOX_OK);
    return record;
}

bool try_operator(mutation_fixture *f, mutation_operator *operate, genome *g) {
    bool is_done = false;
    cr_assert_eq(operate(g, &f->context, &is_done, NULL), HOX_OK);
    return is_done;
}
