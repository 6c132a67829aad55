// test_runtime.c - what every runtime must do, judged by the double-precision reference.
#include "plugin_fixture.h"
#include "random_plan.h"
#include "reference.h"
#include "runtime_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 10, BLOCKS = 10, PLANS_PER_BLOCK = 50 };

// A GPU is played by the CPU, a thread at a time, and under a sanitizer slowly.
#ifdef __SANITIZE_ADDRESS__
enum { GPU_STEP = 10 };
#else
enum { GPU_STEP = 1 };
#endif

#define EACH_RUNTIME(name) EACH_ROW(runtime, name, RUNTIMES)

static float *floats(size_t count) {
    float *values = malloc(count * sizeof *values);
    cr_assert_not_null(values);
    return values;
}

// Hashes are all different: nothing may be shared that is not equal.
typedef struct genome {
    const hox_plan *plan;
    hox_weights weights;
    float *values;
    uint64_t *hashes;
} genome;

static genome make_genome(const hox_plan *plan, uint64_t seed) {
    const size_t hash_count = 2 * ((size_t)plan->edge_count + plan->node_count);
    genome made = {.plan = plan, .values = floats(plan->weight_count)};
    made.hashes = malloc(hash_count * sizeof *made.hashes);
    cr_assert_not_null(made.hashes);
    test_random random = {~seed};
    for (size_t i = 0; i < hash_count; i++)
        made.hashes[i] = random_next(&random);
    random_weights(plan, seed, made.values);
    made.weights = (hox_weights){.struct_size = sizeof made.weights,
                                 .values = made.values,
                                 .count = plan->weight_count,
                                 .version = seed + 1,
                                 .edge_value_hash = made.hashes,
                                 .node_value_hash = made.hashes + 2 * (size_t)plan->edge_count};
    return made;
}

static void free_genome(genome *made) {
    free(made->values);
    free(made->hashes);
}

static hox_job make_job(hox_runner *runner, const genome *of, const hox_samples *samples,
                        uint64_t first, uint64_t count, float *logits) {
    return (hox_job){.struct_size = sizeof(hox_job),
                     .status = HOX_INTERNAL,
                     .runner = runner,
                     .weights = &of->weights,
                     .samples = samples,
                     .first = first,
                     .count = count,
                     .logits = logits};
}

static void run_job(const opened *self, hox_job *job) {
    hox_error error = HOX_ERROR_INIT;
    job->error = &error;
    cr_assert_eq(self->api->evaluate(self->runtime, 0, &job, 1, &error), HOX_OK, "%s",
                 error.message);
    cr_assert_eq(job->status, HOX_OK, "%s", error.message);
    job->error = NULL;
}

// All images in chunks of one size, the last one shorter. A value behind each chunk must stay.
static void evaluate_in_chunks(const opened *self, const genome *of, const hox_samples *samples,
                               size_t count, size_t chunk, float *logits) {
    hox_runner *runner = make_runner(self, of->plan, HOX_PURPOSE_INFER, chunk);
    float *guarded = floats(chunk + 1);
    for (size_t first = 0; first < count; first += chunk) {
        const size_t n = count - first < chunk ? count - first : chunk;
        guarded[n] = 12345;
        hox_job job = make_job(runner, of, samples, first, n, guarded);
        run_job(self, &job);
        cr_assert_eq(guarded[n], 12345, "wrote behind its logits");
        memcpy(logits + first, guarded, n * sizeof *logits);
    }
    free(guarded);
    self->api->release(runner);
}

// Decisions follow: where |logit| is over the tolerance, logits this close have the same sign.
static void check_plan_against_reference(const opened *self, const hox_plan *plan, uint64_t seed,
                                         size_t count, double tolerance) {
    float *images = floats(count * image_size(plan)), *logits = floats(count);
    random_images(seed, count * image_size(plan), images);
    genome of = make_genome(plan, seed);
    hox_samples *samples = make_samples(self, plan, images, count);
    evaluate_in_chunks(self, &of, samples, count, count, logits);
    for (size_t i = 0; i < count; i++) {
        const reference_result expected =
            reference_evaluate(plan, of.values, images + i * image_size(plan));
        const double allowed = reference_tolerance(&expected, tolerance);
        cr_assert(fabs(logits[i] - expected.logit) <= allowed,
                  "seed %zu, image %zu: logit %g, reference %g, allowed %g", (size_t)seed, i,
                  (double)logits[i], expected.logit, allowed);
    }
    self->api->samples_destroy(samples);
    free_genome(&of);
    free(images);
    free(logits);
}

