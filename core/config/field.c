#include "config/field.h"

#include "config/nearest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTER_SIZE = 256 };

const hox_field *field_row(const field_table *table, uint32_t index) {
    return (const hox_field *)((const char *)table->rows + index * table->row_size);
}

static const hox_field *find_row(const field_table *table, const char *name) {
    for (uint32_t i = 0; i < table->count; i++)
        if (strcmp(field_row(table, i)->name, name) == 0) return field_row(table, i);
    return NULL;
}

static void *member(const hox_field *row, void *target) {
    return (char *)target + row->offset;
}

// ---- one value: JSON to member. Each takes the pointer to complain about. ----

typedef hox_status value_reader(const hox_field *row, const json_t *value, const char *pointer,
                                void *place, const field_reader *reader);

static hox_status check_int(const hox_field *row, const json_t *value, const char *pointer,
                            int64_t *number, const field_reader *reader) {
    if (!json_is_integer(value))
        return problem_add(reader->problems, pointer, "expected an integer");
    *number = json_integer_value(value);
    if (*number < row->least_int || *number > row->most_int)
        return problem_add(reader->problems, pointer,
                           "%" PRId64 " is outside %" PRId64 "..%" PRId64, *number, row->least_int,
                           row->most_int);
    return HOX_OK;
}

static hox_status check_real(const hox_field *row, const json_t *value, const char *pointer,
                             double *number, const field_reader *reader) {
    if (!json_is_number(value)) return problem_add(reader->problems, pointer, "expected a number");
    *number = json_number_value(value);
    if (!(*number >= row->least_real && *number <= row->most_real))
        return problem_add(reader->problems, pointer, "%g is outside %g..%g", *number,
                           row->least_real, row->most_real);
    return HOX_OK;
}

static hox_status read_int(const hox_field *row, const json_t *value, const char *pointer,
                           void *place, const field_reader *reader) {
    return check_int(row, value, pointer, place, reader);
}

static hox_status read_real(const hox_field *row, const json_t *value, const char *pointer,
                            void *place, const field_reader *reader) {
    return check_real(row, value, pointer, place, reader);
}

static hox_status read_bool(const hox_field *row, const json_t *value, const char *pointer,
                            void *place, const field_reader *reader) {
    (void)row;
    if (!json_is_boolean(value))
        return problem_add(reader->problems, pointer, "expected true or false");
    *(int32_t *)place = json_is_true(value);
    return HOX_OK;
}

static hox_status store_text(void *place, const field_reader *reader, const char *before,
                             const char *text) {
    const char *copy = arena_print(reader->memory, NULL, "%s%s", before, text);
    if (!copy) return HOX_OUT_OF_HOST_MEMORY;
    *(const char **)place = copy;
    return HOX_OK;
}

static hox_status read_text(const hox_field *row, const json_t *value, const char *pointer,
                            void *place, const field_reader *reader) {
    if (json_is_null(value) && !row->default_text) {
        *(const char **)place = NULL;
        return HOX_OK;
    }
    if (!json_is_string(value))
        return problem_add(reader->problems, pointer, "expected a string%s",
                           row->default_text ? "" : " or null");
    const char *text = json_string_value(value);
    if (row->type != HOX_FIELD_PATH || text[0] == '/' || text[0] == 0)
        return store_text(place, reader, "", text);
    char before[4096];
    snprintf(before, sizeof before, "%s/", reader->folder_of(reader->context, pointer));
    return store_text(place, reader, before, text);
}

static hox_status read_label(const hox_field *row, const json_t *value, const char *pointer,
                             void *place, const field_reader *reader) {
    (void)row;
    if (json_is_null(value)) {
        *(const char **)place = NULL;
        return HOX_OK;
    }
    if (json_is_string(value)) return store_text(place, reader, "", json_string_value(value));
    if (!json_is_integer(value))
        return problem_add(reader->problems, pointer, "expected a string, an integer or null");
    char digits[32];
    snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return store_text(place, reader, "", digits);
}

