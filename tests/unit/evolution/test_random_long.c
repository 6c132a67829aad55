// test_random_long.c - the same as test_random.c over 280 evolutions: each size with each kind of
// fitness five times.
#include "random_evolution.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

enum { FIRST = 1000, COUNT = 280 };

ParameterizedTestParameters(random_long, an_evolution_keeps_what_it_promises) {
    static uint32_t indices[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        indices[i] = FIRST + i;
    return cr_make_param_array(uint32_t, indices, COUNT);
}

ParameterizedTest(uint32_t *index, random_long, an_evolution_keeps_what_it_promises) {
    check_random_evolution(*index);
}