EACH_ROW(runtime, agrees_with_the_reference, RUNTIMES *BLOCKS) {
    opened self;
    open_runtime(&self, *row / BLOCKS);
    for (uint64_t i = 0; i<PLANS_PER_BLOCK; i += self.device> 0 ? GPU_STEP : 1) {
        const uint64_t seed = *row % BLOCKS * PLANS_PER_BLOCK + i;
        random_plan made;
        random_plan_make(&made, seed);
        check_plan_against_reference(&self, &made.plan, seed, 2, runtimes[*row / BLOCKS].tolerance);
    }
    close_runtime(&self);
}

// 3 x 9 x 8 -> a node -> 2 x 5 x 3 (an even number of pixels) or 1 x 5 x 3 (an odd one).
static void make_small_plan(random_plan *made, uint32_t activation, uint32_t readout,
                            uint32_t channels) {
    plan_begin(made, readout);
    plan_add_node(made, 3, 9, 8, HOX_ACTIVATION_IDENTITY);
    plan_add_node(made, 3, 6, 7, activation);
    plan_add_edge(made, 0);
    plan_add_node(made, channels, 5, 3, activation);
    plan_add_edge(made, 0);
    plan_add_edge(made, 1);
}

EACH_RUNTIME(knows_every_activation_and_readout) {
    opened self;
    open_runtime(&self, *row);
    hox_runtime_caps caps;
    self.api->caps(self.runtime, &caps);
    for (uint32_t i = 0; i < HOX_ACTIVATION_COUNT * HOX_READOUT_COUNT * 2; i++) {
        const uint32_t activation = i / 2 % HOX_ACTIVATION_COUNT;
        const uint32_t readout = i / 2 / HOX_ACTIVATION_COUNT;
        if (!(caps.activations >> activation & 1) || !(caps.readouts >> readout & 1)) continue;
        random_plan made;
        make_small_plan(&made, activation, readout, 1 + i % 2);
        check_plan_against_reference(&self, &made.plan, i, IMAGES, runtimes[*row].tolerance);
    }
    close_runtime(&self);
}

// One pixel through a kernel of 1: the curve itself, so close that gelu's tanh form is told apart.
EACH_RUNTIME(follows_each_curve) {
    enum { POINTS = 97 }; // -6 .. 6
    opened self;
    open_runtime(&self, *row);
    float images[POINTS], logits[POINTS];
    for (int i = 0; i < POINTS; i++)
        images[i] = (float)(i - POINTS / 2) / 8;
    for (uint32_t activation = 0; activation < HOX_ACTIVATION_COUNT; activation++) {
        random_plan made;
        plan_begin(&made, HOX_READOUT_SUM);
        plan_add_node(&made, 1, 1, 1, HOX_ACTIVATION_IDENTITY);
        plan_add_node(&made, 1, 1, 1, activation);
        plan_add_edge(&made, 0);
        genome of = make_genome(&made.plan, 1);
        of.values[0] = 1;
        of.values[1] = 0;
        hox_samples *samples = make_samples(&self, &made.plan, images, POINTS);
        evaluate_in_chunks(&self, &of, samples, POINTS, POINTS, logits);
        for (size_t i = 0; i < POINTS; i++) {
            const reference_result expected = reference_evaluate(&made.plan, of.values, &images[i]);
            cr_expect_float_eq(logits[i], expected.logit,
                               reference_tolerance(&expected, runtimes[*row].tolerance),
                               "activation %u at %g", activation, (double)images[i]);
        }
        self.api->samples_destroy(samples);
        free_genome(&of);
    }
    close_runtime(&self);
}

