// test_training.c - what the contract says about train_forward and train_backward beside the
// gradient's values: batches, cuts, refusals.
#include "gradient_fixture.h"

#include "reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void run_evaluate(const opened *self, const problem *p, const hox_samples *samples,
                         float *logits) {
    hox_error error = HOX_ERROR_INIT;
    hox_runner *runner = make_runner(self, p->plan, HOX_PURPOSE_INFER, p->count);
    uint64_t hashes[2 * (RANDOM_PLAN_EDGES + RANDOM_PLAN_NODES)]; // all different
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++)
        hashes[i] = i + 1;
    hox_weights weights = problem_weights(p);
    weights.edge_value_hash = hashes;
    weights.node_value_hash = hashes + 2 * (size_t)p->plan->edge_count;
    hox_job job = {.struct_size = sizeof job,
                   .runner = runner,
                   .weights = &weights,
                   .samples = samples,
                   .count = p->count,
                   .logits = logits,
                   .error = &error};
    hox_job *const jobs[] = {&job};
    cr_assert_eq(self->api->evaluate(self->runtime, 0, jobs, 1, &error), HOX_OK, "%s",
                 error.message);
    cr_assert_eq(job.status, HOX_OK, "%s", error.message);
    self->api->release(runner);
}

EACH_ROW(training, forward_finds_what_evaluate_finds, RUNTIMES) {
    enum { IMAGES = 10, BATCH = 21 };
    opened self;
    open_trainer(&self, *row);
    for (uint64_t seed = 2000; seed < 2000 + SOME_OF(20); seed++) {
        random_plan made;
        problem p;
        float evaluated[IMAGES], logits[BATCH];
        random_plan_make(&made, seed);
        problem_init(&p, &made.plan, NULL, seed, IMAGES);
        const batch b = mixed_batch(&p, seed, BATCH);
        const hox_weights weights = problem_weights(&p);
        hox_samples *samples = make_samples(&self, p.plan, p.images, p.count);
        hox_runner *runner = make_runner(&self, p.plan, HOX_PURPOSE_TRAIN, BATCH);
        run_evaluate(&self, &p, samples, evaluated);
        cr_assert_eq(
            self.api->train_forward(runner, &weights, samples, b.images, BATCH, logits, NULL),
            HOX_OK);
        for (size_t i = 0; i < BATCH; i++) {
            const reference_result right =
                reference_evaluate(p.plan, p.weights, p.images + b.images[i] * image_size(p.plan));
            const double allowed = reference_tolerance(&right, runtimes[*row].tolerance);
            cr_assert(fabs((double)logits[i] - right.logit) <= allowed, "seed %zu, image %zu",
                      (size_t)seed, i);
            cr_assert(fabs((double)(logits[i] - evaluated[b.images[i]])) <= allowed,
                      "seed %zu, image %zu", (size_t)seed, i);
        }
        self.api->release(runner);
        self.api->samples_destroy(samples);
        problem_deinit(&p);
    }
    close_runtime(&self);
}

enum { CUT_BATCH = 53, MOST_PARTS = 4 };

// At multiples of 16; 0 ends a row.
static const size_t cuts[][MOST_PARTS] = {{48, 5},     {16, 37},    {32, 21},
                                          {16, 32, 5}, {32, 16, 5}, {16, 16, 16, 5}};

static void check_cut(const opened *self, const problem *p, const batch *b,
                      const size_t parts[MOST_PARTS], const float *whole) {
    float *gradient = floats(p->plan->weight_count);
    hox_samples *samples = make_samples(self, p->plan, p->images, p->count);
    hox_runner *runner = make_runner(self, p->plan, HOX_PURPOSE_TRAIN, 48);
    size_t first = 0;
    for (size_t i = 0; i < MOST_PARTS && parts[i] > 0; first += parts[i++])
        run_step(self, runner, p, samples, b, first, parts[i], gradient);
    cr_assert_eq(first, CUT_BATCH);
    cr_assert_arr_eq(gradient, whole, p->plan->weight_count * sizeof *whole, "%s: %zu, %zu ...",
                     p->name, parts[0], parts[1]);
    self->api->release(runner);
    self->api->samples_destroy(samples);
    free(gradient);
}

