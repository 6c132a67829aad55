// test_resume.c - runs that are stopped or killed and go on: no trace of it is left.
#include "experiment_fixture.h"

#include <criterion/criterion.h>
#include <math.h>

// 80 images in four classes: refine 40, select 28, monitor 12; test 20.
#define SETTINGS                                                                                   \
    "\"dataset\": {\"plugin\": \"synthetic\", \"train_count\": 80, \"test_count\": 20, "           \
    "\"size\": 8}, \"task\": {\"positive_class\": 0}, \"genome\": {\"allowed_channels\": [3, "     \
    "8]}, "                                                                                        \
    "\"evaluation\": {\"fitness_eval_parallel\": 1}, \"evolution\": {\"population_size\": 8, "     \
    "\"mutation\": {\"add_node\": 0.3}}, \"stop\": {\"max_generations\": 8}}"
static const char seeded[] = "{\"seed\": 42, " SETTINGS;
static const char unseeded[] = "{" SETTINGS;

static lab self;

static void setup(void) {
    lab_init(&self);
}

static void teardown(void) {
    lab_deinit(&self);
}

TestSuite(resume, .init = setup, .fini = teardown);

// ---- a fitness that counts ----

static uint64_t score_count;
static bool test_fails;

static hox_status score(const void *options, const hox_predictions *p,
                        const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)facts;
    score_count++;
    if (test_fails && p->count == 20) return hox_error_set(error, HOX_INTERNAL, "not today");
    *fitness = p->balanced_accuracy;
    return HOX_OK;
}

static const hox_fitness_api counting_api = {
    .struct_size = sizeof counting_api, .flags = HOX_FITNESS_DETERMINISTIC, .score = score};
static const hox_plugin counting_plugin = {.struct_size = sizeof counting_plugin,
                                           .name = "counting",
                                           .kind = HOX_KIND_FITNESS,
                                           .fitness = &counting_api};

// ---- going on ----

static void check_generations(const char *out, size_t count) {
    json_t *metrics = lab_lines(&self, out, "metrics.jsonl");
    cr_expect_eq(json_array_size(metrics), count);
    for (size_t i = 0; i < json_array_size(metrics); i++)
        cr_expect_eq(json_integer_value(at(json_array_get(metrics, i), "generation")),
                     (json_int_t)i, "%s: each once, in order", out);
    json_decref(metrics);
}

// cases.md C11
Test(resume, runs_each_generation_once_though_it_was_killed) {
    static const char *const sets[] = {"stop.max_generations=10", "run.checkpoint_every=5", NULL};
    lab_run(&self, seeded, sets, "whole");
    for (uint32_t kill = 5; kill < 10; kill++) { // the first checkpoint holds generation 4
        char out[16];
        snprintf(out, sizeof out, "%u", kill);
        lab_kill(&self, &(lab_job){.text = seeded, .sets = sets, .out = out, .kill_at = kill});
        const run_result r = lab_do(&self, &(lab_job){.out = out});
        cr_expect_eq(r.generation_count, 10);
        check_generations(out, 10);
        cr_expect(runs_are_equal(&self, "whole", out), "%s", out);
    }
}

Test(resume, starts_over_where_it_was_killed_before_its_first_checkpoint) {
    static const char *const sets[] = {"run.checkpoint_every=5", NULL};
    lab_run(&self, seeded, sets, "whole");
    lab_kill(&self, &(lab_job){.text = seeded, .sets = sets, .out = "out", .kill_at = 4});
    lab_do(&self, &(lab_job){.out = "out"});
    check_generations("out", 8);
    cr_expect(runs_are_equal(&self, "whole", "out"));
}

