// schema.h - what a field table says, as JSON Schema (draft-07) and in words.
#pragma once

#include "config/field.h"

// {"type", "default", bounds, "enum", "description"} of one row. The caller owns the reference.
// NULL without memory.
json_t *schema_of_field(const hox_field *row);

// "integer 1..100000", "one of sum, mean": type and bounds for people.
typedef struct schema_text {
    char text[160];
} schema_text;
schema_text schema_type_text(const hox_field *row);