EACH_ROW(training, has_the_same_bits_for_any_cut, RUNTIMES) {
    opened self;
    open_trainer(&self, *row);
    for (uint64_t seed = 3000; seed < 3000 + SOME_OF(10); seed++) {
        random_plan made;
        problem p;
        random_plan_make(&made, seed);
        problem_init(&p, &made.plan, NULL, seed, 5);
        const batch b = mixed_batch(&p, seed, CUT_BATCH);
        float *whole = gradient_of(&self, &p, &b);
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
            check_cut(&self, &p, &b, cuts[i], whole);
        free(whole);
        problem_deinit(&p);
    }
    close_runtime(&self);
}

// The images an index names count, not where they lie.
EACH_ROW(training, takes_indices_in_any_order_and_again, RUNTIMES) {
    enum { IMAGES = 6, BATCH = 21 };
    opened self;
    open_trainer(&self, *row);
    random_plan made;
    problem p, laid_out;
    make_small_plan(&made, HOX_ACTIVATION_GELU, HOX_READOUT_MEAN, 2);
    problem_init(&p, &made.plan, NULL, 1, IMAGES);
    problem_init(&laid_out, &made.plan, p.weights, 1, BATCH);
    const size_t size = image_size(&made.plan);
    const batch b = mixed_batch(&p, 1, BATCH), in_order = whole_batch(&laid_out);
    for (size_t i = 0; i < BATCH; i++) {
        memcpy(laid_out.images + i * size, p.images + b.images[i] * size, size * sizeof(float));
        laid_out.targets[i] = p.targets[b.images[i]];
    }
    float *named = gradient_of(&self, &p, &b), *lying = gradient_of(&self, &laid_out, &in_order);
    cr_expect_arr_eq(named, lying, made.plan.weight_count * sizeof *named);
    free(named);
    free(lying);
    problem_deinit(&p);
    problem_deinit(&laid_out);
    close_runtime(&self);
}

// An image of zeros in the places that a batch leaves free would overflow here, where the batch
// does not: 1e20 x - 1e20 squares to nothing for x = 1.
EACH_ROW(training, is_finite_where_places_are_left_free, RUNTIMES) {
    static const float weights[] = {-1e20F, 1e20F, 1e20F, 0.0F, 1.0F, 0.0F};
    opened self;
    open_trainer(&self, *row);
    random_plan made;
    problem p;
    plan_begin(&made, HOX_READOUT_SUM);
    plan_add_node(&made, 1, 1, 1, HOX_ACTIVATION_IDENTITY);
    for (uint32_t source = 0; source < 3; source++) {
        plan_add_node(&made, 1, 1, 1, HOX_ACTIVATION_IDENTITY);
        plan_add_edge(&made, source);
    }
    problem_init(&p, &made.plan, weights, 1, 15);
    for (size_t i = 0; i < 15; i++)
        p.images[i] = 1.0F;
    const batch b = whole_batch(&p);
    float *gradient = gradient_of(&self, &p, &b);
    for (size_t i = 0; i < made.plan.weight_count; i++)
        cr_expect(isfinite(gradient[i]), "weight %zu: %g", i, (double)gradient[i]);
    free(gradient);
    problem_deinit(&p);
    close_runtime(&self);
}

EACH_ROW(training, is_added_to_what_is_there, RUNTIMES) {
    enum { IMAGES = 5 }; // one block: one addition
    opened self;
    open_trainer(&self, *row);
    random_plan made;
    problem p;
    make_small_plan(&made, HOX_ACTIVATION_SILU, HOX_READOUT_SUM, 2);
    problem_init(&p, &made.plan, NULL, 1, IMAGES);
    const size_t count = made.plan.weight_count;
    const batch b = whole_batch(&p);
    float *from_zero = gradient_of(&self, &p, &b), *added = floats(count), *right = floats(count);
    for (size_t i = 0; i < count; i++) {
        added[i] = (float)i - 100;
        right[i] = added[i] + from_zero[i];
    }
    hox_samples *samples = make_samples(&self, p.plan, p.images, p.count);
    hox_runner *runner = make_runner(&self, &made.plan, HOX_PURPOSE_TRAIN, IMAGES);
    run_step(&self, runner, &p, samples, &b, 0, IMAGES, added);
    cr_expect_arr_eq(added, right, count * sizeof *added);
    self.api->release(runner);
    self.api->samples_destroy(samples);
    free(from_zero);
    free(added);
    free(right);
    problem_deinit(&p);
    close_runtime(&self);
}