// The damaged ones have higher numbers than what is saved first.
Test(resume, starts_over_only_by_force_where_no_checkpoint_is_valid_and_saves_again) {
    static const char *const names[] = {"out/checkpoint/00000004.safetensors",
                                        "out/checkpoint/00000003.safetensors"};
    lab_do(&self, &(lab_job){.text = seeded, .out = "whole", .fitness = &counting_plugin});
    lab_do(&self, &(lab_job){.text = seeded, .out = "out", .stop_at = 5});
    for (size_t i = 0; i < 2; i++) {
        char *path = temp_path(&self.folder, names[i]);
        temp_write(path, "damaged");
        free(path);
    }
    hox_error error = HOX_ERROR_INIT;
    run_result r;
    cr_expect_eq(lab_try(&self, &(lab_job){.out = "out"}, &r, &error), HOX_CORRUPT);
    cr_expect(strstr(error.message, "--force starts the run over"), "%s", error.message);
    check_generations("out", 5); // nothing was dropped
    lab_kill(&self, &(lab_job){.out = "out", .kill_at = 3, .is_forced = true});
    const uint64_t before = score_count;
    lab_do(&self, &(lab_job){.out = "out", .fitness = &counting_plugin});
    check_generations("out", 8);
    cr_expect(runs_are_equal(&self, "whole", "out"));
    cr_expect_lt(score_count - before, before, "it went on behind the third generation");
}

Test(resume, evaluates_nothing_of_a_run_that_had_ended) {
    lab_do(&self, &(lab_job){.text = seeded, .out = "out", .fitness = &counting_plugin});
    json_t *before = lab_json(&self, "out", "run.json");
    const uint64_t evaluated = score_count;
    cr_expect_gt(evaluated, 8);
    const run_result r = lab_do(&self, &(lab_job){.out = "out", .fitness = &counting_plugin});
    cr_expect_eq(score_count, evaluated);
    cr_expect(r.had_ended);
    cr_expect_eq(r.generation_count, 8);
    cr_expect_eq(r.fitness[SPLIT_TEST], json_real_value(at(before, "result.fitness.test")));
    json_t *after = lab_json(&self, "out", "run.json");
    json_t *events = lab_events(&self, "out");
    cr_expect(json_equal(before, after));
    cr_expect_eq(json_array_size(events), 0);
    json_decref(before);
    json_decref(after);
    json_decref(events);
}

// Time passes between the save and the end, too.
Test(resume, evaluates_nothing_of_a_run_whose_time_was_up) {
    static const char *const sets[] = {"stop.max_wall_seconds=0.5", "stop.max_generations=1000000",
                                       NULL};
    lab_do(&self, &(lab_job){.text = seeded, .sets = sets, .out = "out", .pause_ms = 501});
    const run_result r = lab_do(&self, &(lab_job){.out = "out", .fitness = &counting_plugin});
    cr_expect(r.had_ended);
    cr_expect_eq(score_count, 0);
}

// Stopped after every generation; the last: all is evaluated but the test split.
static void check_every_stop(const char *text, const char *const *sets) {
    char out[16];
    lab_run(&self, text, sets, "whole");
    for (uint32_t stop = 1; stop <= 8; stop++) {
        snprintf(out, sizeof out, "%u", stop);
        const run_result half =
            lab_do(&self, &(lab_job){.text = text, .sets = sets, .out = out, .stop_at = stop});
        cr_expect_eq(half.generation_count, stop);
        cr_expect(isnan(half.fitness[SPLIT_TEST]));
        const run_result r = lab_do(&self, &(lab_job){.out = out});
        cr_expect_eq(r.generation_count, 8);
        cr_expect_not(isnan(r.fitness[SPLIT_TEST]));
        cr_expect_not(r.had_ended);
        cr_expect(runs_are_equal(&self, "whole", out), "stopped at %u", stop);
    }
}

// cases.md C13
Test(resume, is_the_same_run_wherever_it_was_stopped) {
    check_every_stop(seeded, NULL);
}

Test(resume, is_the_same_run_wherever_it_was_stopped_also_with_a_drawn_seed) {
    lab_run(&self, unseeded, NULL, "drawn");
    json_t *config = lab_json(&self, "drawn", "config.resolved.json");
    json_t *run = lab_json(&self, "drawn", "run.json");
    json_t *seed = at(config, "seed");
    cr_expect(json_equal(seed, at(run, "seed")), "it is stored in both");
    char set[64];
    if (json_is_string(seed))
        snprintf(set, sizeof set, "seed=\"%s\"", json_string_value(seed));
    else
        snprintf(set, sizeof set, "seed=%lld", (long long)json_integer_value(seed));
    check_every_stop(unseeded, (const char *const[]){set, NULL});
    cr_expect(runs_are_equal(&self, "whole", "drawn"));

    // drawn, stopped, and on: the seed comes from the folder
    lab_do(&self, &(lab_job){.text = unseeded, .out = "half", .stop_at = 3});
    lab_do(&self, &(lab_job){.out = "half"});
    char *path = temp_path(&self.folder, "half/config.resolved.json");
    char *text = temp_read(path, NULL);
    lab_run(&self, text, NULL, "again");
    cr_expect(runs_are_equal(&self, "again", "half"));
    free(text);
    free(path);
    json_decref(config);
    json_decref(run);
}

