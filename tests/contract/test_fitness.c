// test_fitness.c - every fitness plugin: each returns its own metric and is deterministic.
#include "plugin_fixture.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

static const hox_predictions predictions = {
    .struct_size = sizeof predictions,
    .count = 1,
    .logits = (const float[]){0.5F},
    .labels = (const uint8_t[]){1},
    .true_positives = 1,
    .accuracy = 0.11,
    .balanced_accuracy = 0.22,
    .precision = 0.33,
    .recall = 0.44,
    .f1 = 0.55,
    .mcc = 0.66,
    .auc = 0.77,
    .logloss = 0.88,
};

static const struct {
    const char *file, *name;
    double expected;
} rows[] = {
    {"fitness_accuracy", "accuracy", 0.11},
    {"fitness_balanced_accuracy", "balanced_accuracy", 0.22},
    {"fitness_f1", "f1", 0.55},
    {"fitness_mcc", "mcc", 0.66},
    {"fitness_auc", "auc", 0.77},
    {"fitness_logloss", "logloss", -0.88}, // higher is better, so the loss with its sign turned
};

ParameterizedTestParameters(fitness, returns_its_metric) {
    static size_t indices[sizeof rows / sizeof *rows];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        indices[i] = i;
    return cr_make_param_array(size_t, indices, sizeof rows / sizeof *rows);
}

ParameterizedTest(size_t *row, fitness, returns_its_metric) {
    const hox_plugin *plugin = plugin_load(rows[*row].file);
    cr_assert_eq(plugin->kind, HOX_KIND_FITNESS);
    cr_expect_str_eq(plugin->name, rows[*row].name);
    cr_expect_eq(plugin->fitness->flags, HOX_FITNESS_DETERMINISTIC);
    const hox_genome_facts facts = {.struct_size = sizeof facts, .node_count = 2, .edge_count = 1};
    void *options = plugin_options(plugin);
    double fitness = -1;
    cr_expect_eq(plugin->fitness->score(options, &predictions, &facts, &fitness, NULL), HOX_OK);
    cr_expect_eq(fitness, rows[*row].expected, "%s gave %g", rows[*row].name, fitness);
}
