// test_evaluation.c - logits and fitness by hand, the same for any lanes and batch size; what goes
// wrong with one genome stays with it.
#include "evaluation_fixture.h"
#include "plugin_fixture.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

// ---- six images of 1 x 2 x 2, by hand ----

static const map_size small = {1, 2, 2}, pixel = {1, 1, 1};
enum { IMAGES = 6 };
static const float images[IMAGES * 4] = {1, 0, 0, 5, /**/ 0, 1, 0, 5, /**/ 0, 0, 1,    5,
                                         3, 1, 0, 0, /**/ 0, 3, 1, 0, /**/ 0, 0, 0.5F, 9};
static const uint8_t labels[IMAGES] = {1, 0, 0, 1, 1, 1};
// Logits 0 -2 1 1 -2 0; decided 1 0 1 1 0 1: TP 3, TN 1, FP 1, FN 1.
static const float values[] = {1, -1, 2, 0, /**/ -1};
// Logits 5 5 5 0 0 9: all positive.
static const float other_values[] = {0, 0, 0, 1, /**/ 0};

// A fitness that tells every logit and its place: the sum of (place + 1) logit.
static hox_status weigh(const void *options, const hox_predictions *p,
                        const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)error;
    *fitness = facts->executed_edge_count == 1 ? 0 : 1000; // the facts are there too
    for (uint64_t i = 0; i < p->count; i++)
        *fitness += (double)(i + 1) * (double)p->logits[i];
    return p->labels[0] == 1 ? HOX_OK : HOX_INTERNAL;
}

static hox_status give_nan(const void *options, const hox_predictions *p,
                           const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)p, (void)facts, (void)error;
    *fitness = NAN;
    return HOX_OK;
}

static hox_status fail(const void *options, const hox_predictions *p, const hox_genome_facts *facts,
                       double *fitness, hox_error *error) {
    (void)options, (void)p, (void)facts, (void)fitness;
    return hox_error_set(error, HOX_INVALID_ARGUMENT, "out of sorts");
}

static hox_status fail_silently(const void *options, const hox_predictions *p,
                                const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)p, (void)facts, (void)error;
    *fitness = 1;
    return HOX_INTERNAL;
}

#define FITNESS(function)                                                                          \
    &(const hox_plugin) {                                                                          \
        .name = #function, .kind = HOX_KIND_FITNESS, .fitness = &(const hox_fitness_api) {         \
            .struct_size = sizeof(hox_fitness_api), .score = function                              \
        }                                                                                          \
    }

static void start_small(engine *self, const hox_plugin *fitness, int64_t batch_size) {
    engine_start(self, plugin_load("runtime_eager"), fitness, 1, batch_size, small, IMAGES, images,
                 labels);
}

static void score(engine *self, const genome *const *genomes, size_t count,
                  evaluation_result *results) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(evaluation_score(self->evaluation, genomes, count, &self->split, results, &error),
                 HOX_OK, "%s", error.message);
}

static evaluation_result score_one(engine *self, const genome *g) {
    evaluation_result result;
    score(self, &g, 1, &result);
    return result;
}

Test(evaluation, gives_each_genome_its_logits_in_order) {
    for (int64_t batch_size = 1; batch_size <= 7; batch_size++) {
        engine self;
        start_small(&self, FITNESS(weigh), batch_size);
        genome *a = line_genome(small, pixel, values), *b = line_genome(small, pixel, other_values);
        const genome *const genomes[] = {a, b, a};
        evaluation_result results[3];
        score(&self, genomes, 3, results);
        for (int i = 0; i < 3; i++)
            cr_expect_eq(results[i].reason, EVALUATION_OK, "%s", results[i].error.message);
        cr_expect_eq(results[0].fitness, 0 - 4 + 3 + 4 - 10 + 0, "batch size %d", (int)batch_size);
        cr_expect_eq(results[1].fitness, 5 + 10 + 15 + 0 + 0 + 54, "batch size %d",
                     (int)batch_size);
        cr_expect_eq(results[2].fitness, results[0].fitness);
        genome_destroy(a);
        genome_destroy(b);
        cr_expect_eq(engine_deinit(&self), 0);
    }
}

