// test_faults.c - each call of a runtime fails once, as a driver's calls may: out of memory fails
// nobody, whatever it hits; a lost device ends the scoring and blames nobody.
#include "evaluation_fixture.h"
#include "fault.h"
#include "plugin_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

enum { IMAGES = 40, BATCH = 16, BLOCK = 10 }; // three chunks; four uploads a split

typedef struct way {
    const char *name;
    bool is_hungry; // jobs alone; else eager, in groups
    int32_t stays;  // the split on the device
    int32_t is_adaptive;
    int64_t lanes;
} way;

// On several lanes the calls come in another order each time; every third will do.
static const way ways[] = {
    {"eager, resident", false, 1, 0, 1},
    {"eager, streamed", false, 0, 0, 1},
    {"hungry, resident", true, 1, 0, 1},
    {"hungry, streamed", true, 0, 1, 1},
    {"eager, resident, two lanes", false, 1, 1, 2},
    {"eager, streamed, two lanes", false, 0, 0, 2},
};

static genome *genomes[RANDOM_GENOMES];
static evaluation_result expected[RANDOM_GENOMES];

static void setup(void) {
    engine self;
    random_genomes(genomes);
    start_random(&self, 1, BATCH);
    self.split.count = IMAGES;
    engine_score(&self, genomes, RANDOM_GENOMES, expected);
    cr_expect_eq(engine_deinit(&self), 0);
}

static void teardown(void) {
    destroy_genomes(genomes, RANDOM_GENOMES);
}

TestSuite(faults, .init = setup, .fini = teardown);

// Hands the images over in blocks, as a real split does.
static image_reader *whole_reader;
static hox_status read_blocks(void *context, uint64_t first, uint64_t count,
                              image_consumer *consume, void *consumer, hox_error *error) {
    for (uint64_t done = 0; done < count; done += BLOCK) {
        const uint64_t block = count - done < BLOCK ? count - done : BLOCK;
        HOX_TRY(whole_reader(context, first + done, block, consume, consumer, error));
    }
    return HOX_OK;
}

static void start(engine *self, const way *how) {
    hox_error error = HOX_ERROR_INIT;
    init_random(self,
                fault_plugin(how->is_hungry ? hungry_plugin() : plugin_load("runtime_eager")));
    self->split.count = IMAGES;
    whole_reader = self->split.read;
    self->split.read = read_blocks;
    self->config.device = "cuda";
    self->config.cache_val_on_gpu = how->stays;
    self->config.adaptive_eval_batch_size = how->is_adaptive;
    cr_assert_eq(engine_open(self, how->lanes, BATCH, &error), HOX_OK, "%s", error.message);
    cr_expect_str_eq(evaluation_device(self->evaluation)->address, "cuda:0");
}

static hox_status run_generation(engine *self, evaluation_result *results, hox_error *error) {
    HOX_TRY(evaluation_score(self->evaluation, (const genome *const *)genomes, RANDOM_GENOMES,
                             &self->split, results, error));
    return evaluation_end_generation(self->evaluation, results, RANDOM_GENOMES, error);
}

// How many calls a generation makes where all goes well.
static uint64_t count_calls(const way *how, uint32_t kinds) {
    evaluation_result results[RANDOM_GENOMES];
    hox_error error = HOX_ERROR_INIT;
    engine self;
    start(&self, how);
    fault_set(kinds, HOX_OK, 0, false);
    cr_assert_eq(run_generation(&self, results, &error), HOX_OK, "%s", error.message);
    const uint64_t count = faulty.count;
    cr_expect_eq(engine_deinit(&self), 0);
    cr_assert_gt(count, 0, "%s", how->name);
    return count;
}

static void harms_nobody(const way *how, uint32_t kinds, hox_status status, uint64_t at,
                         bool for_good) {
    evaluation_result results[RANDOM_GENOMES];
    char what[80];
    engine self;
    snprintf(what, sizeof what, "%s, status %d in call %d%s", how->name, status, (int)at,
             for_good ? " and after" : "");
    start(&self, how);
    fault_set(kinds, status, at, for_good);
    for (int generation = 0; generation < 2; generation++) {
        hox_error error = HOX_ERROR_INIT;
        cr_assert_eq(run_generation(&self, results, &error), HOX_OK, "%s: %s", what, error.message);
        for (size_t i = 0; i < RANDOM_GENOMES; i++)
            cr_expect(result_equals(&results[i], &expected[i]), "%s: genome %zu: %s", what, i,
                      results[i].error.message);
    }
    if (how->stays && !for_good) cr_expect_not_null(self.split.samples, "%s", what);
    cr_expect_eq(engine_deinit(&self), 0, "%s", what);
}