EACH_RUNTIME(gives_the_same_bits_for_any_chunk) {
    opened self;
    open_runtime(&self, *row);
    hox_runtime_caps caps;
    self.api->caps(self.runtime, &caps);
    const size_t chunks[] = {1, 3, 7, IMAGES};
    for (uint64_t seed = 1000; caps.flags & HOX_RUNTIME_BATCH_INVARIANT && seed < 1020; seed++) {
        random_plan made;
        random_plan_make(&made, seed);
        float *images = floats(IMAGES * image_size(&made.plan)), whole[IMAGES], cut[IMAGES];
        random_images(seed, IMAGES * image_size(&made.plan), images);
        genome of = make_genome(&made.plan, seed);
        hox_samples *samples = make_samples(&self, &made.plan, images, IMAGES);
        evaluate_in_chunks(&self, &of, samples, IMAGES, 64, whole);
        for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
            evaluate_in_chunks(&self, &of, samples, IMAGES, chunks[i], cut);
            cr_assert_arr_eq(cut, whole, sizeof cut, "seed %zu, chunks of %zu", (size_t)seed,
                             chunks[i]);
        }
        self.api->samples_destroy(samples);
        free_genome(&of);
        free(images);
    }
    close_runtime(&self);
}

// Two structures, three genomes, in one group and one after the other, and back again.
EACH_RUNTIME(keeps_runners_and_weights_apart) {
    opened self;
    open_runtime(&self, *row);
    random_plan made[2];
    make_small_plan(&made[0], HOX_ACTIVATION_TANH, HOX_READOUT_SUM, 2);
    make_small_plan(&made[1], HOX_ACTIVATION_SILU, HOX_READOUT_MEAN_MINUS_MEDIAN, 1);
    float images[IMAGES * 3 * 9 * 8];
    random_images(1, IMAGES * image_size(&made[0].plan), images);
    hox_samples *samples = make_samples(&self, &made[0].plan, images, IMAGES);
    hox_runner *runners[] = {make_runner(&self, &made[0].plan, HOX_PURPOSE_INFER, IMAGES),
                             make_runner(&self, &made[1].plan, HOX_PURPOSE_INFER, IMAGES)};
    enum { GENOMES = 3 };
    genome genomes[GENOMES] = {make_genome(&made[0].plan, 1), make_genome(&made[0].plan, 2),
                               make_genome(&made[1].plan, 3)};
    float alone[GENOMES][IMAGES], grouped[GENOMES][IMAGES], again[IMAGES];
    hox_job jobs[GENOMES];
    for (size_t i = 0; i < GENOMES; i++) {
        evaluate_in_chunks(&self, &genomes[i], samples, IMAGES, IMAGES, alone[i]);
        jobs[i] = make_job(runners[i / 2], &genomes[i], samples, 0, IMAGES, grouped[i]);
    }
    hox_runtime_caps caps;
    self.api->caps(self.runtime, &caps);
    hox_job *const group[] = {&jobs[2], &jobs[0], &jobs[1]};
    const uint32_t step = caps.max_group < GENOMES ? 1 : GENOMES;
    for (uint32_t i = 0; i < GENOMES; i += step)
        cr_assert_eq(self.api->evaluate(self.runtime, 0, group + i, step, NULL), HOX_OK);
    for (size_t i = 0; i < GENOMES; i++) {
        cr_expect_eq(jobs[i].status, HOX_OK);
        cr_expect_arr_eq(grouped[i], alone[i], sizeof alone[i], "genome %zu", i);
    }
    hox_job job = make_job(runners[0], &genomes[0], samples, 0, IMAGES, again);
    run_job(&self, &job);
    cr_expect_arr_eq(again, alone[0], sizeof again, "the first genome once more");
    cr_expect_neq(alone[0][0], alone[1][0], "other weights, other logits");

    for (size_t i = 0; i < GENOMES; i++)
        free_genome(&genomes[i]);
    self.api->release(runners[0]);
    self.api->release(runners[1]);
    self.api->samples_destroy(samples);
    close_runtime(&self);
}