Test(evaluation, hands_metrics_and_facts_to_the_plugin_and_the_caller) {
    engine self;
    start_small(&self, plugin_load("fitness_balanced_accuracy"), 4);
    genome *g = line_genome(small, pixel, values);
    const evaluation_result r = score_one(&self, g);
    cr_expect_eq(r.fitness, (3.0 / 4 + 1.0 / 2) / 2);
    cr_expect_eq(r.metrics.true_positives, 3);
    cr_expect_eq(r.metrics.true_negatives, 1);
    cr_expect_eq(r.metrics.false_positives, 1);
    cr_expect_eq(r.metrics.false_negatives, 1);
    cr_expect_eq(r.metrics.accuracy, 4.0 / 6);
    cr_expect_null(r.metrics.logits);
    cr_expect_null(r.metrics.labels);
    cr_expect_eq(r.facts.node_count, 2);
    cr_expect_eq(r.facts.edge_count, 1);
    cr_expect_eq(r.facts.enabled_edge_count, 1);
    cr_expect_eq(r.facts.executed_node_count, 2);
    cr_expect_eq(r.facts.weight_count, 5);
    cr_expect_eq(r.facts.flops_per_sample, 2 * 4);
    cr_expect_eq(r.bytes_per_sample, 27 * 4 * (4 + 1) / 20);
    cr_expect_neq(r.structure_hash[0], 0);
    genome_destroy(g);
    cr_expect_eq(engine_deinit(&self), 0);
}

// All six images are then called positive: four are.
Test(evaluation, gives_a_genome_without_a_path_the_logit_0) {
    engine self;
    start_small(&self, plugin_load("fitness_accuracy"), 4);
    genome *g = line_genome(small, pixel, values), *dead = line_genome(small, pixel, values);
    dead->edges[0].is_enabled = false;
    const genome *const genomes[] = {g, dead};
    evaluation_result results[2];
    score(&self, genomes, 2, results);
    cr_expect_eq(results[1].reason, EVALUATION_OK);
    cr_expect_eq(results[1].fitness, 4.0 / 6);
    cr_expect_eq(results[1].metrics.true_positives, 4);
    cr_expect_eq(results[1].metrics.false_positives, 2);
    cr_expect_eq(results[1].metrics.auc, 0.5);
    cr_expect_eq(results[1].facts.edge_count, 1);
    cr_expect_eq(results[1].facts.executed_node_count, 0);
    genome_destroy(g);
    genome_destroy(dead);
    cr_expect_eq(engine_deinit(&self), 0);
}

Test(evaluation, never_depends_on_lanes_or_batch_size) {
    static const int64_t lanes[] = {1, 2, 3, 8}, batch_sizes[] = {1, 7, 256, 45000};
    genome *genomes[RANDOM_GENOMES];
    evaluation_result expected[RANDOM_GENOMES], results[RANDOM_GENOMES];
    random_genomes(genomes);
    size_t edges = 0, different = 0;
    for (size_t i = 0; i < 16; i++) {
        engine self;
        start_random(&self, lanes[i / 4], batch_sizes[i % 4]);
        cr_expect_eq(evaluation_lane_count(self.evaluation), lanes[i / 4]);
        score(&self, (const genome *const *)genomes, RANDOM_GENOMES, i ? results : expected);
        cr_expect_eq(engine_deinit(&self), 0);
        for (size_t k = 0; k < RANDOM_GENOMES && i > 0; k++)
            cr_expect(result_equals(&results[k], &expected[k]),
                      "genome %zu: %d lanes, batch size %d", k, (int)lanes[i / 4],
                      (int)batch_sizes[i % 4]);
    }
    for (size_t k = 0; k < RANDOM_GENOMES; k++) {
        cr_expect_eq(expected[k].reason, EVALUATION_OK, "%s", expected[k].error.message);
        edges += expected[k].facts.executed_edge_count;
        different += k > 0 && expected[k].metrics.logloss != expected[k - 1].metrics.logloss;
        genome_destroy(genomes[k]);
    }
    cr_expect_gt(edges, 40, "these genomes are too small to tell");
    cr_expect_eq(different, RANDOM_GENOMES - 1);
}