static hox_status read_choice(const hox_field *row, const json_t *value, const char *pointer,
                              void *place, const field_reader *reader) {
    const char *name = json_string_value(value);
    if (!name) return problem_add(reader->problems, pointer, "expected a string");
    char list[256] = "";
    nearest search = nearest_start(name);
    for (int32_t i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], name) == 0) {
            *(int32_t *)place = i;
            return HOX_OK;
        }
        nearest_offer(&search, row->choices[i]);
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", row->choices[i]);
    }
    if (search.best)
        return problem_add(reader->problems, pointer, "\"%s\" is none of %s; did you mean \"%s\"?",
                           name, list, search.best);
    return problem_add(reader->problems, pointer, "\"%s\" is none of %s", name, list);
}

static hox_status read_seed(const hox_field *row, const json_t *value, const char *pointer,
                            void *place, const field_reader *reader) {
    (void)row;
    uint64_t *seed = place;
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *seed = (uint64_t)json_integer_value(value);
        return HOX_OK;
    }
    const char *text = json_string_value(value);
    const size_t length = text ? strlen(text) : 0;
    if (length >= 1 && length <= 20 && strspn(text, "0123456789") == length) {
        char limit[24];
        *seed = strtoull(text, NULL, 10);
        snprintf(limit, sizeof limit, "%" PRIu64, *seed); // saturates above 2^64 - 1
        const char *significant = text + strspn(text, "0");
        if (strcmp(limit, *significant ? significant : "0") == 0) return HOX_OK;
    }
    return problem_add(
        reader->problems, pointer,
        "expected an integer from 0 to 18446744073709551615, above 2^63 - 1 in quotes");
}

static hox_status read_list(const hox_field *row, const json_t *value, const char *pointer,
                            void *place, const field_reader *reader) {
    if (json_is_string(value))
        return problem_add(reader->problems, pointer,
                           "expected an array, like [1, 2], not the text \"%.40s\"",
                           json_string_value(value));
    if (!json_is_array(value)) return problem_add(reader->problems, pointer, "expected an array");
    const size_t count = json_array_size(value);
    if (count > HOX_LIST_CAPACITY)
        return problem_add(reader->problems, pointer, "%zu values, at most %d fit", count,
                           HOX_LIST_CAPACITY);
    hox_int_list ints = {.count = (int64_t)count};
    hox_real_list reals = {.count = (int64_t)count};
    hox_status status = HOX_OK;
    for (size_t i = 0; i < count; i++) {
        char element[POINTER_SIZE + 24];
        snprintf(element, sizeof element, "%s/%zu", pointer, i);
        const json_t *item = json_array_get(value, i);
        const hox_status one = row->type == HOX_FIELD_INTS
                                   ? check_int(row, item, element, &ints.values[i], reader)
                                   : check_real(row, item, element, &reals.values[i], reader);
        if (one != HOX_OK) status = one;
    }
    if (status != HOX_OK) return status;
    if (row->type == HOX_FIELD_INTS)
        *(hox_int_list *)place = ints;
    else
        *(hox_real_list *)place = reals;
    return HOX_OK;
}

static value_reader *const readers[] = {
    [HOX_FIELD_INT] = read_int,     [HOX_FIELD_REAL] = read_real, [HOX_FIELD_BOOL] = read_bool,
    [HOX_FIELD_TEXT] = read_text,   [HOX_FIELD_PATH] = read_text, [HOX_FIELD_CHOICE] = read_choice,
    [HOX_FIELD_LABEL] = read_label, [HOX_FIELD_SEED] = read_seed, [HOX_FIELD_INTS] = read_list,
    [HOX_FIELD_REALS] = read_list};

// ---- defaults ----

