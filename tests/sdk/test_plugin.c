// test_plugin.c - what the macros export, seen from outside, for both C standards.
#include <dlfcn.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <hox/plugin.h>

static const struct {
    const char *file;
    uint32_t kind;
    uint32_t field_count;
} rows[] = {
    {SDK_PLUGIN_DIR "/C11/runtime_minimal.so", HOX_KIND_RUNTIME, 0},
    {SDK_PLUGIN_DIR "/C11/dataset_minimal.so", HOX_KIND_DATASET, 11},
    {SDK_PLUGIN_DIR "/C11/fitness_minimal.so", HOX_KIND_FITNESS, 0},
    {SDK_PLUGIN_DIR "/C17/runtime_minimal.so", HOX_KIND_RUNTIME, 0},
    {SDK_PLUGIN_DIR "/C17/dataset_minimal.so", HOX_KIND_DATASET, 11},
    {SDK_PLUGIN_DIR "/C17/fitness_minimal.so", HOX_KIND_FITNESS, 0},
};

static const hox_plugin *load(const char *file) {
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    cr_assert(object, "%s", dlerror());
    const hox_plugin *plugin = dlsym(object, HOX_PLUGIN_SYMBOL);
    cr_assert(plugin, "%s", dlerror());
    return plugin;
}

ParameterizedTestParameters(plugin, macro_fills_the_constant) {
    static size_t indices[sizeof rows / sizeof *rows];
    const size_t count = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < count; i++) {
        indices[i] = i;
    }
    return cr_make_param_array(size_t, indices, count);
}

ParameterizedTest(size_t *row, plugin, macro_fills_the_constant) {
    const uint32_t kind = rows[*row].kind;
    const hox_plugin *plugin = load(rows[*row].file);

    cr_expect_eq(plugin->struct_size, sizeof *plugin);
    cr_expect_eq(plugin->abi_draft, HOX_ABI_DRAFT);
    cr_expect_eq(memcmp(&plugin->magic, "hoxplug0", 8), 0);
    cr_expect_eq(plugin->kind, kind);
    cr_expect_str_eq(plugin->name, "minimal");
    cr_expect_eq(plugin->runtime != NULL, kind == HOX_KIND_RUNTIME);
    cr_expect_eq(plugin->dataset != NULL, kind == HOX_KIND_DATASET);
    cr_expect_eq(plugin->fitness != NULL, kind == HOX_KIND_FITNESS);
    cr_expect_eq(plugin->field_count, rows[*row].field_count);
    cr_expect_eq(plugin->fields != NULL, plugin->field_count > 0);
    cr_expect_eq(plugin->field_size, plugin->field_count ? sizeof(hox_field) : 0);
}

Test(plugin, fields_say_type_offset_and_bounds) {
    const hox_plugin *plugin = load(SDK_PLUGIN_DIR "/C11/dataset_minimal.so");
    static const struct {
        const char *name;
        uint32_t type, offset;
    } expected[] = {
        {"whole", HOX_FIELD_INT, 0},      {"real", HOX_FIELD_REAL, 8},
        {"rate", HOX_FIELD_REAL, 16},     {"is_on", HOX_FIELD_BOOL, 24},
        {"choice", HOX_FIELD_CHOICE, 28}, {"text", HOX_FIELD_TEXT, 32},
        {"path", HOX_FIELD_PATH, 40},     {"label", HOX_FIELD_LABEL, 48},
        {"seed", HOX_FIELD_SEED, 56},     {"ints", HOX_FIELD_INTS, 64},
        {"reals", HOX_FIELD_REALS, 200},
    };

    cr_assert_eq(plugin->field_count, sizeof expected / sizeof *expected);
    for (uint32_t i = 0; i < plugin->field_count; i++) {
        cr_expect_str_eq(plugin->fields[i].name, expected[i].name);
        cr_expect_eq(plugin->fields[i].type, expected[i].type, "%s", expected[i].name);
        cr_expect_eq(plugin->fields[i].offset, expected[i].offset, "%s", expected[i].name);
        cr_expect(plugin->fields[i].help && *plugin->fields[i].help, "%s", expected[i].name);
    }
    cr_expect_eq(plugin->options_size, 336);
    cr_expect_eq(plugin->fields[0].default_int, 3);
    cr_expect_eq(plugin->fields[0].least_int, 1);
    cr_expect_eq(plugin->fields[0].most_int, 10);
    cr_expect_eq(plugin->fields[2].default_real, 0.08);
    cr_expect_eq(plugin->fields[2].least_real, 0.0);
    cr_expect_eq(plugin->fields[2].most_real, 1.0);
    cr_expect_eq(plugin->fields[3].default_int, 1);
    cr_expect_str_eq(plugin->fields[4].default_text, "second");
    cr_expect_str_eq(plugin->fields[4].choices[1], "second");
    cr_expect_null(plugin->fields[4].choices[2]);
    cr_expect_null(plugin->fields[6].default_text);
    cr_expect_str_eq(plugin->fields[9].default_text, "[1, 2]");
    cr_expect_eq(plugin->fields[9].most_int, 9);
    cr_expect_eq(plugin->fields[10].most_real, 1.0);
}

Test(plugin, has_goes_by_the_size_the_struct_claims) {
    hox_genome_facts facts = {.struct_size = sizeof facts};

    cr_expect(HOX_HAS(&facts, flops_per_sample));
    facts.struct_size = 47;
    cr_expect_not(HOX_HAS(&facts, flops_per_sample));
    cr_expect(HOX_HAS(&facts, weight_count));
    facts.struct_size = 0;
    cr_expect_not(HOX_HAS(&facts, struct_size));
}

Test(plugin, first_error_message_stays) {
    hox_error error = HOX_ERROR_INIT;

    cr_expect_eq(hox_error_set(&error, HOX_IO, "image %d", 7), HOX_IO);
    cr_expect_eq(hox_error_set(&error, HOX_CORRUPT, "something else"), HOX_CORRUPT);
    cr_expect_eq(error.status, HOX_IO);
    cr_expect_str_eq(error.message, "image 7");
    cr_expect_eq(error.struct_size, sizeof error);
    cr_expect_eq(error.plan_node, -1);
    cr_expect_eq(error.plan_edge, -1);
    cr_expect_eq(hox_error_set(NULL, HOX_IO, "nobody listens"), HOX_IO);
}

Test(plugin, long_message_is_cut_and_ended) {
    hox_error error = HOX_ERROR_INIT;

    cr_expect_eq(hox_error_set(&error, HOX_IO, "%0600d", 1), HOX_IO);
    cr_expect_eq(strlen(error.message), HOX_ERROR_MESSAGE_SIZE - 1);
}
