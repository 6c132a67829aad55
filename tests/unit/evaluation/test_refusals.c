// test_refusals.c - every reservation of an evaluation is refused, one at a time, and all from
// there on: a single refusal fails nobody; whoever fails says so, and not for ever; no byte stays.
#include "evaluation_fixture.h"
#include "plugin_fixture.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

enum { IMAGES = 20, BATCH = 8 }; // three chunks

typedef struct refusing {
    bool is_hungry;
    int32_t pool;
    int64_t lanes, group;
} refusing;

static hox_status open_refusing(engine *self, const refusing *how, uint64_t call, bool for_good,
                                hox_error *error) {
    init_random(self, how->is_hungry ? hungry_plugin() : plugin_load("runtime_eager"));
    self->split.count = IMAGES;
    if (how->is_hungry) {
        engine_hungry(self)->pool = how->pool;
        engine_hungry(self)->group = how->group;
    }
    self->fail_at_reserve = call;
    self->fails_for_good = for_good;
    return engine_open(self, how->lanes, BATCH, error);
}

static size_t count_failed(const evaluation_result *results, const evaluation_result *expected,
                           genome *const *genomes, const char *what) {
    size_t failed = 0;
    for (size_t i = 0; i < RANDOM_GENOMES; i++) {
        char message[32];
        const evaluation_result *r = &results[i];
        if (r->reason == EVALUATION_OK) {
            cr_expect(result_equals(r, &expected[i]), "%s: genome %zu differs", what, i);
            continue;
        }
        failed++;
        snprintf(message, sizeof message, "genome %" PRIu64 " (", genomes[i]->id);
        cr_expect_eq(r->reason, EVALUATION_OOM, "%s: %s", what, r->error.message);
        cr_expect(strstr(r->error.message, message), "%s: %s", what, r->error.message);
    }
    return failed;
}

static void refuse(const refusing *how, uint64_t call, bool for_good, genome *const *genomes,
                   const evaluation_result *expected) {
    char what[100];
    engine self;
    evaluation_result results[RANDOM_GENOMES];
    hox_error error = HOX_ERROR_INIT;
    snprintf(what, sizeof what, "%s, pool %d, %d lanes, groups of %d, reservation %d%s",
             how->is_hungry ? "hungry" : "eager", how->pool, (int)how->lanes, (int)how->group,
             (int)call, for_good ? " and all after it" : "");
    if (open_refusing(&self, how, call, for_good, &error) == HOX_OK) {
        engine_score(&self, genomes, RANDOM_GENOMES, results);
        const size_t failed = count_failed(results, expected, genomes, what);
        if (!for_good) cr_expect_eq(failed, 0, "%s: %zu failed", what, failed);
        if (for_good && how->lanes == 1) cr_expect_gt(failed, 0, "%s: nobody failed", what);
        self.fail_at_reserve = 0;
        engine_score(&self, genomes, RANDOM_GENOMES, results);
        cr_expect_eq(count_failed(results, expected, genomes, what), 0, "%s: for ever", what);
    } else {
        cr_expect_eq(error.status, HOX_OUT_OF_DEVICE_MEMORY, "%s", what);
        cr_expect_str_eq(error.message, "refused by the test", "%s", what);
        cr_expect_null(self.evaluation, "%s", what);
    }
    cr_expect_eq(engine_deinit(&self), 0, "%s", what);
}

// On several lanes the calls come in another order each time; every third will do.
static uint64_t refuse_each(const refusing *how) {
    engine self;
    genome *genomes[RANDOM_GENOMES];
    evaluation_result expected[RANDOM_GENOMES];
    hox_error error = HOX_ERROR_INIT;
    random_genomes(genomes);
    cr_assert_eq(open_refusing(&self, how, 0, false, &error), HOX_OK, "%s", error.message);
    engine_score(&self, genomes, RANDOM_GENOMES, expected);
    for (size_t i = 0; i < RANDOM_GENOMES; i++)
        cr_expect_eq(expected[i].reason, EVALUATION_OK, "%s", expected[i].error.message);
    const uint64_t calls = self.reserve_count;
    cr_expect_eq(engine_deinit(&self), 0);
    for (uint64_t call = 1; call <= calls; call += how->lanes > 1 ? 3 : 1) {
        refuse(how, call, false, genomes, expected);
        refuse(how, call, true, genomes, expected);
    }
    destroy_genomes(genomes, RANDOM_GENOMES);
    return calls;
}

// The runtime, the split, and a runner for each of the eleven that have a path.
Test(refusals, harm_no_genome_of_eager) {
    cr_expect_eq(refuse_each(&(refusing){.lanes = 1, .group = 16}), 1 + 1 + 11);
    refuse_each(&(refusing){.lanes = 2, .group = 16});
}

// Here a runner is two reservations.
static void refuse_each_of_hungry(int32_t pool) {
    for (int64_t group = 1; group <= 8; group += 7)
        cr_expect_eq(refuse_each(&(refusing){true, pool, 1, group}), 1 + 1 + 2 * 11);
    refuse_each(&(refusing){true, pool, 2, 8});
}

Test(refusals, harm_no_genome_of_a_hungry_runtime) {
    refuse_each_of_hungry(0);
}

Test(refusals, harm_no_genome_of_a_runtime_with_a_pool) {
    refuse_each_of_hungry(1);
}