// A runner keeps nothing of an earlier batch: other weights, fewer images, the first ones again.
EACH_ROW(training, knows_no_earlier_batch, RUNTIMES) {
    enum { IMAGES = 20, FEWER = 3 };
    opened self;
    open_trainer(&self, *row);
    for (uint64_t seed = 4000; seed < 4000 + SOME_OF(5); seed++) {
        random_plan made;
        problem p[2];
        random_plan_make(&made, seed);
        const size_t count = made.plan.weight_count;
        problem_init(&p[0], &made.plan, NULL, seed, IMAGES);
        problem_init(&p[1], &made.plan, NULL, seed + 1000, IMAGES);
        const batch whole = whole_batch(&p[0]), fewer = mixed_batch(&p[0], seed, FEWER);
        const batch *const batches[] = {&whole, &fewer, &whole};
        hox_samples *samples[] = {make_samples(&self, p[0].plan, p[0].images, p[0].count),
                                  make_samples(&self, p[1].plan, p[1].images, p[1].count)};
        hox_runner *runner = make_runner(&self, &made.plan, HOX_PURPOSE_TRAIN, IMAGES);
        for (size_t i = 0; i < 3; i++) {
            float *found = floats(count), *right = gradient_of(&self, &p[i % 2], batches[i]);
            run_step(&self, runner, &p[i % 2], samples[i % 2], batches[i], 0, batches[i]->count,
                     found);
            cr_assert_arr_eq(found, right, count * sizeof *found, "seed %zu, batch %zu",
                             (size_t)seed, i);
            free(found);
            free(right);
        }
        self.api->release(runner);
        for (size_t i = 0; i < 2; i++) {
            self.api->samples_destroy(samples[i]);
            problem_deinit(&p[i]);
        }
    }
    close_runtime(&self);
}

// ---- what does not fit ----

typedef struct wrong_call {
    const char *what;
    hox_runner *runner;
    const hox_weights *weights;
    const hox_samples *samples;
    uint64_t images[5];
    uint64_t count;
} wrong_call;

static void check_refusal(const opened *self, const wrong_call *call) {
    hox_error error = HOX_ERROR_INIT;
    float logits[] = {7, 7, 7, 7, 7};
    cr_expect_eq(self->api->train_forward(call->runner, call->weights, call->samples, call->images,
                                          call->count, logits, &error),
                 HOX_INVALID_ARGUMENT, "%s", call->what);
    cr_expect_eq(error.status, HOX_INVALID_ARGUMENT, "%s", call->what);
    for (size_t i = 0; i < sizeof logits / sizeof *logits; i++)
        cr_expect_eq(logits[i], 7, "%s", call->what);
}

