// test_experiment_config.c - from JSON to settings and plugins; all that is wrong at once.
#include "experiment_fixture.h"

#include <criterion/criterion.h>
#include <unistd.h>

static lab self;

static void setup(void) {
    lab_init(&self);
}

static void teardown(void) {
    lab_deinit(&self);
}

TestSuite(experiment_config, .init = setup, .fini = teardown);

static void load(const char *text, const char *const *sets) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(lab_load(&self, text, sets, &error), HOX_OK, "%s\n%s", error.message,
                 self.problem_text);
}

// The values of SPEC.
Test(experiment_config, has_a_default_for_every_key) {
    load("{}", NULL);
    const experiment_config *c = &self.config;
    cr_expect_str_eq(c->head.name, "run");
    cr_expect_str_eq(c->dataset.plugin->name, "idx");
    cr_expect_str_eq(c->fitness.plugin->name, "balanced_accuracy");
    cr_expect_str_eq(c->runtime.plugin->name, "eager");
    cr_expect_eq(c->task.split_fractions.count, 3);
    cr_expect_eq(c->task.split_fractions.values[0], 0.5);
    cr_expect_eq(c->task.split_fractions.values[1], 0.35);
    cr_expect_eq(c->task.split_fractions.values[2], 0.15);
    cr_expect_eq(c->task.decision_threshold, 0);
    cr_expect_null(c->task.negative_class);
    cr_expect_eq(c->evaluation.eval_batch_size, 45000);
    cr_expect_str_eq(c->evaluation.device, "auto");
    cr_expect_eq(c->evaluation.gpu_vram_cap_bytes, 0);
    cr_expect_eq(c->evolution.population_size, 128);
    cr_expect_eq(c->evolution.mutation.weights, 0.8);
    cr_expect_eq(c->evolution.mutation.add_edge, 0.12);
    cr_expect_eq(c->evolution.mutation.add_node, 0.08);
    cr_expect_eq(c->evolution.mutation.split_keeps_edge, 1);
    cr_expect_eq(c->evolution.mutation.tries, 20);
    cr_expect_eq(c->genome.max_nodes, 64);
    cr_expect_eq(c->genome.max_edges, 256);
    cr_expect_eq(c->genome.allowed_channels.count, 1);
    cr_expect_eq(c->genome.allowed_channels.values[0], 3);
    cr_expect_eq(c->genome.output_readout, HOX_READOUT_SUM);
    cr_expect_eq(c->stop.max_generations, 100);
    cr_expect_eq(c->stop.max_wall_seconds, 0);
    cr_expect_str_eq(c->run.out, "runs");
}

Test(experiment_config, reads_every_section_and_the_plugins_options) {
    load(
        "{\"$schema\": \"hox.schema.json\", \"name\": \"mine\", \"seed\": \"18446744073709551615\","
        " \"dataset\": {\"plugin\": \"synthetic\", \"size\": 9, \"noise\": 0.25},"
        " \"task\": {\"positive_class\": 3, \"negative_class\": \"1\","
        "  \"split_fractions\": [0.4, 0.3, 0.2, 0.1]},"
        " \"fitness\": {\"plugin\": \"accuracy\"}, \"runtime\": {},"
        " \"evaluation\": {\"forward_runtime\": \"eager\", \"device\": \"cpu\"},"
        " \"evolution\": {\"population_size\": 7, \"mutation\": {\"add_node\": 0.5}},"
        " \"genome\": {\"allowed_channels\": [3, 8], \"output_readout\": \"mean\"}}",
        (const char *const[]){"stop.max_generations=3", "evaluation.device=auto", NULL});
    const experiment_config *c = &self.config;
    cr_expect_str_eq(c->head.name, "mine");
    cr_expect_eq(c->head.seed, UINT64_MAX);
    cr_expect_str_eq(c->task.positive_class, "3");
    cr_expect_str_eq(c->task.negative_class, "1");
    cr_expect_eq(c->task.split_fractions.count, 4);
    cr_expect_str_eq(c->fitness.plugin->name, "accuracy");
    cr_expect_eq(c->evolution.population_size, 7);
    cr_expect_eq(c->evolution.mutation.add_node, 0.5);
    cr_expect_eq(c->evolution.mutation.add_edge, 0.12, "its neighbour keeps the default");
    cr_expect_eq(c->genome.output_readout, HOX_READOUT_MEAN);
    cr_expect_eq(c->stop.max_generations, 3);
    cr_expect_str_eq(c->evaluation.device, "auto", "--set goes over the file");
    json_t *json = experiment_config_print(&self.config, NULL);
    cr_expect_eq(json_integer_value(at(json, "dataset.size")), 9);
    cr_expect_eq(json_real_value(at(json, "dataset.noise")), 0.25);
    cr_expect_eq(json_integer_value(at(json, "dataset.train_count")), 2000);
    json_decref(json);
}

// A few settings of every kind; printing, loading and printing again changes nothing.
Test(experiment_config, prints_what_loads_as_the_same) {
    load("{\"seed\": \"12345678901234567890\", \"dataset\": {\"plugin\": \"synthetic\", \"noise\": "
         "0.1}, \"task\": {\"decision_threshold\": -0.30000000000000004},"
         " \"fitness\": {\"plugin\": \"accuracy\"}}",
         NULL);
    json_t *first = experiment_config_print(&self.config, NULL);
    char *text = json_dumps(first, JSON_INDENT(2));
    lab_unload(&self);
    load(text, NULL);
    json_t *second = experiment_config_print(&self.config, NULL);
    cr_expect(json_equal(first, second), "%s", text);
    cr_expect_eq(self.config.head.seed, UINT64_C(12345678901234567890));
    json_decref(first);
    json_decref(second);
    free(text);
}

