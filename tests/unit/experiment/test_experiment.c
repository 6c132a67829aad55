// test_experiment.c - whole runs on small synthetic images: the same bytes however they are
// computed, the champion that monitor chose, and what is left when a run ends early.
#include "experiment_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>

enum { POPULATION = 8, GENERATIONS = 4, MOST_GENERATIONS = 12 };

// 160 images in four classes: refine 80, select 56, monitor 24; test 40.
static const char small[] =
    "{\"seed\": 5, \"dataset\": {\"plugin\": \"synthetic\", \"train_count\": 160, "
    "\"test_count\": 40, \"size\": 8}, \"task\": {\"positive_class\": 0}, \"genome\": "
    "{\"allowed_channels\": [3, 8]}, \"evaluation\": {\"fitness_eval_parallel\": 1}, "
    "\"evolution\": {\"population_size\": 8, \"mutation\": {\"add_node\": 0.3}}, \"stop\": "
    "{\"max_generations\": 4}}";

static lab self;

static void setup(void) {
    lab_init(&self);
}

static void teardown(void) {
    lab_deinit(&self);
}

TestSuite(experiment, .init = setup, .fini = teardown);

// ---- the same run ----

Test(experiment, is_the_same_for_any_lanes_and_batch_size) {
    lab_run(&self, small, NULL, "expected");
    for (int lanes = 1; lanes <= 2; lanes++)
        for (int i = 0; i < 4; i++) {
            static const int batch_sizes[] = {1, 7, 256, 45000};
            char lane_set[64], batch_set[64], out[32];
            snprintf(lane_set, sizeof lane_set, "evaluation.fitness_eval_parallel=%d", lanes);
            snprintf(batch_set, sizeof batch_set, "evaluation.eval_batch_size=%d", batch_sizes[i]);
            snprintf(out, sizeof out, "%d-%d", lanes, batch_sizes[i]);
            lab_run(&self, small, (const char *const[]){lane_set, batch_set, NULL}, out);
            cr_expect(runs_are_equal(&self, "expected", out), "%s", out);
        }
}

Test(experiment, is_another_with_another_seed) {
    lab_run(&self, small, NULL, "one");
    lab_run(&self, small, (const char *const[]){"seed=6", NULL}, "two");
    cr_expect_not(runs_are_equal(&self, "one", "two"));
}

Test(experiment, runs_again_from_its_resolved_settings) {
    lab_run(&self, small, NULL, "first");
    char *path = temp_path(&self.folder, "first/config.resolved.json");
    char *text = temp_read(path, NULL);
    lab_run(&self, text, NULL, "second");
    cr_expect(runs_are_equal(&self, "first", "second"));
    free(text);
    free(path);
}

// ---- what it leaves ----

Test(experiment, writes_a_line_a_genome_and_a_generation) {
    const run_result r = lab_run(&self, small, NULL, "out");
    json_t *metrics = lab_lines(&self, "out", "metrics.jsonl");
    json_t *genomes = lab_lines(&self, "out", "genomes.jsonl");
    json_t *events = lab_events(&self, "out");
    cr_expect_eq(r.generation_count, GENERATIONS);
    cr_assert_eq(json_array_size(metrics), GENERATIONS);
    cr_assert_eq(json_array_size(genomes), GENERATIONS * POPULATION);
    cr_expect_eq(json_array_size(events), 0, "nothing happened");
    for (size_t i = 0; i < GENERATIONS; i++) {
        json_t *line = json_array_get(metrics, i);
        double best = -1, sum = 0;
        for (size_t k = 0; k < POPULATION; k++) {
            json_t *one = json_array_get(genomes, i * POPULATION + k);
            const double fitness = json_real_value(at(one, "fitness"));
            json_t *cells = at(one, "tp_tn_fp_fn");
            double cell[4];
            for (size_t c = 0; c < 4; c++)
                cell[c] = (double)json_integer_value(json_array_get(cells, c));
            cr_expect_eq(json_integer_value(at(one, "generation")), (json_int_t)i);
            cr_expect_eq(cell[0] + cell[1] + cell[2] + cell[3], 56);
            cr_expect_float_eq(fitness,
                               (cell[0] / (cell[0] + cell[3]) + cell[1] / (cell[1] + cell[2])) / 2,
                               1e-12);
            cr_expect(json_is_null(at(one, "failure")));
            best = fitness > best ? fitness : best;
            sum += fitness;
        }
        cr_expect_eq(json_integer_value(at(line, "generation")), (json_int_t)i);
        cr_expect_eq(json_integer_value(at(line, "evaluated")), POPULATION);
        cr_expect_eq(json_integer_value(at(line, "failed")), 0);
        cr_expect_geq(json_integer_value(at(line, "species")), 1);
        cr_expect_leq(json_integer_value(at(line, "species")), POPULATION);
        cr_expect_leq(json_integer_value(at(line, "evaluations")),
                      (json_int_t)(i + 1) * POPULATION);
        cr_expect_float_eq(json_real_value(at(line, "best")), best, 1e-12);
        cr_expect_float_eq(json_real_value(at(line, "mean")), sum / POPULATION, 1e-12);
    }
    json_decref(metrics);
    json_decref(genomes);
    json_decref(events);
}