// A refused call leaves the batch before it: its backward is still right.
EACH_ROW(training, refuses_batches_that_do_not_fit, RUNTIMES) {
    enum { IMAGES = 4 };
    opened self;
    open_trainer(&self, *row);
    random_plan made;
    problem p;
    make_small_plan(&made, HOX_ACTIVATION_RELU, HOX_READOUT_SUM, 1);
    problem_init(&p, &made.plan, NULL, 1, IMAGES);
    const size_t count = made.plan.weight_count;
    const batch b = whole_batch(&p);
    float *right = gradient_of(&self, &p, &b), *found = floats(count), logits[IMAGES];
    hox_samples *samples = make_samples(&self, p.plan, p.images, p.count), *narrow;
    cr_assert_eq(self.api->samples_create(self.runtime, 4, 3, 9, 7, &narrow, NULL), HOX_OK);
    hox_runner *runner = make_runner(&self, &made.plan, HOX_PURPOSE_TRAIN, IMAGES);
    hox_runner *other = make_runner(&self, &made.plan, HOX_PURPOSE_INFER, IMAGES);
    const hox_weights weights = problem_weights(&p);
    hox_weights too_few = weights;
    too_few.count--;
    const wrong_call calls[] = {
        {"an index behind the end", runner, &weights, samples, {0, IMAGES}, 2},
        {"an index far behind it", runner, &weights, samples, {UINT64_MAX}, 1},
        {"no images", runner, &weights, samples, {0}, 0},
        {"more than the capacity", runner, &weights, samples, {0}, IMAGES + 1},
        {"far more", runner, &weights, samples, {0}, UINT64_C(1) << 32},
        {"a runner that infers", other, &weights, samples, {0}, 1},
        {"too few weights", runner, &too_few, samples, {0}, 1},
        {"images of another size", runner, &weights, narrow, {0}, 1},
    };
    float dlogits[IMAGES] = {1, 1, 1, 1};
    cr_expect_eq(self.api->train_backward(runner, dlogits, found, NULL), HOX_INVALID_ARGUMENT,
                 "no forward yet");
    cr_expect_eq(self.api->train_backward(other, dlogits, found, NULL), HOX_INVALID_ARGUMENT,
                 "a runner that infers");
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(found[i], 0);
    cr_assert_eq(self.api->train_forward(runner, &weights, samples, b.images, IMAGES, logits, NULL),
                 HOX_OK);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        check_refusal(&self, &calls[i]);
    for (size_t i = 0; i < IMAGES; i++)
        dlogits[i] = (float)p.targets[i];
    cr_expect_eq(self.api->train_backward(runner, dlogits, found, NULL), HOX_OK);
    cr_expect_arr_eq(found, right, count * sizeof *found);

    const hox_job made_job = {.struct_size = sizeof made_job,
                              .runner = runner,
                              .weights = &weights,
                              .samples = samples,
                              .count = 1,
                              .logits = logits};
    hox_job job = made_job, *const jobs[] = {&job};
    cr_expect_eq(self.api->evaluate(self.runtime, 0, jobs, 1, NULL), HOX_OK);
    cr_expect_eq(job.status, HOX_INVALID_ARGUMENT, "a runner that trains");
    self.api->release(other);
    self.api->release(runner);
    self.api->samples_destroy(narrow);
    self.api->samples_destroy(samples);
    free(found);
    free(right);
    problem_deinit(&p);
    close_runtime(&self);
}

EACH_ROW(training, survives_each_refusal_of_the_ledger, RUNTIMES) {
    opened self;
    open_trainer(&self, *row);
    random_plan made;
    make_small_plan(&made, HOX_ACTIVATION_RELU, HOX_READOUT_SUM, 1);
    const uint64_t live_bytes = self.host.live_bytes, before = self.host.reserve_count;
    hox_runner *runner = make_runner(&self, &made.plan, HOX_PURPOSE_TRAIN, 48);
    self.api->release(runner);
    cr_assert_eq(self.host.live_bytes, live_bytes);
    const uint64_t reserve_count = self.host.reserve_count - before;
    cr_assert_gt(reserve_count, 0);
    for (uint64_t n = 1; n <= reserve_count; n++) {
        hox_error error = HOX_ERROR_INIT;
        self.host.fail_at_reserve = self.host.reserve_count + n;
        runner = (hox_runner *)&self;
        cr_expect_eq(prepare(&self, &made.plan, HOX_PURPOSE_TRAIN, 48, &runner, &error),
                     HOX_OUT_OF_DEVICE_MEMORY, "reserve %zu", (size_t)n);
        cr_expect_null(runner);
        cr_expect_gt(error.bytes_requested, 0);
        cr_expect_eq(self.host.live_bytes, live_bytes, "reserve %zu", (size_t)n);
    }
    close_runtime(&self);
}

// The flag, the functions and what prepare takes say the same.
EACH_ROW(training, is_there_or_refused, RUNTIMES) {
    opened self;
    if (!open_any(&self, *row)) cr_skip_test("not here");
    random_plan made;
    hox_runner *runner;
    make_small_plan(&made, HOX_ACTIVATION_RELU, HOX_READOUT_SUM, 1);
    const hox_status status = prepare(&self, &made.plan, HOX_PURPOSE_TRAIN, 1, &runner, NULL);
    cr_expect_eq(status, trains(&self) ? HOX_OK : HOX_UNSUPPORTED);
    if (trains(&self)) cr_expect(self.api->train_forward && self.api->train_backward);
    self.api->release(runner);
    close_runtime(&self);
}
