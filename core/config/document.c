#include "config/document.h"

#include "base/file.h"
#include "config/json_position.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE_BYTES = 64 << 20 };

// ---- files ----

static hox_status parse(const document_layer *layer, json_t **root, hox_error *error) {
    json_error_t where;
    *root = json_loadb(layer->text, layer->size, JSON_REJECT_DUPLICATES, &where);
    if (!*root)
        return hox_error_set(error, HOX_BAD_OPTION, "%s:%d:%d: %s", layer->path, where.line,
                             where.column, where.text);
    if (json_is_object(*root)) return HOX_OK;
    json_decref(*root);
    *root = NULL;
    return hox_error_set(error, HOX_BAD_OPTION, "%s:1:1: expected an object { ... }", layer->path);
}

static hox_status find_folder(document *d, document_layer *layer, hox_error *error) {
    char real[PATH_MAX];
    if (!realpath(layer->path, real))
        return hox_error_set(error, HOX_IO, "%s: cannot be found", layer->path);
    *(strrchr(real, '/') + (strrchr(real, '/') == real)) = 0;
    layer->folder = arena_print(&d->memory, error, "%s", real);
    return layer->folder ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
}

// Something wrong with what a layer says at "/extends".
static hox_status wrong_extends(const document_layer *layer, const char *what, hox_error *error) {
    int row, column;
    json_position_find(layer->text, layer->size, "/extends", &row, &column);
    return hox_error_set(error, HOX_BAD_OPTION, "%s:%d:%d: /extends: %s", layer->path, row, column,
                         what);
}

// The path of the file a layer extends; NULL = none. Takes the key out of root.
static hox_status take_extends(document *d, const document_layer *layer, json_t *root,
                               const char **path, hox_error *error) {
    *path = NULL;
    const json_t *extends = json_object_get(root, "extends");
    const char *name = json_string_value(extends);
    if (!extends) return HOX_OK;
    if (!name || !*name) return wrong_extends(layer, "expected the path of a file", error);
    if (d->layer_count == DOCUMENT_MOST_LAYERS)
        return wrong_extends(layer, "too many files extend each other; is there a circle?", error);
    *path = name[0] == '/' ? arena_print(&d->memory, error, "%s", name)
                           : arena_print(&d->memory, error, "%s/%s", layer->folder, name);
    json_object_del(root, "extends");
    return *path ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
}

// Options belong to their plugin: where above names another one in a section, those of below go.
static void drop_foreign_options(json_t *below, const json_t *above) {
    const char *key;
    json_t *section;
    json_object_foreach(below, key, section) {
        const char *old = json_string_value(json_object_get(section, "plugin"));
        const char *chosen =
            json_string_value(json_object_get(json_object_get(above, key), "plugin"));
        if (old && chosen && strcmp(old, chosen) != 0) json_object_clear(section);
    }
}

// Reads one file and puts what it extends under it. *path: the file to extend next, NULL = none.
static hox_status load_layer(document *d, const char **path, hox_error *error) {
    document_layer *layer = &d->layers[d->layer_count];
    *layer = (document_layer){.path = *path};
    hox_error why = HOX_ERROR_INIT;
    if (file_read(*path, MAX_FILE_BYTES, &layer->text, &layer->size, &why) != HOX_OK) {
        if (d->layer_count > 0) return wrong_extends(layer - 1, why.message, error);
        return hox_error_pass(error, why.status, &why);
    }
    d->layer_count++;
    HOX_TRY(find_folder(d, layer, error));
    json_t *root;
    HOX_TRY(parse(layer, &root, error));
    const hox_status status = take_extends(d, layer, root, path, error);
    if (status == HOX_OK && d->root) { // what is above wins
        drop_foreign_options(root, d->root);
        json_object_update_recursive(root, d->root);
        json_decref(d->root);
    }
    if (status == HOX_OK)
        d->root = root;
    else
        json_decref(root);
    return status;
}

// ---- settings from the command line ----

static json_t *parse_value(const char *text) {
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    return value ? value : json_string(text);
}

