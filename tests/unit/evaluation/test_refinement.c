// test_refinement.c - training: what it computes, that nothing else shows in it, and every way it
// can go wrong.
#include "evaluation/refinement.h"

#include "evaluation_fixture.h"
#include "fault.h"
#include "plugin_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const refinement_config usual = {.elite_refinement_epochs = 2,
                                        .elite_refinement_batch_size = 20,
                                        .elite_refinement_lr = 0.01,
                                        .elite_refinement_momentum = 0.9};

// ---- random genomes, trained in one way or another ----

static genome *genomes[RANDOM_GENOMES];
static refinement_job jobs[RANDOM_GENOMES];

static void setup(void) {
    random_genomes(genomes);
}

static void drop_refined(void) {
    for (size_t i = 0; i < RANDOM_GENOMES; i++) {
        genome_destroy(jobs[i].refined);
        jobs[i].refined = NULL;
    }
}

static void teardown(void) {
    drop_refined();
    destroy_genomes(genomes, RANDOM_GENOMES);
}

TestSuite(refinement, .init = setup, .fini = teardown);

static void open_engine(engine *self, int64_t lanes) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(engine_open(self, lanes, 256, &error), HOX_OK, "%s", error.message);
}

static hox_status try_to_train(engine *self, const refinement_order *order, hox_error *error) {
    for (size_t i = 0; i < RANDOM_GENOMES; i++)
        jobs[i] = (refinement_job){.genome = genomes[i], .slot = (uint32_t)i};
    return evaluation_refine(self->evaluation, order, &self->split, jobs, RANDOM_GENOMES, error);
}

static void train(engine *self, const refinement_config *config) {
    const refinement_order order = {.config = config, .seed = 11, .generation = 4};
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(try_to_train(self, &order, &error), HOX_OK, "%s", error.message);
}

static hash128 hash_of(size_t i) {
    return genome_content_hash(jobs[i].refined);
}

static void train_usual(hash128 hashes[RANDOM_GENOMES]) {
    engine self;
    init_random(&self, plugin_load("runtime_eager"));
    open_engine(&self, 1);
    train(&self, &usual);
    for (size_t i = 0; i + 1 < RANDOM_GENOMES; i++) {
        cr_assert_eq(jobs[i].reason, REFINEMENT_OK, "%zu: %s", i, jobs[i].error.message);
        hashes[i] = hash_of(i);
    }
    drop_refined();
    cr_expect_eq(engine_deinit(&self), 0);
}

static void check_equal(const hash128 expected[RANDOM_GENOMES], const char *what) {
    for (size_t i = 0; i + 1 < RANDOM_GENOMES; i++) {
        cr_assert_eq(jobs[i].reason, REFINEMENT_OK, "%s, %zu: %s", what, i, jobs[i].error.message);
        const hash128 hash = hash_of(i);
        cr_expect(memcmp(&hash, &expected[i], sizeof hash) == 0, "%s: genome %zu", what, i);
    }
    drop_refined();
}

Test(refinement, leaves_the_genome_alone_and_copies_its_structure) {
    hash128 before[RANDOM_GENOMES], after[RANDOM_GENOMES];
    for (size_t i = 0; i < RANDOM_GENOMES; i++)
        before[i] = genome_content_hash(genomes[i]);
    train_usual(after);
    for (size_t i = 0; i < RANDOM_GENOMES; i++) {
        const hash128 now = genome_content_hash(genomes[i]);
        cr_expect(memcmp(&now, &before[i], sizeof now) == 0);
        if (i + 1 < RANDOM_GENOMES) cr_expect(memcmp(&now, &after[i], sizeof now) != 0);
    }
    engine self;
    init_random(&self, plugin_load("runtime_eager"));
    open_engine(&self, 2);
    train(&self, &usual);
    for (size_t i = 0; i + 1 < RANDOM_GENOMES; i++) {
        const genome *old = genomes[i], *new = jobs[i].refined;
        cr_assert_eq(new->edge_count, old->edge_count);
        cr_expect_eq(new->id, old->id);
        for (size_t k = 0; k < old->edge_count; k++) {
            cr_expect_eq(new->edges[k].innovation, old->edges[k].innovation);
            cr_expect(kernel_has_shape_of(new->edges[k].kernel, old->edges[k].kernel));
            if (!old->edges[k].is_enabled)
                cr_expect_eq(new->edges[k].kernel, old->edges[k].kernel, "dead ones are shared");
        }
    }
    cr_expect_eq(engine_deinit(&self), 0);
}

