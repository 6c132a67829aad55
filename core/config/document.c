#include "config/document.h"

#include "base/file.h"
#include "config/json_position.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = 64 << 20 };

static hox_status parse(document *d, hox_error *error) {
    json_error_t where;
    d->root = json_loadb(d->text, d->size, JSON_REJECT_DUPLICATES, &where);
    if (!d->root)
        return hox_error_set(error, HOX_BAD_OPTION, "%s:%d:%d: %s", d->path, where.line,
                             where.column, where.text);
    if (!json_is_object(d->root))
        return hox_error_set(error, HOX_BAD_OPTION, "%s:1:1: expected an object { ... }", d->path);
    return HOX_OK;
}

static hox_status find_folder(document *d, hox_error *error) {
    char real[PATH_MAX];
    if (!realpath(d->path, real))
        return hox_error_set(error, HOX_IO, "%s: cannot be found", d->path);
    *(strrchr(real, '/') + (strrchr(real, '/') == real)) = 0;
    d->folder = arena_print(&d->memory, error, "%s", real);
    return d->folder ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
}

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
            if (json_object_set_new(object, key, parse_value(equals + 1)) == 0) return HOX_OK;
            return hox_error_set(error, HOX_BAD_OPTION, "--set %s: not UTF-8", set);
        }
        at++;
        if (!json_is_object(json_object_get(object, key)))
            json_object_set_new(object, key, json_object());
        object = json_object_get(object, key);
    }
}

static hox_status load(document *d, hox_error *error) {
    HOX_TRY(file_read(d->path, MAX_FILE_BYTES, &d->text, &d->size, error));
    HOX_TRY(find_folder(d, error));
    HOX_TRY(parse(d, error));
    for (size_t i = 0; i < d->set_count; i++)
        HOX_TRY(apply_set(d, d->sets[i], error));
    return HOX_OK;
}

hox_status document_load(document *d, const char *path, const char *const *sets, size_t set_count,
                         hox_error *error) {
    *d = (document){.path = path, .sets = sets, .set_count = set_count};
    const hox_status status = load(d, error);
    if (status != HOX_OK) document_deinit(d);
    return status;
}

void document_deinit(document *d) {
    json_decref(d->root);
    free(d->text);
    arena_deinit(&d->memory);
    *d = (document){0};
}

// Whether the set "a.b=value" gave what the pointer /a/b or /a/b/... names.
static bool is_from(const char *set, const char *pointer) {
    for (; *set && *set != '='; set++) {
        const char expected = *set == '.' ? '/' : *set;
        if (*++pointer == 0 || *pointer != expected) return false;
    }
    return pointer[1] == 0 || pointer[1] == '/';
}

void document_describe(const document *d, const problem *p, char *line, size_t size) {
    for (size_t i = d->set_count; i-- > 0;)
        if (p->pointer[0] == '/' && is_from(d->sets[i], p->pointer)) {
            snprintf(line, size, "--set %s: %s", d->sets[i], p->text);
            return;
        }
    int row, column;
    json_position_find(d->text, d->size, p->pointer, &row, &column);
    snprintf(line, size, "%s:%d:%d: %s: %s", d->path, row, column, p->pointer[0] ? p->pointer : "/",
             p->text);
}
