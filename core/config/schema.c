#include "config/schema.h"

#include <inttypes.h>
#include <string.h>

static bool is_list(const hox_field *row) {
    return row->type == HOX_FIELD_INTS || row->type == HOX_FIELD_REALS;
}

static bool is_whole(const hox_field *row) {
    return row->type == HOX_FIELD_INT || row->type == HOX_FIELD_INTS;
}

// Type and bounds of a number, or of a list's element.
static json_t *number_schema(const hox_field *row) {
    if (is_whole(row))
        return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum",
                         (json_int_t)row->least_int, "maximum", (json_int_t)row->most_int);
    return json_pack("{s:s, s:f, s:f}", "type", "number", "minimum", row->least_real, "maximum",
                     row->most_real);
}

static json_t *choice_schema(const hox_field *row) {
    json_t *names = json_array();
    for (size_t i = 0; row->choices[i]; i++)
        json_array_append_new(names, json_string(row->choices[i]));
    return json_pack("{s:o}", "enum", names);
}

static json_t *bare_schema(const hox_field *row) {
    switch (row->type) {
        case HOX_FIELD_INT:
        case HOX_FIELD_REAL: return number_schema(row);
        case HOX_FIELD_BOOL: return json_pack("{s:s}", "type", "boolean");
        case HOX_FIELD_CHOICE: return choice_schema(row);
        case HOX_FIELD_SEED:
            return json_pack("{s:[{s:s, s:i}, {s:s, s:s}]}", "anyOf", "type", "integer", "minimum",
                             0, "type", "string", "pattern", "^[0-9]{1,20}$");
        case HOX_FIELD_LABEL:
            return json_pack(row->default_text ? "{s:[s,s]}" : "{s:[s,s,s]}", "type", "string",
                             "integer", "null");
        case HOX_FIELD_INTS:
        case HOX_FIELD_REALS:
            return json_pack("{s:s, s:o, s:i}", "type", "array", "items", number_schema(row),
                             "maxItems", HOX_LIST_CAPACITY);
        default:
            return json_pack(row->default_text ? "{s:s}" : "{s:[s,s]}", "type", "string", "null");
    }
}

json_t *schema_of_field(const hox_field *row) {
    json_t *schema = bare_schema(row);
    if (!schema) return NULL;
    if (row->type != HOX_FIELD_SEED) json_object_set_new(schema, "default", field_default(row));
    json_object_set_new(schema, "description", json_string(row->help));
    return schema;
}

schema_text schema_type_text(const hox_field *row) {
    static const char *const names[] = {[HOX_FIELD_INT] = "integer",
                                        [HOX_FIELD_REAL] = "number",
                                        [HOX_FIELD_BOOL] = "true or false",
                                        [HOX_FIELD_TEXT] = "text",
                                        [HOX_FIELD_PATH] = "path",
                                        [HOX_FIELD_CHOICE] = "one of",
                                        [HOX_FIELD_LABEL] = "class",
                                        [HOX_FIELD_SEED] = "seed",
                                        [HOX_FIELD_INTS] = "list of integers",
                                        [HOX_FIELD_REALS] = "list of numbers"};
    schema_text t;
    int used = snprintf(t.text, sizeof t.text, "%s", names[row->type]);
    if (row->type == HOX_FIELD_CHOICE)
        for (size_t i = 0; row->choices[i] && used < (int)sizeof t.text; i++)
            used += snprintf(t.text + used, sizeof t.text - (size_t)used, "%s %s", i ? "," : "",
                             row->choices[i]);
    else if (is_whole(row) && row->most_int < INT64_MAX)
        snprintf(t.text + used, sizeof t.text - (size_t)used, " %" PRId64 "..%" PRId64,
                 row->least_int, row->most_int);
    else if (is_whole(row))
        snprintf(t.text + used, sizeof t.text - (size_t)used, " from %" PRId64, row->least_int);
    else if (row->type == HOX_FIELD_REAL || is_list(row))
        snprintf(t.text + used, sizeof t.text - (size_t)used, " %g..%g", row->least_real,
                 row->most_real);
    return t;
}