Test(refinement, does_not_depend_on_lanes_nor_on_where_the_images_lie) {
    hash128 expected[RANDOM_GENOMES];
    train_usual(expected);
    for (int64_t lanes = 1; lanes <= 3; lanes++)
        for (int32_t stays = 0; stays < 2; stays++) {
            char what[40];
            engine self;
            snprintf(what, sizeof what, "%d lanes, resident %d", (int)lanes, stays);
            init_random(&self, plugin_load("runtime_eager"));
            self.split.use = SPLIT_USE_TRAIN;
            self.config.cache_refinement_train_on_gpu = stays;
            open_engine(&self, lanes);
            train(&self, &usual);
            cr_expect_eq(self.split.samples != NULL, stays, "%s", what);
            check_equal(expected, what);
            cr_expect_eq(engine_deinit(&self), 0, "%s", what);
        }
}

Test(refinement, depends_on_seed_generation_and_slot) {
    hash128 expected[RANDOM_GENOMES];
    train_usual(expected);
    const refinement_order orders[] = {{.config = &usual, .seed = 12, .generation = 4},
                                       {.config = &usual, .seed = 11, .generation = 5}};
    for (size_t k = 0; k < 3; k++) {
        engine self;
        init_random(&self, plugin_load("runtime_eager"));
        open_engine(&self, 1);
        const refinement_order order = {.config = &usual, .seed = 11, .generation = 4};
        jobs[0] = (refinement_job){.genome = genomes[0], .slot = k == 2};
        cr_assert_eq(evaluation_refine(self.evaluation, k < 2 ? &orders[k] : &order, &self.split,
                                       jobs, 1, NULL),
                     HOX_OK);
        const hash128 hash = hash_of(0);
        cr_expect(memcmp(&hash, &expected[0], sizeof hash) != 0, "%zu", k);
        drop_refined();
        cr_expect_eq(engine_deinit(&self), 0);
    }
}

// ---- memory ----

// Batches of 50: pieces of 64 images, then of 32 and of 16 where memory asks for it.
Test(refinement, is_the_same_in_smaller_pieces) {
    refinement_config config = usual;
    config.elite_refinement_batch_size = 64;
    hash128 expected[RANDOM_GENOMES];
    engine self;
    init_random(&self, hungry_plugin());
    open_engine(&self, 1);
    train(&self, &config);
    for (size_t i = 0; i + 1 < RANDOM_GENOMES; i++)
        expected[i] = hash_of(i);
    drop_refined();
    cr_expect_eq(engine_count(&self, MEMORY_TRAINING), 0);
    cr_expect_eq(engine_deinit(&self), 0);
    for (uint64_t bad = 1; bad < 40; bad += 9) { // one reservation is refused
        char what[40];
        snprintf(what, sizeof what, "reservation %d", (int)bad);
        init_random(&self, hungry_plugin());
        open_engine(&self, 2);
        self.fail_at_reserve = atomic_load(&self.reserve_count) + bad;
        train(&self, &config);
        check_equal(expected, what);
        cr_expect_eq(engine_deinit(&self), 0, "%s", what);
    }
    for (int64_t call = 1; call < 22; call += 6) { // memory ends in the middle of a batch
        char what[40];
        snprintf(what, sizeof what, "call %d", (int)call);
        init_random(&self, hungry_plugin());
        engine_hungry(&self)->short_at = call;
        open_engine(&self, 1);
        train(&self, &config);
        cr_expect_eq(engine_count(&self, MEMORY_TRAINING), 1, "%s", what);
        check_equal(expected, what);
        cr_expect_eq(engine_deinit(&self), 0, "%s", what);
    }
}

static uint64_t train_with_fault(int32_t stays, uint64_t at) {
    engine self;
    init_random(&self, fault_plugin(plugin_load("runtime_eager")));
    self.split.use = SPLIT_USE_TRAIN;
    self.config.cache_refinement_train_on_gpu = stays;
    self.config.device = "cuda";
    open_engine(&self, 1);
    fault_set(FAULT_ALL, HOX_OUT_OF_DEVICE_MEMORY, at, false);
    train(&self, &usual);
    const uint64_t count = faulty.count;
    cr_expect_eq(engine_deinit(&self), 0);
    return count;
}

// Uploads of an image, too.
Test(refinement, is_the_same_where_a_call_finds_no_memory) {
    hash128 expected[RANDOM_GENOMES];
    train_usual(expected);
    for (int32_t stays = 0; stays < 2; stays++) {
        const uint64_t count = train_with_fault(stays, 0);
        drop_refined();
        for (uint64_t at = 1; at <= count; at += at < 5 ? 1 : count / 6) {
            char what[40];
            snprintf(what, sizeof what, "resident %d, call %d", stays, (int)at);
            train_with_fault(stays, at);
            check_equal(expected, what);
        }
    }
}