Test(experiment_config, draws_a_seed_that_is_missing_and_prints_it) {
    load("{}", NULL);
    const uint64_t first = self.config.head.seed;
    json_t *json = experiment_config_print(&self.config, NULL);
    char *text = json_dumps(json, 0);
    json_decref(json);
    lab_unload(&self);
    load(text, NULL);
    cr_expect_eq(self.config.head.seed, first);
    lab_unload(&self);
    load("{}", NULL);
    cr_expect_neq(self.config.head.seed, first);
    lab_unload(&self);
    load("{\"seed\": 0}", NULL);
    cr_expect_eq(self.config.head.seed, 0);
    free(text);
}

static void check_wrong(const char *text, hox_status expected, const char *const *lines) {
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(lab_load(&self, text, NULL, &error), expected, "%s", text);
    cr_expect_neq(error.status, HOX_OK);
    size_t count = 0;
    for (; lines[count]; count++)
        cr_expect(strstr(self.problem_text, lines[count]), "%s\nin\n%s", lines[count],
                  self.problem_text);
    cr_expect_eq(self.problems.count, count, "%s", self.problem_text);
    lab_unload(&self);
}

Test(experiment_config, tells_everything_that_is_wrong_at_once) {
    check_wrong("{\"sed\": 1, \"dataset\": {\"plugin\": \"synthetic\", \"sise\": 8, \"noise\": 2},"
                " \"evolution\": {\"population_size\": 0, \"mutation\": {\"ad_node\": 0.1}},"
                " \"stop\": {\"max_generations\": \"ten\"}}",
                HOX_BAD_OPTION,
                (const char *const[]){"/sed: there is no such setting; did you mean \"seed\"?",
                                      "/dataset/sise: there is no such setting; did you mean "
                                      "\"size\"?",
                                      "/dataset/noise: ", "/evolution/population_size: ",
                                      "/evolution/mutation/ad_node: there is no such setting; did "
                                      "you mean \"add_node\"?",
                                      "/stop/max_generations: ", NULL});
}

Test(experiment_config, tells_of_a_missing_plugin_and_still_of_the_rest) {
    check_wrong("{\"dataset\": {\"plugin\": \"nothere\", \"any\": \"option\"}, \"stop\": 5}",
                HOX_NOT_FOUND,
                (const char *const[]){"/dataset/plugin: no dataset plugin \"nothere\"",
                                      "/stop: expected an object", NULL});
    check_wrong("{\"fitness\": {\"plugin\": \"./experiment.json\"}, \"evaluation\": "
                "{\"forward_runtime\": \"fussed\"}, \"seed\": -1}",
                HOX_VERSION,
                (const char *const[]){"experiment.json: not a shared object",
                                      "/evaluation/forward_runtime: no runtime plugin \"fussed\"",
                                      "/seed: ", NULL});
}

Test(experiment_config, looks_at_what_single_rows_cannot_say) {
    static const struct {
        const char *text, *line;
    } rows[] = {
        {"{\"task\": {\"split_fractions\": [0.5, 0.5]}}", "/task/split_fractions: 2 numbers"},
        {"{\"task\": {\"split_fractions\": [0.5, 0.4, 0.2]}}",
         "/task/split_fractions: the sum 1.1 is above 1"},
        {"{\"task\": {\"split_fractions\": [0.5, 0, 0.2]}}",
         "/task/split_fractions: select and monitor must have images"},
        {"{\"task\": {\"split_fractions\": [0.5, 0.5, 0]}}",
         "/task/split_fractions: select and monitor must have images"},
        {"{\"task\": {\"positive_class\": null}}", "/task/positive_class: expected a class"},
        {"{\"evolution\": {\"mutation\": {\"add_node\": 0.9}}}", "/evolution/mutation: "},
        {"{\"genome\": {\"output_size\": [3, 1]}}", "/genome/output_size: "},
        {"{\"genome\": {\"allowed_channels\": []}}", "/genome/allowed_channels: "},
        {"{\"name\": \"../escape\"}", "/name: "},
        {"{\"name\": \".hidden\"}", "/name: "},
        {"{\"name\": \"\"}", "/name: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_wrong(rows[i].text, HOX_BAD_OPTION, (const char *const[]){rows[i].line, NULL});
    load("{\"task\": {\"split_fractions\": [0.6, 0.3, 0.1]}}", NULL); // 0.6 + 0.3 + 0.1 is above 1
}

// Relative to the file that says it; in the resolved settings it must not depend on where they lie.
Test(experiment_config, finds_a_plugin_by_path_from_the_files_folder) {
    char *link = temp_path(&self.folder, "own.so");
    cr_assert_eq(symlink(HOX_PLUGIN_DIR "/fitness_accuracy.so", link), 0);
    load("{\"fitness\": {\"plugin\": \"./own.so\"}}", NULL);
    cr_expect_str_eq(self.config.fitness.plugin->name, "accuracy");
    json_t *json = experiment_config_print(&self.config, NULL);
    const char *name = json_string_value(at(json, "fitness.plugin"));
    cr_expect_eq(name[0], '/', "%s", name);
    cr_expect_eq(access(name, R_OK), 0, "%s", name);
    json_decref(json);
    free(link);
}