// Else a broken genome would get a fitness.
EACH_RUNTIME(lets_nan_reach_the_logit) {
    opened self;
    open_runtime(&self, *row);
    for (uint32_t i = 0; i < HOX_ACTIVATION_COUNT * HOX_READOUT_COUNT; i++) {
        random_plan made;
        make_small_plan(&made, i % HOX_ACTIVATION_COUNT, i / HOX_ACTIVATION_COUNT, 1);
        float images[3 * 9 * 8], logit;
        random_images(1, image_size(&made.plan), images);
        genome of = make_genome(&made.plan, 1);
        of.values[0] = NAN;
        hox_samples *samples = make_samples(&self, &made.plan, images, 1);
        evaluate_in_chunks(&self, &of, samples, 1, 1, &logit);
        cr_expect(isnan(logit), "activation %u, readout %u", i % HOX_ACTIVATION_COUNT,
                  i / HOX_ACTIVATION_COUNT);
        self.api->samples_destroy(samples);
        free_genome(&of);
    }
    close_runtime(&self);
}

EACH_RUNTIME(describes_itself) {
    opened self;
    open_runtime(&self, *row);
    uint32_t count = 0;
    cr_assert_eq(self.api->device_count(&self.host.host, &count, NULL), HOX_OK);
    cr_assert_geq(count, 1);
    for (uint32_t device = 0; device < count; device++) {
        hox_device_info info = {.struct_size = sizeof info};
        cr_assert_eq(self.api->device_info(&self.host.host, device, &info, NULL), HOX_OK);
        cr_expect(info.kind >= HOX_DEVICE_CPU && info.kind <= HOX_DEVICE_OTHER);
        cr_expect(info.kind != HOX_DEVICE_CPU || strcmp(info.address, "cpu") == 0);
        cr_expect_gt(info.score, 0);
        cr_expect_gt(info.total_bytes, 1 << 20);
        cr_expect_gt(strnlen(info.name, sizeof info.name), 0);
        cr_expect_lt(strnlen(info.name, sizeof info.name), sizeof info.name);
    }
    hox_runtime_caps caps = {.struct_size = sizeof caps};
    self.api->caps(self.runtime, &caps);
    cr_expect(caps.precisions & HOX_PRECISION_FP32);
    cr_expect_geq(caps.batch_multiple, 1);
    cr_expect_geq(caps.max_group, 1);
    cr_expect_geq(caps.max_kernel, 32);
    cr_expect_geq(caps.max_channels, 3);

    hox_error error = HOX_ERROR_INIT;
    hox_device_info info;
    hox_runtime *runtime = self.runtime;
    cr_expect_neq(self.api->device_info(&self.host.host, count, &info, NULL), HOX_OK);
    cr_expect_neq(self.api->open(&self.host.host, count, 1, self.options, &runtime, &error),
                  HOX_OK);
    cr_expect_null(runtime);
    cr_expect_neq(error.message[0], '\0');
    close_runtime(&self);
}

// What lies beyond the caps is refused by name, in check_plan and in prepare.
typedef struct refusal {
    const char *what, *message;
    int32_t node, edge;
} refusal;

static const refusal refusals[] = {
    {"kernel height 65", "edge 1", -1, 1}, {"kernel width 65", "edge 2", -1, 2},
    {"channels 65", "node 1", 1, -1},      {"activation 7", "node 2", 2, -1},
    {"readout 3", "readout 3", -1, -1},    {"mixed precision", "precision 2", -1, -1},
    {"height 65537", "node 1", 1, -1},     {"width 65537", "node 2", 2, -1},
    {"stride 65537", "edge 1", -1, 1},     {"padding 2^31", "edge 2", -1, 2},
};

