// test_random.c - a few evolutions under random settings, each size and kind of fitness once.
#include "random_evolution.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

enum { COUNT = 8 };

ParameterizedTestParameters(random, an_evolution_keeps_what_it_promises) {
    static uint32_t indices[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        indices[i] = i;
    return cr_make_param_array(uint32_t, indices, COUNT);
}

ParameterizedTest(uint32_t *index, random, an_evolution_keeps_what_it_promises) {
    check_random_evolution(*index);
}