Test(experiment, tells_data_device_and_result_in_run_json) {
    const run_result r =
        lab_run(&self, small, (const char *const[]){"evaluation.device=cpu", NULL}, "out");
    json_t *run = lab_json(&self, "out", "run.json");
    cr_expect_eq(json_integer_value(at(run, "seed")), 5);
    cr_expect_eq(json_integer_value(at(run, "lanes")), 1);
    cr_expect_str_eq(json_string_value(at(run, "device.address")), "cpu");
    cr_expect_str_empty(json_string_value(at(run, "device.bus")));
    cr_expect_str_eq(json_string_value(at(run, "runtime.name")), "eager");
    cr_expect_eq(strlen(json_string_value(at(run, "runtime.xxh128"))), 32);
    cr_expect_eq(strlen(json_string_value(at(run, "dataset.fingerprint"))), 32);
    static const struct {
        const char *key;
        int images, positive;
    } parts[] = {{"refine", 80, 20}, {"select", 56, 14}, {"monitor", 24, 6}, {"test", 40, 10}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        json_t *part = at(at(run, "dataset.splits"), parts[i].key);
        cr_expect_eq(json_integer_value(at(part, "images")), parts[i].images);
        cr_expect_eq(json_integer_value(at(part, "positive")), parts[i].positive);
    }
    cr_expect_eq(json_integer_value(at(run, "result.champion")), (json_int_t)r.champion_id);
    cr_expect_eq(json_real_value(at(run, "result.fitness.test")), r.fitness[SPLIT_TEST]);
    cr_expect_eq(json_real_value(at(run, "result.brightness_test")), r.brightness_test);
    cr_expect(r.fitness[SPLIT_TEST] >= 0 && r.fitness[SPLIT_TEST] <= 1);
    json_decref(run);
}

Test(experiment, measures_no_test_where_there_is_none) {
    const run_result r =
        lab_run(&self, small, (const char *const[]){"dataset.test_count=0", NULL}, "out");
    json_t *run = lab_json(&self, "out", "run.json");
    cr_expect(isnan(r.fitness[SPLIT_TEST]));
    cr_expect(json_is_null(at(run, "result.fitness.test")));
    json_decref(run);
}

Test(experiment, needs_a_folder_of_its_own) {
    char *folder = temp_path(&self.folder, "taken"), *file = temp_path(&self.folder, "taken/mine");
    mkdir(folder, 0777);
    hox_error error = HOX_ERROR_INIT;
    experiment *e;
    temp_write(file, "precious");
    cr_assert_eq(lab_load(&self, small, NULL, NULL), HOX_OK);
    const experiment_setup setup = {.config = &self.config, .out = folder};
    cr_expect_eq(experiment_create(&setup, &e, &error), HOX_IO);
    cr_expect(strstr(error.message, "holds something already"), "%s", error.message);
    cr_expect_null(e);
    char *text = temp_read(file, NULL);
    cr_expect_str_eq(text, "precious");
    free(text);
    free(folder);
    free(file);
}

// What a run leaves that was killed before its settings were there is in nobody's way.
Test(experiment, takes_over_a_folder_that_never_became_a_run) {
    static const char *const names[] = {"out/lock", "out/config.resolved.json.tmp"};
    char *folder = temp_path(&self.folder, "out");
    mkdir(folder, 0777);
    for (size_t i = 0; i < 2; i++) {
        char *path = temp_path(&self.folder, names[i]);
        temp_write(path, "");
        free(path);
    }
    lab_run(&self, small, NULL, "out");
    lab_run(&self, small, NULL, "other");
    cr_expect(runs_are_equal(&self, "out", "other"));
    free(folder);
}

// ---- fitness functions that do as they are told ----

enum { SELECT = 56, MONITOR = 24, MOST_SCORES = 64 };
static struct {
    double monitor[MOST_SCORES]; // by generation
    size_t monitor_count;
    int fails_from; // generation
} script;

static hox_status fail_natively(hox_error *error) {
    error->native_code = -7;
    return hox_error_set(error, HOX_INTERNAL, "the script ends here");
}

static hox_status score(const void *options, const hox_predictions *p,
                        const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)facts;
    if ((int)script.monitor_count >= script.fails_from) return fail_natively(error);
    *fitness = p->balanced_accuracy;
    if (p->count == MONITOR) *fitness = script.monitor[script.monitor_count++];
    return HOX_OK;
}