// Lays one "a.b=value" over the root.
static hox_status apply_set(document *d, const char *set, hox_error *error) {
    const char *equals = strchr(set, '=');
    if (!equals || equals == set)
        return hox_error_set(error, HOX_BAD_OPTION, "--set %s: expected key=value", set);
    json_t *object = d->root;
    const char *at = set;
    for (;;) {
        const size_t length = strcspn(at, ".=");
        char key[128];
        if (length == 0 || length >= sizeof key)
            return hox_error_set(error, HOX_BAD_OPTION, "--set %s: expected section.key=value",
                                 set);
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        at += length;
        if (at == equals) {
            json_t *old = json_object_get(object, key), *value = parse_value(equals + 1);
            if (strcmp(key, "plugin") == 0 && old && !json_equal(old, value))
                json_object_clear(object); // options belong to their plugin
            if (json_object_set_new(object, key, value) == 0) return HOX_OK;
            return hox_error_set(error, HOX_BAD_OPTION, "--set %s: not UTF-8", set);
        }
        at++;
        if (!json_is_object(json_object_get(object, key)))
            json_object_set_new(object, key, json_object());
        object = json_object_get(object, key);
    }
}

static hox_status load(document *d, const char *path, hox_error *error) {
    char here[PATH_MAX];
    d->working_folder =
        arena_print(&d->memory, error, "%s", getcwd(here, sizeof here) ? here : ".");
    if (!d->working_folder) return HOX_OUT_OF_HOST_MEMORY;
    while (path)
        HOX_TRY(load_layer(d, &path, error));
    for (size_t i = 0; i < d->set_count; i++)
        HOX_TRY(apply_set(d, d->sets[i], error));
    return HOX_OK;
}

hox_status document_load(document *d, const char *path, const char *const *sets, size_t set_count,
                         hox_error *error) {
    *d = (document){.sets = sets, .set_count = set_count};
    const hox_status status = load(d, path, error);
    if (status != HOX_OK) document_deinit(d);
    return status;
}

void document_deinit(document *d) {
    json_decref(d->root);
    for (size_t i = 0; i < d->layer_count; i++)
        free(d->layers[i].text);
    arena_deinit(&d->memory);
    *d = (document){0};
}

// Whether the set "a.b=value" gave what the pointer names: /a/b or /a/b/... or, with is_around, an
// object that holds it, /a.
static bool is_from(const char *set, const char *pointer, bool is_around) {
    for (; *set && *set != '='; set++) {
        if (*++pointer == 0) return is_around && *set == '.';
        const bool is_escaped = *set == '/' || *set == '~';
        if (is_escaped && *pointer++ != '~') return false;
        const char expected = is_escaped ? (*set == '/' ? '1' : '0') : *set == '.' ? '/' : *set;
        if (*pointer != expected) return false;
    }
    return pointer[1] == 0 || pointer[1] == '/';
}

// The first file that says something at pointer; the user's where none does. *is_there: one does.
static const document_layer *layer_of(const document *d, const char *pointer, int *row, int *column,
                                      bool *is_there) {
    *is_there = true;
    for (size_t i = 0; i < d->layer_count; i++)
        if (json_position_find(d->layers[i].text, d->layers[i].size, pointer, row, column))
            return &d->layers[i];
    *is_there = false;
    json_position_find(d->layers[0].text, d->layers[0].size, pointer, row, column);
    return &d->layers[0];
}

// The set that gave what pointer names, or NULL.
static const char *set_of(const document *d, const char *pointer, bool is_in_file) {
    for (size_t i = d->set_count; i-- > 0;)
        if (pointer[0] == '/' && is_from(d->sets[i], pointer, !is_in_file)) return d->sets[i];
    return NULL;
}

void document_describe(const document *d, const problem *p, char *line, size_t size) {
    int row, column;
    bool is_in_file;
    const document_layer *layer = layer_of(d, p->pointer, &row, &column, &is_in_file);
    const char *set = set_of(d, p->pointer, is_in_file);
    if (set)
        snprintf(line, size, "--set %s: %s", set, p->text);
    else
        snprintf(line, size, "%s:%d:%d: %s: %s", layer->path, row, column,
                 p->pointer[0] ? p->pointer : "/", p->text);
}

const char *document_folder_of(const document *d, const char *pointer) {
    int row, column;
    bool is_in_file;
    const document_layer *layer = layer_of(d, pointer, &row, &column, &is_in_file);
    return set_of(d, pointer, is_in_file) ? d->working_folder : layer->folder;
}
