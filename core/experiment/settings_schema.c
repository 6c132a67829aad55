#include "experiment/settings_schema.h"

#include "config/schema.h"
#include "experiment/experiment_config.h"

#include <string.h>

// An object that may hold what its properties say, "$schema"-like keys, and nothing else.
static json_t *object_schema(const char *title) {
    return json_pack("{s:s, s:{}, s:{s:{}}, s:b}", "type", "object", "properties",
                     "patternProperties", "^\\$", "additionalProperties", 0, "title", title);
}

// The schema object at a pointer, made where it is missing; borrowed.
static json_t *object_at(json_t *root, const char *pointer) {
    while (root && *pointer == '/') {
        char key[64];
        const size_t length = strcspn(++pointer, "/");
        snprintf(key, sizeof key, "%.*s", (int)length, pointer);
        json_t *properties = json_object_get(root, "properties");
        if (!json_object_get(properties, key))
            json_object_set_new(properties, key, object_schema(key));
        root = json_object_get(properties, key);
        pointer += length;
    }
    return root;
}

// Two plugins may give one name to different options: then either will do.
static void add_property(json_t *object, const char *name, json_t *schema) {
    json_t *properties = json_object_get(object, "properties");
    json_t *present = json_object_get(properties, name);
    if (present && !json_equal(present, schema))
        schema = json_pack("{s:[O,o]}", "anyOf", present, schema);
    json_object_set_new(properties, name, schema);
}

static void add_rows(json_t *object, const field_table *table) {
    for (uint32_t i = 0; i < table->count; i++)
        add_property(object, field_row(table, i)->name, schema_of_field(field_row(table, i)));
}

static void name_rows(json_t *names, const field_table *table) {
    for (uint32_t i = 0; i < table->count; i++)
        json_array_append_new(names, json_string(field_row(table, i)->name));
}

// With this plugin, no keys but its own and the object's.
static void add_condition(json_t *object, const hox_plugin *p, const settings_object *o) {
    const field_table own = FIELD_TABLE(o->rows, *o->row_count);
    const field_table options = {p->fields, p->field_count, p->field_size};
    json_t *names = json_array();
    name_rows(names, &own);
    name_rows(names, &options);
    if (!json_object_get(object, "allOf")) json_object_set_new(object, "allOf", json_array());
    json_array_append_new(json_object_get(object, "allOf"),
                          json_pack("{s:{s:{s:{s:s}}, s:[s]}, s:{s:{s:[{s:o}, {s:s}]}}}", "if",
                                    "properties", "plugin", "const", p->name, "required", "plugin",
                                    "then", "propertyNames", "anyOf", "enum", names, "pattern",
                                    "^\\$"));
}

static void add_plugins(json_t *object, const catalog *plugins, const settings_object *o) {
    for (size_t i = 0; i < plugins->entry_count; i++) {
        const hox_plugin *p = plugins->entries[i].plugin;
        if (!p || p->kind != o->plugin_kind) continue;
        if (o->rows) add_condition(object, p, o);
        const field_table table = {p->fields, p->field_count, p->field_size};
        add_rows(object, &table);
    }
}

json_t *settings_schema(const catalog *plugins) {
    json_t *root = object_schema("hox experiment");
    if (!root) return NULL;
    json_object_set_new(root, "$schema", json_string("http://json-schema.org/draft-07/schema#"));
    add_property(root, "extends",
                 json_pack("{s:s, s:s}", "type", "string", "description",
                           "another experiment file; this one is laid over it"));
    for (size_t i = 0; i < settings_object_count; i++) {
        const settings_object *o = &settings_objects[i];
        json_t *object = object_at(root, o->pointer);
        if (o->rows) {
            const field_table table = FIELD_TABLE(o->rows, *o->row_count);
            add_rows(object, &table);
        }
        if (o->plugin_kind) add_plugins(object, plugins, o);
    }
    return root;
}