static const hox_fitness_api script_api = {.struct_size = sizeof script_api, .score = score};
static const hox_plugin script_plugin = {.struct_size = sizeof script_plugin,
                                         .name = "script",
                                         .kind = HOX_KIND_FITNESS,
                                         .fitness = &script_api};

static hox_status run_script(run_result *result, hox_error *error) {
    return lab_try(&self, &(lab_job){.text = small, .out = "out", .fitness = &script_plugin},
                   result, error);
}

// The best on monitor is generation 1, and 2 is as good: the earlier counts.
Test(experiment, returns_the_champion_that_monitor_likes_best) {
    static const double monitor[] = {0.5, 0.75, 0.75, 0.625};
    memcpy(script.monitor, monitor, sizeof monitor);
    script.fails_from = GENERATIONS + 1;
    run_result r;
    hox_error error = HOX_ERROR_INIT;
    // the plugin also judges test, which has another count
    cr_assert_eq(run_script(&r, &error), HOX_OK, "%s", error.message);
    json_t *metrics = lab_lines(&self, "out", "metrics.jsonl");
    json_t *champion = lab_json(&self, "out", "champion/genome.json");
    for (size_t i = 0; i < GENERATIONS; i++)
        cr_expect_eq(json_real_value(at(json_array_get(metrics, i), "monitor")), monitor[i]);
    cr_expect_eq(r.champion_generation, 1);
    cr_expect_eq(r.fitness[SPLIT_MONITOR], 0.75);
    json_t *chosen = at(json_array_get(metrics, 1), "champion");
    cr_expect_eq((json_int_t)r.champion_id, json_integer_value(chosen));
    cr_expect(json_equal(at(champion, "id"), chosen));
    json_decref(metrics);
    json_decref(champion);
}

// ---- runs that end early ----

static void check_files(size_t generations, size_t events) {
    json_t *metrics = lab_lines(&self, "out", "metrics.jsonl");
    json_t *genomes = lab_lines(&self, "out", "genomes.jsonl");
    json_t *happened = lab_events(&self, "out");
    json_t *run = lab_json(&self, "out", "run.json");
    cr_expect_eq(json_array_size(metrics), generations);
    cr_expect_eq(json_array_size(genomes), generations * POPULATION);
    cr_expect_eq(json_array_size(happened), events);
    cr_expect_eq(json_integer_value(at(run, "result.generations")), (json_int_t)generations);
    cr_expect(json_is_null(at(run, "result.fitness.test")));
    json_decref(lab_json(&self, "out", "config.resolved.json"));
    if (generations > 0) json_decref(lab_json(&self, "out", "champion/genome.json"));
    for (size_t i = 0; i < events; i++) {
        json_t *event = json_array_get(happened, i);
        cr_expect_str_eq(json_string_value(at(event, "event")), "genome_failed");
        cr_expect_str_eq(json_string_value(at(event, "reason")), "plugin-error");
        cr_expect_str_eq(json_string_value(at(event, "message")), "the script ends here");
        cr_expect_eq(json_integer_value(at(event, "native_code")), -7);
    }
    json_decref(metrics);
    json_decref(genomes);
    json_decref(happened);
    json_decref(run);
}

Test(experiment, ends_where_no_genome_can_be_evaluated) {
    script.monitor[0] = script.monitor[1] = 0.5;
    for (int generation = 0; generation <= 2; generation += 2) {
        script.fails_from = generation;
        script.monitor_count = 0;
        run_result r;
        hox_error error = HOX_ERROR_INIT;
        cr_expect_eq(run_script(&r, &error), HOX_INTERNAL);
        cr_expect(strstr(error.message, "no genome could be evaluated"), "%s", error.message);
        cr_expect(strstr(error.message, "the script ends here"), "%s", error.message);
        cr_expect_eq(r.generation_count, generation);
        check_files((size_t)generation, POPULATION);
        temp_folder_remove(&self.folder);
        mkdir(self.folder.path, 0777);
    }
}

Test(experiment, ends_after_the_generation_in_which_it_is_stopped) {
    const run_result r = lab_do(&self, &(lab_job){.text = small, .out = "out", .stop_at = 2});
    cr_expect_eq(r.stop_signal, SIGTERM);
    cr_expect_eq(r.generation_count, 2);
    cr_expect(isnan(r.fitness[SPLIT_TEST]), "the run may go on, so test stays unseen");
    cr_expect_neq(r.champion_id, 0);
    check_files(2, 0);
    json_t *run = lab_json(&self, "out", "run.json");
    cr_expect_eq(json_integer_value(at(run, "result.stop_signal")), SIGTERM);
    json_decref(run);
}

