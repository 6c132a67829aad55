// test_elites.c - runs whose fittest genomes are trained: who, what is written, and that no trace
// is left of lanes, stops and kills.
#include "experiment/elites.h"

#include "experiment_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { POPULATION = 8, GENERATIONS = 5 };

// 80 images in four classes: refine 40, select 28, monitor 12; test 20. Trained: generations 1, 3
// and the last.
static const char refined[] =
    "{\"seed\": 42, \"dataset\": {\"plugin\": \"synthetic\", \"train_count\": 80, \"test_count\": "
    "20, \"size\": 8}, \"task\": {\"positive_class\": 0}, \"evaluation\": "
    "{\"fitness_eval_parallel\": 1}, \"evolution\": {\"population_size\": 8, \"mutation\": "
    "{\"add_node\": 0.3}}, \"refinement\": {\"elite_refinement_enabled\": true, "
    "\"elite_refinement_every\": 2, \"elite_refinement_fraction\": 0.4, "
    "\"elite_refinement_batch_size\": 16, \"elite_refinement_lr\": 0.02, "
    "\"elite_refinement_epochs\": 10}, "
    "\"stop\": {\"max_generations\": 5}}";

static lab self;

static void setup(void) {
    lab_init(&self);
}

static void teardown(void) {
    lab_deinit(&self);
}

TestSuite(elites, .init = setup, .fini = teardown);

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

// ---- a fitness that stops the run ----

static uint64_t score_count, stop_at_score;

static hox_status score(const void *options, const hox_predictions *p,
                        const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)facts, (void)error;
    if (++score_count == stop_at_score) lab_stop();
    *fitness = p->balanced_accuracy;
    return HOX_OK;
}

static const hox_fitness_api stopping_api = {
    .struct_size = sizeof stopping_api, .flags = HOX_FITNESS_DETERMINISTIC, .score = score};
static const hox_plugin stopping = {.struct_size = sizeof stopping,
                                    .name = "stopping",
                                    .kind = HOX_KIND_FITNESS,
                                    .fitness = &stopping_api};

// ---- when ----

Test(elites, are_due_every_so_often_and_in_the_last_generation) {
    experiment_config c = {
        .refinement = {.elite_refinement_enabled = 1, .elite_refinement_every = 5},
        .stop = {.max_generations = 13}};
    for (uint32_t i = 0; i < 13; i++)
        cr_expect_eq(elites_are_due(&c, i), i == 4 || i == 9 || i == 12, "generation %u", i);
    c.refinement.elite_refinement_enabled = 0;
    cr_expect_not(elites_are_due(&c, 4));
}

// ---- what is written ----

static json_int_t number_at(json_t *line, const char *key) {
    return json_integer_value(json_object_get(line, key));
}

static double real_at(json_t *line, const char *key) {
    return json_real_value(json_object_get(line, key));
}

// Returns how many lines of the generation are those of refined genomes.
static size_t check_generation(json_t *genomes, size_t generation, bool is_baldwinian) {
    size_t count = 0;
    for (size_t i = 0; i < POPULATION; i++) {
        json_t *line = json_array_get(genomes, generation * POPULATION + i);
        cr_expect_eq(number_at(line, "generation"), (json_int_t)generation);
        const json_int_t from = number_at(line, "refined_from");
        if (from == 0) continue;
        count++;
        if (is_baldwinian)
            cr_expect_eq(number_at(line, "id"), from);
        else
            cr_expect_gt(number_at(line, "id"), from);
    }
    return count;
}

static void check_lines(const char *out, bool is_baldwinian) {
    json_t *metrics = lab_lines(&self, out, "metrics.jsonl");
    json_t *genomes = lab_lines(&self, out, "genomes.jsonl");
    size_t sum = 0;
    cr_assert_eq(json_array_size(genomes), POPULATION * GENERATIONS);
    for (size_t g = 0; g < GENERATIONS; g++) {
        json_t *line = json_array_get(metrics, g);
        const size_t count = check_generation(genomes, g, is_baldwinian);
        double best = -INFINITY;
        for (size_t i = 0; i < POPULATION; i++)
            best = fmax(best, real_at(json_array_get(genomes, g * POPULATION + i), "fitness"));
        cr_expect_eq(real_at(line, "best"), best, "refinement is part of the generation");
        cr_expect_eq(number_at(line, "refined"), (json_int_t)count);
        const bool is_due = g == 1 || g == 3 || g == 4;
        cr_expect_eq(json_is_null(at(line, "refinement_gain")), !is_due, "generation %zu", g);
        if (!is_due) cr_expect_eq(count, 0);
        cr_expect_leq(count, 3, "0.4 of 8");
        sum += count;
    }
    cr_expect_gt(sum, 0, "nobody was refined");
    json_decref(metrics);
    json_decref(genomes);
}

Test(elites, take_their_slots_under_new_ids) {
    const run_result r =
        lab_do(&self, &(lab_job){.text = refined, .out = "out", .fitness = &stopping});
    cr_expect_eq(r.generation_count, GENERATIONS);
    check_lines("out", false);
}

Test(elites, keep_their_weights_where_training_is_baldwinian) {
    lab_do(&self, &(lab_job){.text = refined,
                             .sets = SETS("refinement.baldwinian=true"),
                             .out = "out",
                             .fitness = &stopping});
    check_lines("out", true);
}