// ---- one genome fails ----

static void check_failed(const evaluation_result *r, uint32_t reason, const char *message) {
    cr_expect_eq(r->reason, reason, "%s: %s", evaluation_reasons[r->reason], r->error.message);
    cr_expect(isnan(r->fitness));
    cr_expect_neq(r->error.status, HOX_OK);
    cr_expect(strstr(r->error.message, message), "%s: %s", message, r->error.message);
    static const hox_predictions none;
    cr_expect_arr_eq(&r->metrics, &none, sizeof none);
}

Test(evaluation, calls_overflowing_weights_nan) {
    static const float huge[] = {FLT_MAX, FLT_MAX, 0, 0, 0},
                       opposed[] = {FLT_MAX, -FLT_MAX, 0, 0, 0};
    engine self;
    start_small(&self, plugin_load("fitness_accuracy"), 4);
    genome *a = line_genome(small, pixel, huge), *b = line_genome(small, pixel, values),
           *c = line_genome(small, pixel, opposed);
    const genome *const genomes[] = {a, b, c};
    evaluation_result results[3];
    score(&self, genomes, 3, results);
    check_failed(&results[0], EVALUATION_NAN, "logit of image 3 is not finite");
    cr_expect_eq(results[1].fitness, 4.0 / 6, "the neighbour");
    check_failed(&results[2], EVALUATION_NAN, "logit of image 3 is not finite");
    cr_expect_eq(results[0].facts.weight_count, 5, "the facts stay");
    genome_destroy(a);
    genome_destroy(b);
    genome_destroy(c);
    cr_expect_eq(engine_deinit(&self), 0);
}

Test(evaluation, tells_apart_what_a_fitness_does_wrong) {
    static const hox_plugin *plugins[3];
    plugins[0] = FITNESS(give_nan), plugins[1] = FITNESS(fail), plugins[2] = FITNESS(fail_silently);
    static const struct {
        uint32_t reason;
        const char *message;
    } expected[] = {{EVALUATION_NAN, "the fitness is not finite"},
                    {EVALUATION_PLUGIN_ERROR, "out of sorts"},
                    {EVALUATION_PLUGIN_ERROR, ""}};
    genome *g = line_genome(small, pixel, values);
    for (int i = 0; i < 3; i++) {
        engine self;
        start_small(&self, plugins[i], 4);
        const evaluation_result r = score_one(&self, g);
        check_failed(&r, expected[i].reason, expected[i].message);
        cr_expect_eq(engine_deinit(&self), 0);
    }
    genome_destroy(g);
}

Test(evaluation, calls_what_the_runtime_cannot_do_unsupported) {
    const map_size large = {1, 65, 65};
    static const float image[65 * 65];
    engine self;
    engine_start(&self, plugin_load("runtime_eager"), plugin_load("fitness_accuracy"), 1, 1, large,
                 1, image, (const uint8_t[]){1});
    genome *g = line_genome(large, pixel, NULL);
    const evaluation_result r = score_one(&self, g);
    check_failed(&r, EVALUATION_UNSUPPORTED, "edge 0");
    genome_destroy(g);
    cr_expect_eq(engine_deinit(&self), 0);
}