Test(refinement, a_genome_that_no_memory_holds_is_not_refined) {
    engine self;
    init_random(&self, hungry_plugin());
    open_engine(&self, 2);
    self.fail_at_reserve = atomic_load(&self.reserve_count) + 1;
    self.fails_for_good = true;
    train(&self, &usual);
    for (size_t i = 0; i + 1 < RANDOM_GENOMES; i++) {
        cr_expect_eq(jobs[i].reason, REFINEMENT_OOM);
        cr_expect_null(jobs[i].refined);
        cr_expect_str_not_empty(jobs[i].error.message);
    }
    cr_expect_gt(engine_count(&self, MEMORY_TRAINING), 0);
    cr_expect_eq(engine_deinit(&self), 0);
}

// ---- what is not refined ----

Test(refinement, numbers_that_end_leave_the_genome_as_it_was) {
    refinement_config config = usual;
    config.elite_refinement_lr = 1e30;
    engine self;
    init_random(&self, plugin_load("runtime_eager"));
    open_engine(&self, 2);
    train(&self, &config);
    size_t count = 0;
    for (size_t i = 0; i + 1 < RANDOM_GENOMES; i++) {
        if (jobs[i].reason == REFINEMENT_OK) continue;
        cr_expect_eq(jobs[i].reason, REFINEMENT_NAN);
        cr_expect_null(jobs[i].refined);
        cr_expect(strstr(jobs[i].error.message, "is not finite in step "), "%s",
                  jobs[i].error.message);
        count++;
    }
    cr_expect_gt(count, 0);
    cr_expect_eq(engine_deinit(&self), 0);
}

Test(refinement, a_genome_without_a_path_has_nothing_to_train) {
    engine self;
    init_random(&self, plugin_load("runtime_eager"));
    open_engine(&self, 1);
    train(&self, &usual);
    cr_expect_eq(jobs[RANDOM_GENOMES - 1].reason, REFINEMENT_NO_PATH);
    cr_expect_null(jobs[RANDOM_GENOMES - 1].refined);
    cr_expect_eq(engine_deinit(&self), 0);
}

Test(refinement, needs_a_runtime_that_trains) {
    const refinement_order order = {.config = &usual};
    hox_error error = HOX_ERROR_INIT;
    engine self;
    init_random(&self, plugin_load("runtime_graph"));
    open_engine(&self, 1);
    if (evaluation_check_training(self.evaluation, NULL) != HOX_OK) {
        cr_expect_eq(try_to_train(&self, &order, &error), HOX_UNSUPPORTED);
        cr_expect_str_eq(error.message,
                         "runtime graph does not train; evaluation.forward_runtime names another, "
                         "eager for one");
    }
    cr_expect_eq(engine_deinit(&self), 0);
}

static const hox_runtime_api *trains_elsewhere;

static void caps_without_training(const hox_runtime *runtime, hox_runtime_caps *caps) {
    trains_elsewhere->caps(runtime, caps);
    caps->flags &= ~(uint32_t)HOX_RUNTIME_TRAINS;
}

// What a runtime can do is said of the device that is open.
Test(refinement, needs_a_device_on_which_the_runtime_trains) {
    const refinement_order order = {.config = &usual};
    hox_error error = HOX_ERROR_INIT;
    engine self;
    hox_plugin plugin = *fault_plugin(plugin_load("runtime_eager"));
    hox_runtime_api api = *plugin.runtime;
    trains_elsewhere = plugin.runtime;
    api.caps = caps_without_training;
    plugin.runtime = &api;
    init_random(&self, &plugin);
    self.config.device = "cuda";
    open_engine(&self, 1);
    cr_expect_eq(try_to_train(&self, &order, &error), HOX_UNSUPPORTED);
    cr_expect_str_eq(error.message,
                     "runtime eager does not train on cuda:0; evaluation.device \"cpu\" does");
    cr_expect_eq(engine_deinit(&self), 0);
}

// ---- ends ----

static bool stop_in_time(void *context) {
    atomic_int *left = context;
    return atomic_fetch_sub(left, 1) <= 0;
}