Test(resume, may_be_done_many_times) {
    lab_run(&self, seeded, NULL, "whole");
    lab_do(&self, &(lab_job){.text = seeded, .out = "out", .stop_at = 1});
    for (uint32_t stop = 2; stop <= 8; stop++)
        lab_do(&self, &(lab_job){.out = "out", .stop_at = stop});
    lab_do(&self, &(lab_job){.out = "out"});
    cr_expect(runs_are_equal(&self, "whole", "out"));
}

// ---- with other settings ----

Test(resume, makes_a_run_longer_and_measures_test_again) {
    static const char *const longer[] = {"stop.max_generations=11", NULL};
    lab_run(&self, seeded, longer, "whole");
    lab_run(&self, seeded, NULL, "out");
    const run_result r = lab_do(&self, &(lab_job){.out = "out", .sets = longer});
    cr_expect_eq(r.generation_count, 11);
    cr_expect_not(isnan(r.fitness[SPLIT_TEST]));
    cr_expect(runs_are_equal(&self, "whole", "out"));
    json_t *events = lab_events(&self, "out");
    json_t *config = lab_json(&self, "out", "config.resolved.json");
    cr_assert_eq(json_array_size(events), 1);
    cr_expect(
        strstr(json_string_value(at(json_array_get(events, 0), "message")), "measured again"));
    cr_expect_eq(json_integer_value(at(config, "stop.max_generations")), 11);
    json_decref(events);
    json_decref(config);
}

Test(resume, measures_test_where_that_had_failed) {
    const lab_job first = {.text = seeded, .out = "out", .fitness = &counting_plugin};
    hox_error error = HOX_ERROR_INIT;
    run_result r;
    test_fails = true;
    cr_expect_eq(lab_try(&self, &first, &r, &error), HOX_INTERNAL);
    cr_expect(strstr(error.message, "fails on test: not today"), "%s", error.message);
    test_fails = false;
    r = lab_do(&self, &(lab_job){.out = "out", .fitness = &counting_plugin});
    cr_expect_not(isnan(r.fitness[SPLIT_TEST]));
    cr_expect_eq(r.generation_count, 8);
}

Test(resume, may_be_quicker_or_slower) {
    lab_run(&self, seeded, NULL, "whole");
    lab_do(&self, &(lab_job){.text = seeded, .out = "out", .stop_at = 3});
    lab_do(&self,
           &(lab_job){.out = "out",
                      .sets = (const char *const[]){"evaluation.fitness_eval_parallel=2",
                                                    "evaluation.eval_batch_size=7",
                                                    "run.checkpoint_every=3", "name=\"x\"", NULL}});
    json_t *a = lab_lines(&self, "whole", "genomes.jsonl");
    json_t *b = lab_lines(&self, "out", "genomes.jsonl");
    cr_expect(json_equal(a, b));
    json_decref(a);
    json_decref(b);
}

static void keep_lines(void *context, uint32_t level, const char *line) {
    char *kept = context;
    const size_t used = strlen(kept);
    if (level <= HOX_LOG_WARNING) snprintf(kept + used, 1024 - used, "%s\n", line);
}

Test(resume, needs_force_where_a_setting_changes_results) {
    static const char *const sets[] = {"evolution.mutation.add_node=0.4", NULL};
    char lines[1024] = "";
    const log_sink log = {.level = HOX_LOG_WARNING, .write = keep_lines, .context = lines};
    hox_error error = HOX_ERROR_INIT;
    run_result r;
    lab_do(&self, &(lab_job){.text = seeded, .out = "out", .stop_at = 3});
    char *path = temp_path(&self.folder, "out/config.resolved.json");
    char *before = temp_read(path, NULL);
    cr_expect_eq(lab_try(&self, &(lab_job){.out = "out", .sets = sets}, &r, &error),
                 HOX_BAD_OPTION);
    cr_expect(strstr(error.message, "evolution/mutation/add_node changed"), "%s", error.message);
    cr_expect(strstr(error.message, "--force"), "%s", error.message);
    char *after = temp_read(path, NULL);
    cr_expect_str_eq(before, after, "a refusal leaves the folder as it was");

    const lab_job forced = {.out = "out", .sets = sets, .is_forced = true, .log = &log};
    r = lab_do(&self, &forced);
    cr_expect_eq(r.generation_count, 8);
    cr_expect(strstr(lines, "evolution/mutation/add_node"), "%s", lines);
    json_t *events = lab_events(&self, "out");
    cr_assert_eq(json_array_size(events), 1);
    cr_expect(strstr(json_string_value(at(json_array_get(events, 0), "message")),
                     "evolution/mutation/add_node"));
    json_decref(events);
    check_generations("out", 8);
    free(before);
    free(after);
    free(path);
}