Test(faults, out_of_memory_once_harms_nobody) {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const uint64_t count = count_calls(&ways[i], FAULT_ALL);
        for (uint64_t at = 1; at <= count; at += ways[i].lanes > 1 ? 3 : 1)
            harms_nobody(&ways[i], FAULT_ALL, HOX_OUT_OF_DEVICE_MEMORY, at, false);
    }
}

Test(faults, a_device_that_does_not_tell_its_memory_harms_nobody) {
    static const hox_status failures[] = {HOX_OUT_OF_DEVICE_MEMORY, HOX_DEVICE, HOX_INTERNAL};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (size_t k = 0; k < 3; k++)
            harms_nobody(&ways[i], FAULT_MEMORY, failures[k], 1, true);
}

// One upload fails for good: nothing else can be done than to say so.
Test(faults, images_that_never_reach_the_device_are_each_genomes_failure) {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        evaluation_result results[RANDOM_GENOMES];
        hox_error error = HOX_ERROR_INIT;
        engine self;
        start(&self, &ways[i]);
        fault_set(FAULT_SAMPLES_WRITE, HOX_OUT_OF_DEVICE_MEMORY, 2, true);
        cr_assert_eq(run_generation(&self, results, &error), HOX_OK, "%s", error.message);
        for (size_t k = 0; k + 1 < RANDOM_GENOMES; k++) { // the last one needs no images
            cr_expect_eq(results[k].reason, EVALUATION_OOM, "%s: %zu", ways[i].name, k);
            cr_expect(strstr(results[k].error.message, "does not fit on cuda:0"), "%s",
                      results[k].error.message);
            cr_expect_eq(results[k].error.native_code, FAULT_CODE);
        }
        cr_expect(result_equals(&results[RANDOM_GENOMES - 1], &expected[RANDOM_GENOMES - 1]));
        fault_set(FAULT_ALL, HOX_OK, 0, false);
        engine_score(&self, genomes, RANDOM_GENOMES, results);
        for (size_t k = 0; k < RANDOM_GENOMES; k++)
            cr_expect(result_equals(&results[k], &expected[k]), "%s: %zu", ways[i].name, k);
        cr_expect_eq(engine_deinit(&self), 0);
    }
}

Test(faults, a_lost_device_ends_the_generation) {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const uint64_t count = count_calls(&ways[i], FAULT_ALL);
        for (uint64_t at = 1; at <= count; at += ways[i].lanes > 1 ? 3 : 1) {
            evaluation_result results[RANDOM_GENOMES];
            hox_error error = HOX_ERROR_INIT;
            engine self;
            start(&self, &ways[i]);
            fault_set(FAULT_ALL, HOX_DEVICE_LOST, at, true);
            const hox_status status = run_generation(&self, results, &error);
            const bool came = faulty.count >= at; // lanes do not always make as many
            cr_expect_eq(status, came ? HOX_DEVICE_LOST : HOX_OK, "%s, call %d", ways[i].name,
                         (int)at);
            cr_expect(!came || strstr(error.message, "fails"), "%s, call %d: %s", ways[i].name,
                      (int)at, error.message);
            cr_expect_eq(engine_deinit(&self), 0);
        }
    }
}

// A group is not tried again one by one where its call loses the device.
Test(faults, a_device_that_is_lost_once_is_lost) {
    const way *how = &ways[0];
    const uint64_t count = count_calls(how, FAULT_PREPARE | FAULT_EVALUATE);
    for (uint64_t at = 1; at <= count; at++) {
        evaluation_result results[RANDOM_GENOMES];
        hox_error error = HOX_ERROR_INIT;
        engine self;
        start(&self, how);
        fault_set(FAULT_PREPARE | FAULT_EVALUATE, HOX_DEVICE_LOST, at, false);
        cr_expect_eq(run_generation(&self, results, &error), HOX_DEVICE_LOST, "call %d", (int)at);
        cr_expect_eq(engine_deinit(&self), 0);
    }
}

static hox_status lose_at_check(const hox_runtime *runtime, const hox_plan *plan,
                                uint32_t precision, hox_error *error) {
    (void)runtime, (void)plan, (void)precision;
    return hox_error_set(error, HOX_DEVICE_LOST, "gone");
}

Test(faults, a_device_that_is_lost_while_plans_are_checked_is_lost) {
    evaluation_result results[RANDOM_GENOMES];
    hox_error error = HOX_ERROR_INIT;
    engine self;
    hox_plugin plugin = *plugin_load("runtime_eager");
    hox_runtime_api api = *plugin.runtime;
    api.check_plan = lose_at_check;
    plugin.runtime = &api;
    init_random(&self, &plugin);
    cr_assert_eq(engine_open(&self, 1, BATCH, &error), HOX_OK, "%s", error.message);
    cr_expect_eq(run_generation(&self, results, &error), HOX_DEVICE_LOST);
    cr_expect_str_eq(error.message, "gone");
    cr_expect_eq(engine_deinit(&self), 0);
}
