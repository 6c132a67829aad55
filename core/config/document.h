// document.h - a JSON file with settings from the command line laid over it.
#pragma once

#include "config/problem.h"

#include <jansson.h>

typedef struct document {
    arena memory;
    const char *path;   // as the user said it
    const char *folder; // absolute: where the file lies
    char *text;
    size_t size;
    json_t *root;
    const char *const *sets; // "evolution.population_size=64"
    size_t set_count;
} document;

// path and sets are borrowed. In a set, the value is JSON or, where it is none, a string. Errors:
// IO, BAD_OPTION (file:line:column, or the set). [main]
hox_status document_load(document *d, const char *path, const char *const *sets, size_t set_count,
                         hox_error *error) HOX_MUST_CHECK;
void document_deinit(document *d); // {0} too

// "file:line:column: /pointer: text", or "--set key=value: text" where a set said it.
void document_describe(const document *d, const problem *p, char *line, size_t size);
