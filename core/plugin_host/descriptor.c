#include "plugin_host/descriptor.h"

#include <stdbool.h>
#include <string.h>

static const char *const kind_names[] = {
    [HOX_KIND_RUNTIME] = "runtime", [HOX_KIND_DATASET] = "dataset", [HOX_KIND_FITNESS] = "fitness"};
enum { KIND_COUNT = sizeof kind_names / sizeof *kind_names };

const char *descriptor_kind_name(uint32_t kind) {
    return kind < KIND_COUNT ? kind_names[kind] : NULL;
}

uint32_t descriptor_kind_of(const char *name, size_t length) {
    for (uint32_t kind = 1; kind < KIND_COUNT; kind++)
        if (strlen(kind_names[kind]) == length && strncmp(kind_names[kind], name, length) == 0)
            return kind;
    return 0;
}

// ---- the function tables ----

typedef struct required {
    const char *name;
    size_t offset;
} required;

#define REQUIRED(api, member)                                                                      \
    { #member, offsetof(api, member) }
static const required runtime_functions[] = {REQUIRED(hox_runtime_api, device_count),
                                             REQUIRED(hox_runtime_api, device_info),
                                             REQUIRED(hox_runtime_api, open),
                                             REQUIRED(hox_runtime_api, close),
                                             REQUIRED(hox_runtime_api, caps),
                                             REQUIRED(hox_runtime_api, check_plan),
                                             REQUIRED(hox_runtime_api, samples_create),
                                             REQUIRED(hox_runtime_api, samples_write),
                                             REQUIRED(hox_runtime_api, samples_destroy),
                                             REQUIRED(hox_runtime_api, prepare),
                                             REQUIRED(hox_runtime_api, release),
                                             REQUIRED(hox_runtime_api, evaluate)};
static const required dataset_functions[] = {
    REQUIRED(hox_dataset_api, open), REQUIRED(hox_dataset_api, close),
    REQUIRED(hox_dataset_api, info), REQUIRED(hox_dataset_api, read)};
static const required fitness_functions[] = {REQUIRED(hox_fitness_api, score)};

// Every table begins with its size.
static hox_status check_table(const void *table, const char *kind, const required *functions,
                              size_t count, hox_error *error) {
    if (!table) return hox_error_set(error, HOX_VERSION, "the %s table is missing", kind);
    uint32_t size;
    memcpy(&size, table, sizeof size);
    const size_t needed = functions[count - 1].offset + sizeof(void (*)(void));
    if (size < needed)
        return hox_error_set(error, HOX_VERSION, "%s table has %u bytes, at least %zu are needed",
                             kind, size, needed);
    for (size_t i = 0; i < count; i++) {
        void (*function)(void);
        memcpy(&function, (const char *)table + functions[i].offset, sizeof function);
        if (!function)
            return hox_error_set(error, HOX_VERSION, "required function NULL: %s",
                                 functions[i].name);
    }
    return HOX_OK;
}

static hox_status check_functions(const hox_plugin *p, hox_error *error) {
    switch (p->kind) {
        case HOX_KIND_RUNTIME:
            return check_table(p->runtime, "runtime", runtime_functions,
                               sizeof runtime_functions / sizeof *runtime_functions, error);
        case HOX_KIND_DATASET:
            return check_table(p->dataset, "dataset", dataset_functions,
                               sizeof dataset_functions / sizeof *dataset_functions, error);
        default:
            return check_table(p->fitness, "fitness", fitness_functions,
                               sizeof fitness_functions / sizeof *fitness_functions, error);
    }
}

// ---- the option fields ----

static const size_t member_sizes[] = {
    [HOX_FIELD_INT] = sizeof(int64_t),       [HOX_FIELD_REAL] = sizeof(double),
    [HOX_FIELD_BOOL] = sizeof(int32_t),      [HOX_FIELD_TEXT] = sizeof(char *),
    [HOX_FIELD_PATH] = sizeof(char *),       [HOX_FIELD_CHOICE] = sizeof(int32_t),
    [HOX_FIELD_LABEL] = sizeof(char *),      [HOX_FIELD_SEED] = sizeof(uint64_t),
    [HOX_FIELD_INTS] = sizeof(hox_int_list), [HOX_FIELD_REALS] = sizeof(hox_real_list)};

static const hox_field *row(const hox_plugin *p, uint32_t i) {
    return (const hox_field *)((const char *)p->fields + i * p->field_size);
}

static hox_status check_field(const hox_plugin *p, uint32_t index, hox_error *error) {
    const hox_field *f = row(p, index);
    const char *name = f->name ? f->name : "";
    const char *wrong = NULL;
    if (!*name)
        wrong = "has no name";
    else if (f->type < 1 || f->type >= sizeof member_sizes / sizeof *member_sizes)
        return hox_error_set(error, HOX_VERSION, "field %u (\"%s\"): unknown type %u", index, name,
                             f->type);
    else if (f->offset > p->options_size || member_sizes[f->type] > p->options_size - f->offset)
        wrong = "lies outside the options";
    else if (f->type == HOX_FIELD_CHOICE && (!f->choices || !f->choices[0] || !f->default_text))
        wrong = "choice without choices";
    else if ((f->type == HOX_FIELD_INTS || f->type == HOX_FIELD_REALS) && !f->default_text)
        wrong = "list without a default";
    for (uint32_t i = 0; i < index && !wrong; i++)
        if (strcmp(row(p, i)->name, name) == 0) wrong = "given twice";
    if (!wrong) return HOX_OK;
    return hox_error_set(error, HOX_VERSION, "field %u (\"%s\"): %s", index, name, wrong);
}

static hox_status check_fields(const hox_plugin *p, hox_error *error) {
    if (p->field_count == 0) return HOX_OK;
    if (!p->fields)
        return hox_error_set(error, HOX_VERSION, "fields: NULL with a count of %u", p->field_count);
    if (p->field_size < sizeof(hox_field))
        return hox_error_set(error, HOX_VERSION,
                             "fields: rows of %u bytes, at least %zu are needed",
                             (unsigned)p->field_size, sizeof(hox_field));
    for (uint32_t i = 0; i < p->field_count; i++)
        HOX_TRY(check_field(p, i, error));
    return HOX_OK;
}

// ---- all of it ----

static hox_status check_name(const hox_plugin *p, const char *wanted, hox_error *error) {
    const char *name = p->name ? p->name : "";
    if (!*name || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        return hox_error_set(error, HOX_VERSION, "named \"%.64s\": the name must be a-z, 0-9 and _",
                             name);
    if (wanted && strcmp(name, wanted) != 0)
        return hox_error_set(error, HOX_VERSION,
                             "named \"%.64s\", but the file name says \"%.64s\"", name, wanted);
    return HOX_OK;
}

static hox_status check_kind(const hox_plugin *p, uint32_t wanted, hox_error *error) {
    const char *name = descriptor_kind_name(p->kind);
    if (!name) return hox_error_set(error, HOX_VERSION, "unknown kind %u", p->kind);
    if (wanted && p->kind != wanted)
        return hox_error_set(error, HOX_VERSION, "kind %u (%s) where a %s is wanted", p->kind, name,
                             descriptor_kind_name(wanted));
    return HOX_OK;
}

hox_status descriptor_check(const hox_plugin *p, uint32_t kind, const char *name,
                            hox_error *error) {
    const size_t needed = offsetof(hox_plugin, version); // what follows is optional
    if (p->struct_size < needed)
        return hox_error_set(error, HOX_VERSION, "descriptor has %u bytes, at least %zu are needed",
                             p->struct_size, needed);
    if (p->magic != HOX_PLUGIN_MAGIC)
        return hox_error_set(error, HOX_VERSION, "not a hox plugin (wrong magic)");
    if (p->abi_draft != HOX_ABI_DRAFT)
        return hox_error_set(error, HOX_VERSION,
                             "made for draft %u of the contract, this host has draft %u; rebuild "
                             "it with this host's headers",
                             p->abi_draft, HOX_ABI_DRAFT);
    HOX_TRY(check_kind(p, kind, error));
    HOX_TRY(check_name(p, name, error));
    HOX_TRY(check_functions(p, error));
    return check_fields(p, error);
}