static uint32_t spoil_plan(random_plan *made, const hox_runtime_caps *caps, size_t i) {
    if (i == 0) made->kernel_h[1] = caps->max_kernel + 1;
    if (i == 1) made->kernel_w[2] = caps->max_kernel + 1;
    if (i == 2) made->channels[1] = caps->max_channels + 1;
    if (i == 3) made->activation[2] = HOX_ACTIVATION_COUNT;
    if (i == 4) made->plan.readout = HOX_READOUT_COUNT;
    if (i == 6) made->height[1] = 65537;
    if (i == 7) made->width[2] = 65537;
    if (i == 8) made->stride_w[1] = 65537;
    if (i == 9) made->padding_h[2] = UINT32_C(1) << 31;
    return i == 5 ? HOX_PRECISION_MIXED : HOX_PRECISION_FP32;
}

static void check_refusal(const hox_error *error, hox_status status, const refusal *expected) {
    cr_expect_eq(status, HOX_UNSUPPORTED, "%s", expected->what);
    cr_expect_eq(error->status, HOX_UNSUPPORTED, "%s", expected->what);
    cr_expect(strstr(error->message, expected->message), "%s: %s", expected->what, error->message);
    cr_expect_eq(error->plan_node, expected->node, "%s", expected->what);
    cr_expect_eq(error->plan_edge, expected->edge, "%s", expected->what);
}

EACH_RUNTIME(refuses_what_it_cannot_do_by_name) {
    opened self;
    open_runtime(&self, *row);
    hox_runtime_caps caps;
    self.api->caps(self.runtime, &caps);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        random_plan made;
        make_small_plan(&made, HOX_ACTIVATION_RELU, HOX_READOUT_SUM, 1);
        cr_expect_eq(self.api->check_plan(self.runtime, &made.plan, HOX_PRECISION_FP32, NULL),
                     HOX_OK);
        const uint32_t precision = spoil_plan(&made, &caps, i);
        if (caps.precisions & precision & HOX_PRECISION_MIXED) continue;
        hox_error checked = HOX_ERROR_INIT, prepared = HOX_ERROR_INIT;
        check_refusal(&checked, self.api->check_plan(self.runtime, &made.plan, precision, &checked),
                      &refusals[i]);
        const hox_prepare_options options = {.struct_size = sizeof options,
                                             .capacity = 1,
                                             .precision = precision,
                                             .purpose = HOX_PURPOSE_INFER};
        const uint64_t live_bytes = self.host.live_bytes;
        hox_runner *runner = (hox_runner *)&self;
        check_refusal(&prepared,
                      self.api->prepare(self.runtime, 0, &made.plan, &options, &runner, &prepared),
                      &refusals[i]);
        cr_expect_null(runner);
        cr_expect_eq(self.host.live_bytes, live_bytes);
    }
    close_runtime(&self);
}

// So that a genome that is run alone has the memory to itself.
EACH_RUNTIME(keeps_nothing_for_a_lane_without_runners) {
    opened self;
    random_plan made;
    hox_runner *runners[2];
    open_runtime(&self, *row);
    make_small_plan(&made, HOX_ACTIVATION_RELU, HOX_READOUT_MEAN, 1);
    const uint64_t live_bytes = self.host.live_bytes;
    const hox_prepare_options options = {.struct_size = sizeof options,
                                         .capacity = 1,
                                         .precision = HOX_PRECISION_FP32,
                                         .purpose = HOX_PURPOSE_INFER};
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(self.api->prepare(self.runtime, 0, &made.plan, &options, &runners[i], NULL),
                     HOX_OK);
    cr_expect_gt(self.host.live_bytes, live_bytes);
    for (size_t i = 0; i < 2; i++)
        self.api->release(runners[i]);
    if (self.api->trim) self.api->trim(self.runtime, UINT64_MAX);
    cr_expect_eq(self.host.live_bytes, live_bytes);
    close_runtime(&self);
}