Test(resume, never_with_another_number_of_genomes) {
    static const char *const sets[] = {"evolution.population_size=9", NULL};
    const lab_job forced = {.out = "out", .sets = sets, .is_forced = true};
    hox_error error = HOX_ERROR_INIT;
    run_result r;
    lab_do(&self, &(lab_job){.text = seeded, .out = "out", .stop_at = 3});
    cr_expect_eq(lab_try(&self, &forced, &r, &error), HOX_BAD_OPTION);
    cr_expect(strstr(error.message, "/evolution/population_size"), "%s", error.message);
    lab_do(&self, &(lab_job){.out = "out"});
    check_generations("out", 8);
}

// ---- what the device or memory ends ----

static const char *const hungry =
    "evaluation.forward_runtime=" HOX_TEST_PLUGIN_DIR "/runtime_hungry.so";

// Sparing with checkpoints: what was reached is saved because the run ends.
Test(resume, goes_on_where_the_device_was_lost) {
    lab_run(&self, seeded, (const char *const[]){hungry, NULL}, "whole");
    lab_job job = {
        .text = seeded,
        .sets = (const char *const[]){hungry, "runtime.lose_at=30", "run.checkpoint_every=0", NULL},
        .out = "out"};
    run_result result;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(lab_try(&self, &job, &result, &error), HOX_DEVICE_LOST, "%s", error.message);
    cr_expect_gt(result.generation_count, 1);
    cr_expect_lt(result.generation_count, 8);
    check_generations("out", result.generation_count);
    json_t *events = lab_events(&self, "out"), *genomes = lab_lines(&self, "out", "genomes.jsonl");
    cr_assert_eq(json_array_size(events), 1);
    cr_expect_str_eq(json_string_value(at(json_array_get(events, 0), "event")), "device-lost");
    for (size_t i = 0; i < json_array_size(genomes); i++)
        cr_expect(json_is_null(at(json_array_get(genomes, i), "failure")), "a genome is blamed");
    json_decref(events);
    json_decref(genomes);
    lab_do(&self, &(lab_job){.out = "out",
                             .sets = (const char *const[]){"runtime.lose_at=0",
                                                           "run.checkpoint_every=1", NULL},
                             .is_forced = true});
    check_generations("out", 8);
    cr_expect(runs_are_equal(&self, "out", "whole"));
}

static bool has_started_over(const char *out) {
    json_t *events = lab_events(&self, out);
    bool has = false;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const char *message =
            json_string_value(json_object_get(json_array_get(events, i), "message"));
        has |= message && strstr(message, "the run starts over");
    }
    json_decref(events);
    return has;
}

// One generation after the other, the champion on monitor, what is asked of memory between
// generations, and test: the device goes in each call. False: there was no such call.
static bool lose_in(const char *option, int call) {
    char set[80], out[40];
    snprintf(set, sizeof set, "runtime.%s=%d", option, call);
    snprintf(out, sizeof out, "%s-%d", option, call);
    const lab_job job = {.text = seeded,
                         .sets = (const char *const[]){hungry, set, "stop.max_generations=3",
                                                       "run.checkpoint_every=0", NULL},
                         .out = out};
    run_result result;
    hox_error error = HOX_ERROR_INIT;
    const hox_status status = lab_try(&self, &job, &result, &error);
    if (status == HOX_OK) return false;
    cr_assert_eq(status, HOX_DEVICE_LOST, "%s: %s", out, error.message);
    check_generations(out, result.generation_count);
    json_t *events = lab_events(&self, out);
    cr_expect_eq(json_array_size(events), 1, "%s", out);
    cr_expect_str_eq(json_string_value(at(json_array_get(events, 0), "event")), "device-lost");
    json_decref(events);
    snprintf(set, sizeof set, "runtime.%s=0", option);
    lab_do(&self, &(lab_job){.out = out,
                             .sets = (const char *const[]){set, "stop.max_generations=5",
                                                           "run.checkpoint_every=1", NULL},
                             .is_forced = true});
    check_generations(out, 5);
    cr_expect(runs_are_equal(&self, out, "whole"), "%s", out);
    cr_expect_eq(has_started_over(out), result.generation_count == 0, "%s: it was saved", out);
    return true;
}

