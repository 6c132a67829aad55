// document.h - a JSON file, laid over the files it extends, under settings from the command line.
#pragma once

#include "config/problem.h"

#include <jansson.h>

// One file: the user's first, behind it the one it extends, and so on.
typedef struct document_layer {
    const char *path;   // as the user, or the file before, said it
    const char *folder; // absolute: where the file lies
    char *text;
    size_t size;
} document_layer;

enum { DOCUMENT_MOST_LAYERS = 16 };

typedef struct document {
    arena memory;
    document_layer layers[DOCUMENT_MOST_LAYERS];
    size_t layer_count;
    const char *working_folder; // absolute: of the process, for paths in sets
    json_t *root;               // all of it together; "extends" has done its work and is gone
    const char *const *sets;    // "evolution.population_size=64"
    size_t set_count;
} document;

// path and sets are borrowed. "extends": "other.json" names a file relative to the one that says
// it; objects are merged, all else is replaced; where a section names another "plugin", the options
// of the old one go. In a set, the value is JSON or, where it is none, a string. Errors: IO,
// BAD_OPTION (file:line:column, or the set). [main]
hox_status document_load(document *d, const char *path, const char *const *sets, size_t set_count,
                         hox_error *error) HOX_MUST_CHECK;
void document_deinit(document *d); // {0} too

// "file:line:column: /pointer: text", or "--set key=value: text" where a set said it.
void document_describe(const document *d, const problem *p, char *line, size_t size);

// The folder of the file that gave the value at pointer, or of the user's file; "." where a set
// gave it.
const char *document_folder_of(const document *d, const char *pointer);
