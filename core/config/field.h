// field.h - fills structs from JSON by their field tables, and prints them back.
#pragma once

#include "base/arena.h"
#include "config/problem.h"

#include <hox/field.h>
#include <jansson.h>
#include <stdbool.h>

typedef struct field_table {
    const hox_field *rows;
    uint32_t count;
    uint64_t row_size; // stride in bytes: a plugin's rows may be longer than ours
} field_table;

#define FIELD_TABLE(rows, count) ((field_table){rows, count, sizeof(hox_field)})

const hox_field *field_row(const field_table *table, uint32_t index);

// The default as the JSON a user would write for it; the caller owns the reference. NULL without
// memory.
json_t *field_default(const hox_field *row);

// Where in the JSON a table's fields stand, and the struct they fill. Several may share a place.
typedef struct field_section {
    const char *pointer; // "" for the root, "/evolution/mutation"
    field_table table;
    void *target;
    bool accepts_all; // any key is right here: the plugin that knows could not be opened
} field_section;

typedef struct field_reader {
    arena *memory; // texts live here
    // What a relative path at pointer is relative to.
    const char *(*folder_of)(const void *context, const char *pointer);
    const void *context;
    problem_list *problems;
} field_reader;

// Gives every field of every section its default. Errors: OUT_OF_HOST_MEMORY, INTERNAL for a
// default that its own row refuses.
hox_status field_set_defaults(const field_section *sections, size_t section_count,
                              const field_reader *reader, hox_error *error) HOX_MUST_CHECK;

// Reads root, an object, into the sections; what it leaves out stays. Keys that begin with $ are
// left alone. Each wrong key or value goes to reader->problems, and the first is the error. Errors:
// BAD_OPTION, OUT_OF_HOST_MEMORY.
hox_status field_read(json_t *root, const field_section *sections, size_t section_count,
                      const field_reader *reader, hox_error *error) HOX_MUST_CHECK;

// The same as JSON, every field said, in the order of the tables. NULL and OUT_OF_HOST_MEMORY
// without memory; the caller owns the reference.
json_t *field_print(const field_section *sections, size_t section_count, hox_error *error);