Test(resume, goes_on_wherever_the_device_was_lost, .timeout = 200) {
    int call = 1;
    lab_run(&self, seeded, (const char *const[]){hungry, "stop.max_generations=5", NULL}, "whole");
    while (lose_in("lose_at", call))
        call++;
    cr_expect_gt(call, 15);
    for (call = 2; lose_in("lose_memory_at", call);) // the first is asked before there is a folder
        call++;
    cr_expect_gt(call, 6);
}

Test(resume, goes_on_with_more_memory_where_nothing_fitted) {
    lab_run(&self, seeded, NULL, "whole");
    lab_do(&self, &(lab_job){.text = seeded, .out = "out", .stop_at = 4});
    lab_job starved = {.out = "out",
                       .sets = (const char *const[]){"evaluation.gpu_vram_cap_bytes=1000", NULL}};
    run_result result;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(lab_try(&self, &starved, &result, &error), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect(strstr(error.message, "generation 4"), "%s", error.message);
    check_generations("out", 4);
    lab_do(&self,
           &(lab_job){.out = "out",
                      .sets = (const char *const[]){"evaluation.gpu_vram_cap_bytes=0", NULL}});
    cr_expect(runs_are_equal(&self, "out", "whole"));
}

// The batch a run has come down to is where it goes on; it is in no file that is compared.
Test(resume, remembers_the_batch) {
    static const char *const tight[] = {"evaluation.gpu_vram_cap_bytes=38000",
                                        "evaluation.eval_batch_size_min=4",
                                        "evaluation.batch_size=4", NULL};
    lab_run(&self, seeded, NULL, "whole");
    lab_do(&self, &(lab_job){.text = seeded, .sets = tight, .out = "out", .stop_at = 4});
    json_t *stopped = lab_json(&self, "out", "checkpoint/volatile.json");
    const json_int_t batch = json_integer_value(at(stopped, "memory.batch"));
    cr_expect_lt(batch, 45000, "it has come down");
    lab_do(&self, &(lab_job){.out = "out", .sets = tight});
    json_t *events = lab_lines(&self, "out", "events.jsonl");
    for (size_t i = 0; i < json_array_size(events); i++) {
        json_t *event = json_array_get(events, i);
        if (json_integer_value(json_object_get(event, "generation")) >= 4)
            cr_expect_leq(json_integer_value(json_object_get(event, "batch_before")), batch);
    }
    json_decref(stopped);
    json_decref(events);
    cr_expect(runs_are_equal(&self, "out", "whole"));
}

// Were it only a warning, the run's champion would depend on memory.
Test(resume, goes_on_where_monitor_did_not_fit) {
    static const char *const free_memory[] = {"task.split_fractions=[0.2, 0.2, 0.6]",
                                              "dataset.train_count=400",
                                              "evaluation.gpu_vram_cap_bytes=0", NULL};
    static const char *const tight[] = {"task.split_fractions=[0.2, 0.2, 0.6]",
                                        "dataset.train_count=400",
                                        "evaluation.gpu_vram_cap_bytes=100000", NULL};
    lab_run(&self, seeded, free_memory, "whole");
    lab_job job = {.text = seeded, .sets = tight, .out = "out"};
    run_result result;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(lab_try(&self, &job, &result, &error), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect(strstr(error.message, "generation 0: its champion does not fit on monitor"), "%s",
              error.message);
    lab_do(&self,
           &(lab_job){.out = "out",
                      .sets = (const char *const[]){"evaluation.gpu_vram_cap_bytes=0", NULL}});
    cr_expect(runs_are_equal(&self, "out", "whole"));
}