// One wrong job fails alone, says so, and leaves its logits.
EACH_RUNTIME(refuses_jobs_that_do_not_fit) {
    opened self;
    open_runtime(&self, *row);
    random_plan made;
    make_small_plan(&made, HOX_ACTIVATION_RELU, HOX_READOUT_SUM, 1);
    float images[4 * 3 * 9 * 8];
    random_images(1, 4 * image_size(&made.plan), images);
    genome of = make_genome(&made.plan, 1), too_short = make_genome(&made.plan, 1);
    too_short.weights.count--;
    hox_samples *samples = make_samples(&self, &made.plan, images, 4), *narrow;
    cr_assert_eq(self.api->samples_create(self.runtime, 4, 3, 9, 7, &narrow, NULL), HOX_OK);
    hox_runner *runner = make_runner(&self, &made.plan, HOX_PURPOSE_INFER, 3);
    float good[3], bad[4] = {7, 7, 7, 7};
    const hox_job jobs[] = {
        make_job(runner, &of, samples, 0, 4, bad),          // over the capacity
        make_job(runner, &of, samples, 3, 2, bad),          // over the end
        make_job(runner, &of, samples, UINT64_MAX, 2, bad), // far over it
        make_job(runner, &too_short, samples, 0, 1, bad),   // too few weights
        make_job(runner, &of, narrow, 0, 1, bad),           // images of another size
    };
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        hox_error error = HOX_ERROR_INIT;
        hox_job wrong = jobs[i], right = make_job(runner, &of, samples, 0, 3, good);
        wrong.error = &error;
        hox_job *const group[] = {&wrong, &right};
        for (size_t j = 0; j < 2; j++)
            cr_assert_eq(self.api->evaluate(self.runtime, 0, &group[j], 1, NULL), HOX_OK);
        cr_expect_eq(wrong.status, HOX_INVALID_ARGUMENT, "job %zu", i);
        cr_expect_eq(error.status, HOX_INVALID_ARGUMENT, "job %zu", i);
        cr_expect_eq(right.status, HOX_OK, "job %zu", i);
        cr_expect_eq(bad[0], 7, "job %zu", i);
    }
    cr_expect_eq(self.api->samples_write(samples, 3, 2, images, NULL), HOX_INVALID_ARGUMENT);
    cr_expect_eq(self.api->samples_write(samples, 5, 0, images, NULL), HOX_INVALID_ARGUMENT);
    self.api->release(runner);
    self.api->samples_destroy(narrow);
    self.api->samples_destroy(samples);
    free_genome(&too_short);
    free_genome(&of);
    close_runtime(&self);
}

// A whole life; the failure of any step ends it tidily.
static hox_status live(opened *self, const genome *of, hox_error *error) {
    hox_samples *samples = NULL;
    hox_runner *runner = NULL;
    float logit;
    static const float image[3 * 9 * 8];
    const hox_prepare_options options = {.struct_size = sizeof options,
                                         .capacity = 1,
                                         .precision = HOX_PRECISION_FP32,
                                         .purpose = HOX_PURPOSE_INFER};
    hox_status status =
        self->api->open(&self->host.host, self->device, 1, self->options, &self->runtime, error);
    if (status != HOX_OK) {
        cr_expect_null(self->runtime);
        return status;
    }
    status = self->api->samples_create(self->runtime, 1, 3, 9, 8, &samples, error);
    if (status != HOX_OK) goto done;
    status = self->api->samples_write(samples, 0, 1, image, error);
    if (status != HOX_OK) goto done;
    status = self->api->prepare(self->runtime, 0, of->plan, &options, &runner, error);
    cr_expect(status == HOX_OK || !runner);
    if (status != HOX_OK) goto done;
    hox_job job = make_job(runner, of, samples, 0, 1, &logit), *jobs = &job;
    status = self->api->evaluate(self->runtime, 0, &jobs, 1, error);
    if (status == HOX_OK) status = job.status;
done:
    self->api->release(runner);
    self->api->samples_destroy(samples);
    self->api->close(self->runtime);
    return status;
}