// A cap of one byte holds no image: it cannot be kept, nor streamed, nor tried alone.
Test(evaluation, calls_what_no_memory_holds_oom) {
    engine self;
    hox_error error = HOX_ERROR_INIT;
    engine_init(&self, plugin_load("runtime_eager"), plugin_load("fitness_accuracy"));
    self.config.gpu_vram_cap_bytes = 1;
    cr_assert_eq(engine_open(&self, 1, 4, &error), HOX_OK, "%s", error.message);
    engine_load(&self, small, IMAGES, images, labels);
    genome *g = line_genome(small, pixel, values);
    g->id = 7;
    const evaluation_result r = score_one(&self, g);
    check_failed(&r, EVALUATION_OOM, "genome 7 (2 nodes, 1 edges, 27 bytes an image)");
    cr_expect(strstr(r.error.message, "its images; raise evaluation.gpu_vram_cap_bytes"), "%s",
              r.error.message);
    cr_expect_gt(r.error.bytes_requested, 0);
    cr_expect_eq(r.error.bytes_available, 0);
    genome_destroy(g);
    cr_expect_eq(engine_deinit(&self), 0);
}

// ---- a runtime that does as it is told ----

static struct {
    hox_status call_status, job_status;
    uint64_t first[16], count[16]; // of the jobs so far
    size_t job_count;
    uint32_t capacity;
    int live_runners;
} script;

static hox_status count_devices(const hox_host *host, uint32_t *count, hox_error *error) {
    (void)host, (void)error;
    *count = 1;
    return HOX_OK;
}

static hox_status describe(const hox_host *host, uint32_t device, hox_device_info *info,
                           hox_error *error) {
    (void)host, (void)device, (void)error;
    *info = (hox_device_info){.struct_size = sizeof *info, .kind = HOX_DEVICE_CPU, .score = 1};
    return HOX_OK;
}

static hox_status open_script(const hox_host *host, uint32_t device, uint32_t lane_count,
                              const void *options, hox_runtime **runtime, hox_error *error) {
    (void)host, (void)device, (void)lane_count, (void)options, (void)error;
    *runtime = (hox_runtime *)&script;
    return HOX_OK;
}

static void close_script(hox_runtime *runtime) {
    (void)runtime;
}

static void tell_caps(const hox_runtime *runtime, hox_runtime_caps *caps) {
    (void)runtime;
    *caps = (hox_runtime_caps){.struct_size = sizeof *caps, .batch_multiple = 16, .max_group = 1};
}

static hox_status check(const hox_runtime *runtime, const hox_plan *p, uint32_t precision,
                        hox_error *error) {
    (void)runtime, (void)p, (void)precision, (void)error;
    return HOX_OK;
}

static hox_status create_samples(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                 uint32_t height, uint32_t width, hox_samples **samples,
                                 hox_error *error) {
    (void)runtime, (void)count, (void)channels, (void)height, (void)width, (void)error;
    *samples = (hox_samples *)&script;
    return HOX_OK;
}

static hox_status write_samples(hox_samples *samples, uint64_t first, uint64_t count,
                                const float *pixels, hox_error *error) {
    (void)samples, (void)first, (void)count, (void)pixels, (void)error;
    return HOX_OK;
}

static void destroy_samples(hox_samples *samples) {
    (void)samples;
}

static hox_status prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *p,
                          const hox_prepare_options *options, hox_runner **runner,
                          hox_error *error) {
    (void)runtime, (void)lane, (void)p, (void)error;
    script.capacity = options->capacity;
    script.live_runners++;
    *runner = (hox_runner *)&script;
    return HOX_OK;
}

static void release(hox_runner *runner) {
    (void)runner;
    script.live_runners--;
}

static hox_status evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                           uint32_t job_count, hox_error *error) {
    (void)runtime, (void)lane;
    cr_assert_eq(job_count, 1);
    hox_job *job = jobs[0];
    script.first[script.job_count] = job->first;
    script.count[script.job_count++] = job->count;
    for (uint64_t i = 0; i < job->count; i++)
        job->logits[i] = 1;
    job->status = script.job_status;
    if (script.call_status == HOX_OK) return HOX_OK;
    return hox_error_set(error, script.call_status, "told to");
}