json_t *field_default(const hox_field *row) {
    switch (row->type) {
        case HOX_FIELD_INT: return json_integer(row->default_int);
        case HOX_FIELD_REAL: return json_real(row->default_real);
        case HOX_FIELD_BOOL: return json_boolean(row->default_int);
        case HOX_FIELD_SEED: return json_integer(0);
        case HOX_FIELD_INTS:
        case HOX_FIELD_REALS: return json_loads(row->default_text, 0, NULL);
        default: return row->default_text ? json_string(row->default_text) : json_null();
    }
}

hox_status field_set_defaults(const field_section *sections, size_t section_count,
                              const field_reader *reader, hox_error *error) {
    for (size_t s = 0; s < section_count; s++)
        for (uint32_t i = 0; i < sections[s].table.count; i++) {
            const hox_field *row = field_row(&sections[s].table, i);
            json_t *value = field_default(row);
            if (!value) return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
            const hox_status status =
                readers[row->type](row, value, row->name, member(row, sections[s].target), reader);
            json_decref(value);
            if (status != HOX_OK)
                return hox_error_set(error, HOX_INTERNAL, "%s/%s: the default itself is refused",
                                     sections[s].pointer, row->name);
        }
    return HOX_OK;
}

// ---- whole objects ----

typedef struct walk {
    const field_section *sections;
    size_t section_count;
    const field_reader *reader;
} walk;

// A section below pointer/key?
static bool is_above_section(const walk *w, const char *pointer) {
    const size_t length = strlen(pointer);
    for (size_t s = 0; s < w->section_count; s++)
        if (strncmp(w->sections[s].pointer, pointer, length) == 0 &&
            (w->sections[s].pointer[length] == 0 || w->sections[s].pointer[length] == '/'))
            return true;
    return false;
}

static void offer_names(const walk *w, const char *pointer, nearest *search) {
    const size_t length = strlen(pointer);
    for (size_t s = 0; s < w->section_count; s++) {
        const field_section *section = &w->sections[s];
        if (strcmp(section->pointer, pointer) == 0)
            for (uint32_t i = 0; i < section->table.count; i++)
                nearest_offer(search, field_row(&section->table, i)->name);
        else if (strncmp(section->pointer, pointer, length) == 0 &&
                 section->pointer[length] == '/' && !strchr(section->pointer + length + 1, '/'))
            nearest_offer(search, section->pointer + length + 1);
    }
}

static hox_status unknown_key(const walk *w, const char *pointer, const char *key,
                              const char *place) {
    for (size_t s = 0; s < w->section_count; s++) // a right name in a wrong section
        if (find_row(&w->sections[s].table, key))
            return problem_add(
                w->reader->problems, place, "there is no such setting here; it belongs to \"%s\"",
                w->sections[s].pointer[0] ? w->sections[s].pointer + 1 : "the top level");
    nearest search = nearest_start(key);
    offer_names(w, pointer, &search);
    if (search.best)
        return problem_add(w->reader->problems, place,
                           "there is no such setting; did you mean \"%s\"?", search.best);
    return problem_add(w->reader->problems, place, "there is no such setting");
}

static hox_status read_object(const walk *w, json_t *object, const char *pointer);

// pointer/key, the key escaped as RFC 6901 wants it; false where that is too long.
static bool join(char place[POINTER_SIZE], const char *pointer, const char *key) {
    size_t used = (size_t)snprintf(place, POINTER_SIZE, "%s/", pointer);
    for (; *key && used + 2 < POINTER_SIZE; key++) {
        if (*key == '~' || *key == '/') {
            place[used++] = '~';
            place[used++] = *key == '/' ? '1' : '0';
        } else {
            place[used++] = *key;
        }
    }
    if (*key || used >= POINTER_SIZE) return false;
    place[used] = 0;
    return true;
}

