// plugin_fixture.c - see plugin_fixture.h.
#include "plugin_fixture.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const char *name) {
    fprintf(stderr, "plugin_fixture: %s: %s\n", name, what);
    abort();
}

const hox_plugin *plugin_load(const char *file) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.so", HOX_PLUGIN_DIR, file);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL); // never closed, as in the host
    if (!library) fail(dlerror(), path);
    const hox_plugin *plugin = dlsym(library, HOX_PLUGIN_SYMBOL);
    if (!plugin) fail("no symbol " HOX_PLUGIN_SYMBOL, path);
    return plugin;
}

static void *member(void *options, const hox_field *field) {
    return (char *)options + field->offset;
}

static int32_t choice_index(const hox_field *field, const char *name) {
    int32_t index = 0;
    while (field->choices[index] && strcmp(field->choices[index], name) != 0)
        index++;
    if (!field->choices[index]) fail("no such choice", name);
    return index;
}

static void set_default(void *options, const hox_field *field) {
    switch (field->type) {
        case HOX_FIELD_INT: *(int64_t *)member(options, field) = field->default_int; break;
        case HOX_FIELD_REAL: *(double *)member(options, field) = field->default_real; break;
        case HOX_FIELD_BOOL:
            *(int32_t *)member(options, field) = (int32_t)field->default_int;
            break;
        case HOX_FIELD_TEXT:
        case HOX_FIELD_PATH:
        case HOX_FIELD_LABEL: *(const char **)member(options, field) = field->default_text; break;
        case HOX_FIELD_CHOICE:
            *(int32_t *)member(options, field) = choice_index(field, field->default_text);
            break;
        case HOX_FIELD_SEED: break;
        default: fail("options of this type are not made for tests yet", field->name);
    }
}

void *plugin_options(const hox_plugin *plugin) {
    if (plugin->field_count == 0) return NULL;
    void *options = calloc(1, plugin->options_size);
    if (!options) fail("no memory for options", plugin->name);
    for (uint32_t i = 0; i < plugin->field_count; i++)
        set_default(options, &plugin->fields[i]);
    return options;
}

static const hox_field *find_field(const hox_plugin *plugin, const char *name) {
    for (uint32_t i = 0; i < plugin->field_count; i++)
        if (strcmp(plugin->fields[i].name, name) == 0) return &plugin->fields[i];
    fail("no such option", name);
    return NULL;
}

static void *find_member(const hox_plugin *plugin, void *options, const char *name) {
    return member(options, find_field(plugin, name));
}

void plugin_set_int(const hox_plugin *plugin, void *options, const char *name, int64_t value) {
    *(int64_t *)find_member(plugin, options, name) = value;
}

void plugin_set_real(const hox_plugin *plugin, void *options, const char *name, double value) {
    *(double *)find_member(plugin, options, name) = value;
}

void plugin_set_text(const hox_plugin *plugin, void *options, const char *name, const char *value) {
    *(const char **)find_member(plugin, options, name) = value;
}

void plugin_set_choice(const hox_plugin *plugin, void *options, const char *name,
                       const char *value) {
    const hox_field *field = find_field(plugin, name);
    *(int32_t *)member(options, field) = choice_index(field, value);
}