static const hox_runtime_api script_api = {.struct_size = sizeof script_api,
                                           .device_count = count_devices,
                                           .device_info = describe,
                                           .open = open_script,
                                           .close = close_script,
                                           .caps = tell_caps,
                                           .check_plan = check,
                                           .samples_create = create_samples,
                                           .samples_write = write_samples,
                                           .samples_destroy = destroy_samples,
                                           .prepare = prepare,
                                           .release = release,
                                           .evaluate = evaluate};
static const hox_plugin script_plugin = {
    .name = "script", .kind = HOX_KIND_RUNTIME, .runtime = &script_api};

enum { MANY = 40 };

static evaluation_result run_script(int64_t batch_size, hox_status *status, hox_error *error) {
    static const float many_images[MANY * 4];
    static const uint8_t many_labels[MANY] = {1};
    engine self;
    engine_start(&self, &script_plugin, plugin_load("fitness_accuracy"), 1, batch_size, small, MANY,
                 many_images, many_labels);
    genome *g = line_genome(small, pixel, values);
    const genome *const genomes[] = {g};
    evaluation_result result;
    *status = evaluation_score(self.evaluation, genomes, 1, &self.split, &result, error);
    genome_destroy(g);
    engine_deinit(&self);
    cr_expect_eq(script.live_runners, 0);
    return result;
}

Test(evaluation, cuts_chunks_at_the_runtimes_multiple) {
    static const struct {
        int64_t batch_size;
        uint32_t capacity;
        size_t job_count;
        uint64_t last;
    } rows[] = {{5, 16, 3, 8}, {16, 16, 3, 8}, {20, 16, 3, 8}, {39, 32, 2, 8}, {45000, 40, 1, 40}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        script.job_count = 0;
        hox_status status;
        const evaluation_result r = run_script(rows[i].batch_size, &status, NULL);
        cr_assert_eq(status, HOX_OK);
        cr_expect_eq(r.fitness, 1.0 / MANY);
        cr_expect_eq(script.capacity, rows[i].capacity, "row %zu", i);
        cr_assert_eq(script.job_count, rows[i].job_count, "row %zu", i);
        uint64_t next = 0;
        for (size_t k = 0; k < script.job_count; k++) {
            cr_expect_eq(script.first[k], next, "row %zu, job %zu", i, k);
            next += script.count[k];
        }
        cr_expect_eq(next, MANY, "row %zu", i);
        cr_expect_eq(script.count[script.job_count - 1], rows[i].last, "row %zu", i);
    }
}

Test(evaluation, tells_apart_what_a_runtime_does_wrong) {
    static const struct {
        hox_status call_status, job_status;
        uint32_t reason;
        size_t job_count; // what a device fails at may pass
    } rows[] = {{HOX_INTERNAL, HOX_OK, EVALUATION_PLUGIN_ERROR, 1},
                {HOX_OK, HOX_INTERNAL, EVALUATION_PLUGIN_ERROR, 1},
                {HOX_DEVICE, HOX_OK, EVALUATION_PLUGIN_ERROR, 2},
                {HOX_OK, HOX_DEVICE, EVALUATION_PLUGIN_ERROR, 2},
                {HOX_OK, HOX_UNSUPPORTED, EVALUATION_UNSUPPORTED, 1},
                {HOX_OK, 99, EVALUATION_PLUGIN_ERROR, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        script.job_count = 0;
        script.call_status = rows[i].call_status;
        script.job_status = rows[i].job_status;
        hox_status status;
        const evaluation_result r = run_script(16, &status, NULL);
        cr_expect_eq(status, HOX_OK);
        check_failed(&r, rows[i].reason, rows[i].call_status ? "told to" : "");
        cr_expect_eq(script.job_count, rows[i].job_count, "row %zu: no further chunk", i);
    }
}

Test(evaluation, blames_no_genome_for_a_lost_device) {
    script.call_status = HOX_DEVICE_LOST;
    hox_error error = HOX_ERROR_INIT;
    hox_status status;
    run_script(16, &status, &error);
    cr_expect_eq(status, HOX_DEVICE_LOST);
    cr_expect_str_eq(error.message, "told to");
}
