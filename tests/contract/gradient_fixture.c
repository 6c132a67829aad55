// gradient_fixture.c - see gradient_fixture.h.
#include "gradient_fixture.h"

#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- runtimes ----

bool trains(const opened *self) {
    return self->caps.flags & HOX_RUNTIME_TRAINS;
}

// False, with a line, where it does not train.
static bool try_trainer(opened *self, size_t row) {
    if (open_any(self, row) && trains(self)) return true;
    if (self->runtime) say_skipped(self, "it does not train");
    close_runtime(self);
    return false;
}

void open_trainers(trainers *all) {
    all->count = 0;
    for (size_t row = 0; row < RUNTIMES; row++)
        all->count += try_trainer(&all->items[all->count], row);
    cr_assert_gt(all->count, 0);
}

void close_trainers(trainers *all) {
    for (size_t i = 0; i < all->count; i++)
        close_runtime(&all->items[i]);
}

void open_trainer(opened *self, size_t row) {
    if (!try_trainer(self, row)) cr_skip_test("it does not train");
}

// ---- losses ----

static double weighted_value(double logit, double target) {
    return target * logit;
}

static double weighted_slope(double logit, double target) {
    (void)logit;
    return target;
}

static double entropy_value(double logit, double target) {
    return fmax(logit, 0) - logit * target + log1p(exp(-fabs(logit)));
}

static double entropy_slope(double logit, double target) {
    return 1 / (1 + exp(-logit)) - target;
}

const loss weighted_loss = {weighted_value, weighted_slope};
const loss entropy_loss = {entropy_value, entropy_slope};

// ---- problems ----

float *floats(size_t count) {
    float *values = calloc(count, sizeof *values);
    cr_assert_not_null(values);
    return values;
}

static double clearance(const problem *p, const float *image) {
    reference_maps *maps = reference_maps_create(p->plan, p->weights, image);
    const double found = reference_clearance(maps);
    reference_maps_destroy(maps);
    return found;
}

static void draw_images(problem *p, uint64_t seed) {
    enum { TRIES = 10 };
    const size_t size = image_size(p->plan);
    p->images = floats(p->count * size);
    for (size_t i = 0; i < p->count; i++) {
        uint64_t attempt = seed * MOST_IMAGES * TRIES + i * TRIES;
        random_images(attempt, size, p->images + i * size);
        for (int t = 1; t < TRIES && clearance(p, p->images + i * size) < 1e-5; t++)
            random_images(++attempt, size, p->images + i * size);
    }
}

void problem_init(problem *p, const hox_plan *plan, const float *weights, uint64_t seed,
                  size_t count) {
    static uint64_t version; // equal numbers mean equal weights
    test_random random = {~seed};
    *p = (problem){.plan = plan, .loss = &weighted_loss, .count = count, .version = ++version};
    snprintf(p->name, sizeof p->name, "seed %zu", (size_t)seed);
    p->weights = floats(plan->weight_count);
    if (weights)
        memcpy(p->weights, weights, plan->weight_count * sizeof *weights);
    else
        random_weights(plan, seed, p->weights);
    draw_images(p, seed);
    for (size_t i = 0; i < count; i++)
        p->targets[i] = (double)random_signed(&random);
}

void problem_deinit(problem *p) {
    free(p->weights);
    free(p->images);
}

hox_weights problem_weights(const problem *p) {
    return (hox_weights){.struct_size = sizeof(hox_weights),
                         .values = p->weights,
                         .count = p->plan->weight_count,
                         .version = p->version};
}

void make_small_plan(random_plan *made, uint32_t activation, uint32_t readout, uint32_t channels) {
    plan_begin(made, readout);
    plan_add_node(made, 3, 9, 8, HOX_ACTIVATION_IDENTITY);
    plan_add_node(made, 3, 6, 7, activation);
    plan_add_edge(made, 0);
    plan_add_node(made, channels, 5, 3, activation);
    plan_add_edge(made, 0);
    plan_add_edge(made, 1);
}

// ---- a batch through a runtime ----

batch whole_batch(const problem *p) {
    batch made = {.count = p->count};
    for (size_t i = 0; i < p->count; i++)
        made.images[i] = i;
    return made;
}

batch mixed_batch(const problem *p, uint64_t seed, size_t count) {
    test_random random = {seed};
    batch made = {.count = count};
    for (size_t i = 0; i < count; i++)
        made.images[i] = random_below(&random, (uint32_t)p->count);
    return made;
}

void run_step(const opened *self, hox_runner *runner, const problem *p, const hox_samples *samples,
              const batch *b, size_t first, size_t count, float *gradient) {
    hox_error error = HOX_ERROR_INIT;
    const hox_weights weights = problem_weights(p);
    float logits[MOST_BATCH + 1], dlogits[MOST_BATCH];
    logits[count] = 12345;
    cr_assert_eq(self->api->train_forward(runner, &weights, samples, b->images + first, count,
                                          logits, &error),
                 HOX_OK, "%s", error.message);
    cr_assert_eq(logits[count], 12345, "wrote behind its logits");
    for (size_t i = 0; i < count; i++)
        dlogits[i] = (float)p->loss->slope((double)logits[i], p->targets[b->images[first + i]]);
    cr_assert_eq(self->api->train_backward(runner, dlogits, gradient, &error), HOX_OK, "%s",
                 error.message);
}

float *gradient_of(const opened *self, const problem *p, const batch *b) {
    float *gradient = floats(p->plan->weight_count + 1);
    gradient[p->plan->weight_count] = 12345;
    hox_samples *samples = make_samples(self, p->plan, p->images, p->count);
    hox_runner *runner = make_runner(self, p->plan, HOX_PURPOSE_TRAIN, b->count);
    run_step(self, runner, p, samples, b, 0, b->count, gradient);
    cr_assert_eq(gradient[p->plan->weight_count], 12345, "wrote behind its gradient");
    self->api->release(runner);
    self->api->samples_destroy(samples);
    return gradient;
}