// What a run without limits tells of its generations.
typedef struct history {
    double best[MOST_GENERATIONS];
    json_int_t evaluations[MOST_GENERATIONS];
} history;

static history long_history(void) {
    history h;
    lab_run(&self, small, (const char *const[]){"stop.max_generations=12", NULL}, "long");
    json_t *metrics = lab_lines(&self, "long", "metrics.jsonl");
    cr_assert_eq(json_array_size(metrics), MOST_GENERATIONS);
    for (size_t i = 0; i < MOST_GENERATIONS; i++) {
        h.best[i] = json_real_value(at(json_array_get(metrics, i), "best"));
        h.evaluations[i] = json_integer_value(at(json_array_get(metrics, i), "evaluations"));
    }
    json_decref(metrics);
    return h;
}

// Runs with a limit, whole and stopped after every generation; it must end after so many.
static void check_limit(const char *limit, uint32_t generations) {
    const char *const sets[] = {"stop.max_generations=12", limit, NULL};
    char out[64], more[96];
    snprintf(out, sizeof out, "%s", limit);
    const run_result r = lab_run(&self, small, sets, out);
    cr_expect_eq(r.generation_count, generations, "%s: %u, not %u", limit, r.generation_count,
                 generations);
    cr_expect_not(isnan(r.fitness[SPLIT_TEST]), "%s: it ended as it was meant to", limit);
    cr_expect_eq(r.stop_signal, 0);
    for (uint32_t stop = 1; stop < generations; stop++) {
        snprintf(more, sizeof more, "%s-%u", limit, stop);
        lab_do(&self, &(lab_job){.text = small, .sets = sets, .out = more, .stop_at = stop});
        lab_do(&self, &(lab_job){.out = more});
        cr_expect(runs_are_equal(&self, out, more), "%s", more);
    }
}

// The first limit from a generation on that no earlier one has passed.
Test(experiment, ends_after_the_generation_that_reaches_a_limit) {
    const history h = long_history();
    double best = h.best[0];
    uint32_t better = 1, patience = 0, idle = 0;
    while (better < MOST_GENERATIONS && h.best[better] <= best)
        better++;
    cr_assert_lt(better, MOST_GENERATIONS, "the test needs a run that gets better");
    char limit[64];
    check_limit("stop.max_generations=5", 5);
    snprintf(limit, sizeof limit, "stop.target_fitness=%.17g", h.best[better]);
    check_limit(limit, better + 1);
    snprintf(limit, sizeof limit, "stop.target_fitness=%.17g", best);
    check_limit(limit, 1);
    snprintf(limit, sizeof limit, "stop.max_evaluations=%d", (int)h.evaluations[3]);
    check_limit(limit, 4);
    snprintf(limit, sizeof limit, "stop.max_evaluations=%d", (int)h.evaluations[3] + 1);
    check_limit(limit, 5);
    for (uint32_t i = 1; i < MOST_GENERATIONS && patience == 0; i++) {
        idle = h.best[i] > best ? 0 : idle + 1;
        best = h.best[i] > best ? h.best[i] : best;
        if (idle == 2) patience = i + 1;
    }
    cr_assert_gt(patience, 0, "the test needs a run that rests");
    check_limit("stop.patience=2", patience);
    check_limit("stop.max_wall_seconds=1e-9", 1); // up before the first generation
}

// Seconds of an earlier process count.
Test(experiment, adds_up_the_time_of_all_its_processes) {
    lab_do(&self, &(lab_job){.text = small, .out = "out", .stop_at = 2});
    char *path = temp_path(&self.folder, "out/checkpoint/volatile.json");
    temp_write(path, "{\"elapsed_seconds\": 1000.5}\n");
    const run_result r = lab_do(
        &self, &(lab_job){.out = "out",
                          .sets = (const char *const[]){"stop.max_wall_seconds=1000", NULL}});
    cr_expect_eq(r.generation_count, 2);
    cr_expect_not(isnan(r.fitness[SPLIT_TEST]));
    free(path);
}

// ---- memory ----

Test(experiment, says_when_the_data_does_not_fit) {
    hox_error error = HOX_ERROR_INIT;
    experiment *e;
    char *folder = temp_path(&self.folder, "out");
    cr_assert_eq(lab_load(&self, small,
                          (const char *const[]){"evaluation.gpu_vram_cap_bytes=1000", NULL}, NULL),
                 HOX_OK);
    const experiment_setup setup = {.config = &self.config, .out = folder};
    hox_status status = experiment_create(&setup, &e, &error);
    if (status == HOX_OK) { // the split may go onto the device later
        run_result r;
        status = experiment_run(e, &r, &error);
        experiment_destroy(e);
    }
    cr_expect_eq(status, HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect(strstr(error.message, "does not fit on cpu"), "%s", error.message);
    free(folder);
}
