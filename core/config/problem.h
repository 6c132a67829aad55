// problem.h - what is wrong with a configuration: every place at once, not one a try.
#pragma once

#include "base/arena.h"

#include <stddef.h>

typedef struct problem {
    const char *pointer; // JSON pointer (RFC 6901) of the value or, for a wrong key, of the key
    const char *text;
} problem;

typedef struct problem_list {
    arena memory;
    problem *items;
    size_t count, capacity;
} problem_list;

void problem_list_deinit(problem_list *list); // {0} is an empty list

// Records one; without memory the list stays as it is. Returns HOX_BAD_OPTION.
hox_status problem_add(problem_list *list, const char *pointer, const char *format, ...)
    HOX_PRINTF(3, 4);