static size_t skips_of(const char *out, const char *reason) {
    json_t *events = lab_events(&self, out), *event;
    size_t i, count = 0;
    json_array_foreach(events, i, event) {
        cr_expect_str_eq(json_string_value(at(event, "event")), "refinement_skipped");
        cr_expect_str_eq(json_string_value(at(event, "reason")), reason);
        cr_expect_gt(number_at(event, "genome"), 0);
        cr_expect_str_not_empty(json_string_value(at(event, "message")));
        count++;
    }
    json_decref(events);
    return count;
}

Test(elites, whose_numbers_end_are_events_and_stay_as_they_were) {
    lab_run(&self, refined,
            SETS("refinement.elite_refinement_lr=1e6",
                 "refinement.elite_refinement_weight_decay=1e6",
                 "refinement.elite_refinement_epochs=20"),
            "out");
    cr_expect_eq(skips_of("out", "nan"), 9, "three generations of three");
    json_t *genomes = lab_lines(&self, "out", "genomes.jsonl");
    for (size_t g = 0; g < GENERATIONS; g++)
        cr_expect_eq(check_generation(genomes, g, false), 0);
    json_decref(genomes);
}

Test(elites, need_images_and_a_runtime_that_trains) {
    static const struct {
        const char *set, *fragment;
    } wrong[] = {{"task.split_fractions=[0, 0.5, 0.5]",
                  "/task/split_fractions: no image is left for refine"},
                 {"evaluation.forward_runtime=graph",
                  "/refinement/elite_refinement_enabled: runtime graph does not train"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *const sets[] = {wrong[i].set, NULL};
        hox_error error = HOX_ERROR_INIT;
        run_result r;
        cr_expect_eq(
            lab_try(&self, &(lab_job){.text = refined, .sets = sets, .out = "out"}, &r, &error),
            HOX_BAD_OPTION);
        cr_expect(strstr(error.message, wrong[i].fragment), "%s", error.message);
    }
}

// ---- no trace ----

static const char *const kinds[] = {"refinement.baldwinian=false", "refinement.baldwinian=true"};

Test(elites, are_the_same_on_any_lanes_and_wherever_the_images_lie) {
    static const char *const ways[][2] = {
        {"evaluation.fitness_eval_parallel=2", "evaluation.eval_batch_size=7"},
        {"evaluation.cache_refinement_train_on_gpu=false",
         "evaluation.cache_refinement_test_on_gpu=false"},
        {"evaluation.fitness_eval_parallel=3", "run.checkpoint_every=2"}};
    lab_run(&self, refined, NULL, "whole");
    json_t *expected = lab_lines(&self, "whole", "genomes.jsonl");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char out[16];
        snprintf(out, sizeof out, "%zu", i);
        lab_run(&self, refined, SETS(ways[i][0], ways[i][1]), out);
        json_t *genomes = lab_lines(&self, out, "genomes.jsonl");
        cr_expect(json_equal(genomes, expected), "%s", ways[i][0]);
        json_decref(genomes);
    }
    json_decref(expected);
}

static void end_and_go_on(const char *whole, const lab_job *job, bool has_same_checkpoints) {
    if (job->kill_at > 0)
        lab_kill(&self, job);
    else
        lab_do(&self, job);
    lab_do(&self, &(lab_job){.out = job->out, .fitness = &stopping});
    if (has_same_checkpoints) cr_expect(runs_are_equal(&self, whole, job->out), "%s", job->out);
    json_t *a = lab_lines(&self, whole, "genomes.jsonl");
    json_t *b = lab_lines(&self, job->out, "genomes.jsonl");
    cr_expect(json_equal(a, b), "%s", job->out);
    json_decref(a);
    json_decref(b);
}

Test(elites, leave_no_trace_of_stops_and_kills_between_generations) {
    for (int kind = 0; kind < 2; kind++) {
        const char *const often[] = {kinds[kind], NULL};
        const char *const seldom[] = {kinds[kind], "run.checkpoint_every=2", NULL};
        char whole[16], out[16];
        lab_job job = {.text = refined, .sets = often, .out = whole, .fitness = &stopping};
        snprintf(whole, sizeof whole, "whole-%d", kind);
        lab_do(&self, &job);
        job.out = out;
        for (uint32_t end = 1; end < GENERATIONS; end++) {
            snprintf(out, sizeof out, "stop-%d-%u", kind, end);
            job.sets = often;
            job.kill_at = 0;
            job.stop_at = end;
            end_and_go_on(whole, &job, true);
            snprintf(out, sizeof out, "kill-%d-%u", kind, end);
            job.sets = seldom;
            job.kill_at = end;
            job.stop_at = 0;
            end_and_go_on(whole, &job, false);
        }
    }
}

// The generation in training is given up, and done again.
Test(elites, leave_no_trace_of_a_stop_at_any_time) {
    lab_do(&self, &(lab_job){.text = refined, .out = "whole", .fitness = &stopping});
    const uint64_t all = score_count;
    size_t given_up = 0;
    for (uint64_t stop = 1; stop < all; stop += 3) {
        char out[16];
        snprintf(out, sizeof out, "%d", (int)stop);
        score_count = 0;
        stop_at_score = stop;
        const run_result half =
            lab_do(&self, &(lab_job){.text = refined, .out = out, .fitness = &stopping});
        given_up += half.generation_count == 1 || half.generation_count == 3;
        stop_at_score = 0;
        lab_do(&self, &(lab_job){.out = out, .fitness = &stopping});
        cr_expect(runs_are_equal(&self, "whole", out), "stopped at %s of %d", out, (int)all);
    }
    cr_expect_gt(given_up, 0);
}