static hox_status read_key(const walk *w, json_t *value, const char *pointer, const char *key) {
    char place[POINTER_SIZE];
    if (!join(place, pointer, key))
        return problem_add(w->reader->problems, pointer, "a key is too long");
    for (size_t s = 0; s < w->section_count; s++) {
        const field_section *section = &w->sections[s];
        if (strcmp(section->pointer, pointer) != 0) continue;
        if (section->accepts_all) return HOX_OK;
        const hox_field *row = find_row(&section->table, key);
        if (row)
            return readers[row->type](row, value, place, member(row, section->target), w->reader);
    }
    if (is_above_section(w, place)) return read_object(w, value, place);
    return unknown_key(w, pointer, key, place);
}

static hox_status read_object(const walk *w, json_t *object, const char *pointer) {
    if (!json_is_object(object))
        return problem_add(w->reader->problems, pointer, "expected an object { ... }");
    hox_status status = HOX_OK;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        if (key[0] == '$') continue;
        const hox_status one = read_key(w, value, pointer, key);
        if (one != HOX_OK) status = one;
    }
    return status;
}

hox_status field_read(json_t *root, const field_section *sections, size_t section_count,
                      const field_reader *reader, hox_error *error) {
    const walk w = {sections, section_count, reader};
    const hox_status status = read_object(&w, root, "");
    if (status == HOX_OK) return HOX_OK;
    if (reader->problems->count == 0)
        return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
    const problem *first = &reader->problems->items[0];
    return hox_error_set(error, HOX_BAD_OPTION, "%s: %s", first->pointer, first->text);
}

// ---- back to JSON ----

static json_t *print_seed(uint64_t seed) {
    if (seed <= INT64_MAX) return json_integer((json_int_t)seed);
    return json_sprintf("%" PRIu64, seed);
}

static json_t *print_list(const hox_field *row, const void *place) {
    json_t *array = json_array();
    const hox_int_list *ints = place;
    const hox_real_list *reals = place;
    const bool is_int = row->type == HOX_FIELD_INTS;
    for (int64_t i = 0; i < (is_int ? ints->count : reals->count); i++)
        json_array_append_new(array,
                              is_int ? json_integer(ints->values[i]) : json_real(reals->values[i]));
    return array;
}

static json_t *print_value(const hox_field *row, const void *place) {
    switch (row->type) {
        case HOX_FIELD_INT: return json_integer(*(const int64_t *)place);
        case HOX_FIELD_REAL: return json_real(*(const double *)place);
        case HOX_FIELD_BOOL: return json_boolean(*(const int32_t *)place);
        case HOX_FIELD_CHOICE: return json_string(row->choices[*(const int32_t *)place]);
        case HOX_FIELD_SEED: return print_seed(*(const uint64_t *)place);
        case HOX_FIELD_INTS:
        case HOX_FIELD_REALS: return print_list(row, place);
        default: {
            const char *text = *(const char *const *)place;
            return text ? json_string(text) : json_null();
        }
    }
}

// The object at pointer, made where it is missing; borrowed.
static json_t *object_at(json_t *root, const char *pointer) {
    while (root && *pointer == '/') {
        const char *token = pointer + 1;
        const size_t length = strcspn(token, "/");
        char key[POINTER_SIZE];
        snprintf(key, sizeof key, "%.*s", (int)length, token);
        json_t *below = json_object_get(root, key);
        if (!below) {
            json_object_set_new(root, key, json_object());
            below = json_object_get(root, key);
        }
        root = below;
        pointer = token + length;
    }
    return root;
}

json_t *field_print(const field_section *sections, size_t section_count, hox_error *error) {
    json_t *root = json_object();
    bool is_whole = root != NULL;
    for (size_t s = 0; s < section_count && is_whole; s++) {
        json_t *object = object_at(root, sections[s].pointer);
        for (uint32_t i = 0; i < sections[s].table.count && is_whole; i++) {
            const hox_field *row = field_row(&sections[s].table, i);
            is_whole = json_object_set_new(object, row->name,
                                           print_value(row, member(row, sections[s].target))) == 0;
        }
    }
    if (is_whole) return root;
    json_decref(root);
    hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
    return NULL;
}