EACH_RUNTIME(survives_each_refusal_of_the_ledger) {
    random_plan made;
    make_small_plan(&made, HOX_ACTIVATION_RELU, HOX_READOUT_SUM, 1);
    genome of = make_genome(&made.plan, 1);
    opened self;
    if (!choose_runtime(&self, *row)) cr_skip_test("not here: %s", self.name);
    hox_error first = HOX_ERROR_INIT;
    const hox_status status = live(&self, &of, &first);
    if (status == HOX_UNSUPPORTED) cr_skip_test("%s", first.message);
    cr_assert_eq(status, HOX_OK, "%s", first.message);
    cr_assert_eq(self.host.live_bytes, 0);
    const uint64_t reserve_count = self.host.reserve_count;
    cr_assert_gt(reserve_count, 0);
    cr_expect_gt(self.host.peak_bytes, sizeof(float) * 3 * 9 * 8);
    for (uint64_t n = 1; n <= reserve_count; n++) {
        hox_error error = HOX_ERROR_INIT;
        host_double_init(&self.host);
        self.host.fail_at_reserve = n;
        const hox_status refused = live(&self, &of, &error);
        // A runtime with a pool gives back what it keeps and asks once more.
        if (refused == HOX_OK) cr_expect(self.device > 0, "reserve %zu", (size_t)n);
        if (refused != HOX_OK) {
            cr_expect_eq(refused, HOX_OUT_OF_DEVICE_MEMORY, "reserve %zu", (size_t)n);
            cr_expect_gt(error.bytes_requested, 0);
        }
        cr_expect_eq(self.host.live_bytes, 0, "reserve %zu", (size_t)n);
    }
    free(self.options);
    free_genome(&of);
}

// Refused by the ledger and not tried; 2^52 images of 3 * 2^12 bytes are 0 bytes where sizes wrap.
EACH_RUNTIME(asks_for_absurd_sizes_in_vain) {
    opened self;
    open_runtime(&self, *row);
    hox_samples *samples = (hox_samples *)&self;
    cr_expect_eq(
        self.api->samples_create(self.runtime, UINT64_C(1) << 52, 3, 32, 32, &samples, NULL),
        HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_null(samples);
    close_runtime(&self);
}

EACH_RUNTIME(refuses_calls_out_of_place) {
    opened self;
    open_runtime(&self, *row);
    random_plan made;
    make_small_plan(&made, HOX_ACTIVATION_RELU, HOX_READOUT_SUM, 1);
    hox_prepare_options options = {.struct_size = sizeof options,
                                   .capacity = 1,
                                   .precision = HOX_PRECISION_FP32,
                                   .purpose = 99};
    hox_runner *runner;
    cr_expect_eq(self.api->prepare(self.runtime, 0, &made.plan, &options, &runner, NULL),
                 HOX_UNSUPPORTED);
    options.purpose = HOX_PURPOSE_INFER;
    cr_expect_eq(self.api->prepare(self.runtime, LANES, &made.plan, &options, &runner, NULL),
                 HOX_INVALID_ARGUMENT);

    float image[3 * 9 * 8] = {0}, logit;
    genome of = make_genome(&made.plan, 1);
    hox_samples *samples = make_samples(&self, &made.plan, image, 1);
    runner = make_runner(&self, &made.plan, HOX_PURPOSE_INFER, 1); // on lane 0
    hox_job job = make_job(runner, &of, samples, 0, 1, &logit), *jobs[65];
    cr_expect(self.api->evaluate(self.runtime, 1, (hox_job *[]){&job}, 1, NULL) != HOX_OK ||
              job.status == HOX_INVALID_ARGUMENT);
    hox_runtime_caps caps;
    self.api->caps(self.runtime, &caps);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        jobs[i] = &job;
    if (caps.max_group < sizeof jobs / sizeof *jobs)
        cr_expect_eq(self.api->evaluate(self.runtime, 0, jobs, caps.max_group + 1, NULL),
                     HOX_INVALID_ARGUMENT);
    self.api->release(runner);
    self.api->samples_destroy(samples);
    free_genome(&of);
    close_runtime(&self);
}

EACH_RUNTIME(destroys_null) {
    const hox_runtime_api *api = plugin_load(runtimes[*row].file)->runtime;
    api->release(NULL);
    api->samples_destroy(NULL);
    api->close(NULL);
}