Test(refinement, stops_between_batches_and_keeps_nothing) {
    for (int after = 0; after < 40; after += 13) {
        atomic_int left = after;
        const refinement_order order = {
            .config = &usual, .is_stopped = stop_in_time, .context = &left};
        hox_error error = HOX_ERROR_INIT;
        engine self;
        init_random(&self, plugin_load("runtime_eager"));
        open_engine(&self, 2);
        cr_expect_eq(try_to_train(&self, &order, &error), HOX_CANCELLED);
        for (size_t i = 0; i < RANDOM_GENOMES; i++)
            cr_expect_null(jobs[i].refined);
        cr_expect_gt(atomic_load(&left), -5, "nobody goes on");
        cr_expect_eq(engine_deinit(&self), 0);
    }
}

Test(refinement, a_lost_device_ends_all_and_blames_nobody) {
    const refinement_order order = {.config = &usual};
    for (int64_t call = 1; call < 30; call += 9) {
        hox_error error = HOX_ERROR_INIT;
        engine self;
        init_random(&self, hungry_plugin());
        engine_hungry(&self)->lose_at = call;
        open_engine(&self, 2);
        cr_expect_eq(try_to_train(&self, &order, &error), HOX_DEVICE_LOST);
        cr_expect(strstr(error.message, "took the device with it"), "%s", error.message);
        for (size_t i = 0; i < RANDOM_GENOMES; i++)
            cr_expect_null(jobs[i].refined);
        cr_expect_eq(engine_deinit(&self), 0);
    }
}

// ---- logistic regression, which anybody can compute ----

enum { POINTS = 48, EPOCHS = 30 };
static float points[POINTS][2];
static uint8_t sides[POINTS];
static double losses[EPOCHS];

static void keep_loss(void *context, size_t job, uint32_t epoch, double loss) {
    (void)context, (void)job;
    losses[epoch] = loss;
}

// One step an epoch, over all points: their order does not matter.
static void descend(double weights[3], double expected[EPOCHS]) {
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        double slope[3] = {0.0, 0.0, 0.0};
        expected[epoch] = 0.0;
        for (int i = 0; i < POINTS; i++) {
            const double x[] = {(double)points[i][0], (double)points[i][1], 1.0};
            const double z = weights[0] * x[0] + weights[1] * x[1] + weights[2];
            const double p = 1.0 / (1.0 + exp(-z)), weight = sides[i] ? 3.0 : 1.0;
            expected[epoch] -= weight * log(sides[i] ? p : 1.0 - p) / POINTS;
            for (int k = 0; k < 3; k++)
                slope[k] += weight * (p - sides[i]) * x[k] / POINTS;
        }
        for (int k = 0; k < 3; k++)
            weights[k] -= 0.5 * slope[k];
    }
}

Test(refinement, of_one_edge_is_logistic_regression) {
    const refinement_config config = {.elite_refinement_epochs = EPOCHS,
                                      .elite_refinement_batch_size = 1000,
                                      .elite_refinement_lr = 0.5,
                                      .elite_refinement_optimizer = REFINEMENT_SGD};
    const refinement_order order = {.config = &config, .epoch_done = keep_loss};
    const float start[] = {0.5F, -0.25F, 0.1F};
    double weights[] = {0.5, -0.25, (double)0.1F}, expected[EPOCHS];
    for (int i = 0; i < POINTS; i++) {
        points[i][0] = (float)sin(i);
        points[i][1] = (float)cos(3 * i);
        sides[i] = i % 4 == 0;
    }
    engine self;
    engine_start(&self, plugin_load("runtime_eager"), plugin_load("fitness_accuracy"), 1, 256,
                 (map_size){1, 1, 2}, POINTS, points[0], sides);
    genome *line = line_genome((map_size){1, 1, 2}, (map_size){1, 1, 1}, start);
    refinement_job job = {.genome = line};
    cr_assert_eq(evaluation_refine(self.evaluation, &order, &self.split, &job, 1, NULL), HOX_OK);
    cr_assert_eq(job.reason, REFINEMENT_OK, "%s", job.error.message);
    descend(weights, expected);
    for (int i = 0; i < EPOCHS; i++)
        cr_expect_lt(fabs(losses[i] - expected[i]), 1e-5, "epoch %d: %g, %g", i, losses[i],
                     expected[i]);
    for (int k = 0; k < 3; k++)
        cr_expect_lt(fabs((double)job.refined->edges[0].kernel->values[k] - weights[k]), 1e-5);
    cr_expect_lt(losses[EPOCHS - 1], losses[0]);
    genome_destroy(job.refined);
    genome_destroy(line);
    cr_expect_eq(engine_deinit(&self), 0);
}
