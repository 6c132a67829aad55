// test_memory.c - memory runs out: whoever cannot be evaluated fails alone, all others find what
// they find where there is plenty, and every byte comes back.
#include "evaluation_fixture.h"
#include "plugin_fixture.h"
#include "random_plan.h"
#include "watch.h"

#include <criterion/criterion.h>
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- one genome that no memory holds ----

enum { CAP = 41943040, IMAGES = 300, LARGE_NODES = 200, IMAGE_BYTES = 3 * 32 * 32 * 4 };
static const map_size image_size = {3, 32, 32};

static void start_capped(engine *self) {
    static float images[IMAGES * 3 * 32 * 32];
    static uint8_t labels[IMAGES];
    hox_error error = HOX_ERROR_INIT;
    random_images(1, sizeof images / sizeof *images, images);
    for (size_t i = 0; i < IMAGES; i++)
        labels[i] = images[i] > 0.5F;
    engine_init(self, watch_plugin(hungry_plugin()), plugin_load("fitness_balanced_accuracy"));
    self->config.gpu_vram_cap_bytes = CAP;
    self->config.batch_size = 16;
    self->config.vram_usage_threshold = 0;
    cr_assert_eq(engine_open(self, 1, 256, &error), HOX_OK, "%s", error.message);
    engine_load(self, image_size, IMAGES, images, labels);
}

// What is told about the large genome from event begin on, against what the runtime was asked.
static void check_attempts(const engine *self, size_t begin, size_t asked, uint64_t id,
                           const uint64_t *tried, size_t count) {
    size_t told = 0;
    for (size_t i = begin; i < self->event_count; i++) {
        if (self->events[i].genome_id != id) continue;
        cr_assert_lt(told, count);
        cr_expect_eq(self->events[i].tried, tried[told], "attempt %zu", told);
        const bool is_alone = self->events[i].why == MEMORY_ALONE; // with its images
        cr_expect_eq(self->events[i].bytes_needed, tried[told] * (3317760 + (is_alone ? 12288 : 0)),
                     "attempt %zu", told);
        told++;
        const uint32_t why = told == count                    ? (uint32_t)MEMORY_ALONE
                             : told == count - 1              ? (uint32_t)VRAM_SET_ASIDE
                             : tried[told] == tried[told - 1] ? (uint32_t)VRAM_RETRY
                                                              : (uint32_t)VRAM_SHRUNK;
        cr_expect_eq(self->events[i].why, why, "attempt %zu: %s", told - 1,
                     memory_why_names[self->events[i].why]);
    }
    cr_expect_eq(told, count);
    for (; asked < watched.prepare_count; asked++) {
        if (watched.prepares[asked].node_count != LARGE_NODES) continue;
        cr_expect_eq(watched.prepares[asked].capacity, *tried++);
        cr_expect_eq(watched.prepares[asked].status, HOX_OUT_OF_DEVICE_MEMORY);
        count--;
    }
    cr_expect_eq(count, 0);
}

static void check_large(const evaluation_result *r) {
    char needed[64];
    cr_expect_eq(r->reason, EVALUATION_OOM);
    cr_expect_eq(r->bytes_per_sample, 3317760);
    cr_expect_eq(r->error.bytes_requested, 53084160);
    // Nothing else is there but the images it runs on, and the runtime itself.
    cr_expect_leq(r->error.bytes_available, CAP - 16 * IMAGE_BYTES);
    cr_expect_geq(r->error.bytes_available, CAP - 16 * IMAGE_BYTES - 1000);
    snprintf(needed, sizeof needed, "53084160 bytes needed, %" PRIu64 " free",
             r->error.bytes_available);
    const char *const parts[] = {"genome 2 (200 nodes, 199 edges, 3317760 bytes an image)",
                                 "cpu",
                                 "16 images",
                                 needed,
                                 "evaluation.batch_size",
                                 "evaluation.gpu_vram_cap_bytes"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_expect(strstr(r->error.message, parts[i]), "%s: %s", parts[i], r->error.message);
}

Test(memory, a_genome_that_does_not_fit_fails_alone) {
    static const uint64_t first[] = {256, 128, 64, 32, 16, 16}, second[] = {16, 16, 16};
    genome *a = chain_genome(image_size, 5, 1), *x = chain_genome(image_size, LARGE_NODES, 2);
    genome *const genomes[] = {a, x, a}, *const others[] = {a, a};
    evaluation_result expected[2], results[3];
    engine self;
    start_capped(&self);
    engine_score(&self, others, 2, expected);
    cr_expect_eq(expected[0].reason, EVALUATION_OK, "%s", expected[0].error.message);
    cr_expect_eq(expected[0].bytes_per_sample, 82944);
    cr_expect_eq(evaluation_memory_state(self.evaluation).batch, 256);
    cr_expect_eq(engine_deinit(&self), 0);

    start_capped(&self);
    const uint64_t before = engine_used(&self);
    size_t events = 0, asked = 0;
    for (int generation = 0; generation < 2; generation++) {
        engine_score(&self, genomes, 3, results);
        check_attempts(&self, events, asked, x->id, generation ? second : first,
                       generation ? 3 : 6);
        check_large(&results[1]);
        cr_expect(result_equals(&results[0], &expected[0]));
        cr_expect(result_equals(&results[2], &expected[0]));
        cr_expect_eq(engine_used(&self), before);
        cr_expect_eq(evaluation_memory_state(self.evaluation).batch, 16);
        engine_end_generation(&self, results, 3);
        events = self.event_count;
        asked = watched.prepare_count;
    }
    cr_expect_eq(evaluation_memory_state(self.evaluation).batch, 16);
    cr_expect_eq(engine_deinit(&self), 0);
    genome_destroy(a);
    genome_destroy(x);
}

// 200 maps of 3 x 12 x 12: 466560 bytes an image by the formula, and eager's runner takes as good
// as 375000 more. Beside the split of 86400 there is no room for one image; alone there is.
Test(memory, a_genome_set_aside_may_fit_alone) {
    static const uint64_t tried[] = {50, 25, 12, 6, 3, 1};
    const map_size size = {3, 12, 12};
    genome *const genomes[] = {chain_genome(size, LARGE_NODES, 1), chain_genome(size, 3, 2)};
    evaluation_result expected[2], results[2];
    engine self;
    start_random(&self, 1, 256);
    engine_score(&self, genomes, 2, expected);
    cr_expect_eq(engine_deinit(&self), 0);
    init_random(&self, watch_plugin(hungry_plugin()));
    self.config.gpu_vram_cap_bytes = 880000;
    self.config.vram_usage_threshold = 0;
    cr_assert_eq(engine_open(&self, 1, 256, NULL), HOX_OK);
    engine_score(&self, genomes, 2, results);
    cr_expect(result_equals(&results[0], &expected[0]), "%s", results[0].error.message);
    cr_expect(result_equals(&results[1], &expected[1]), "%s", results[1].error.message);
    cr_expect_eq(self.event_count, 6);
    for (size_t i = 0; i < self.event_count && i < 6; i++)
        cr_expect_eq(self.events[i].tried, tried[i], "%s", memory_why_names[self.events[i].why]);
    cr_expect_eq(self.events[5].why, MEMORY_ALONE);
    cr_expect_eq(evaluation_memory_state(self.evaluation).batch, 3);
    cr_expect_null(self.split.samples, "it had to go");
    engine_score(&self, genomes + 1, 1, results);
    cr_expect(result_equals(&results[0], &expected[1]), "%s", results[0].error.message);
    cr_expect_not_null(self.split.samples, "it is back");
    cr_expect_eq(engine_deinit(&self), 0);
    destroy_genomes(genomes, 2);
}

// ---- the device goes ----

Test(memory, a_lost_device_ends_the_scoring, .timeout = 60) {
    static const int64_t lose_at[] = {1, 2, 5}, lanes[] = {1, 3}, groups[] = {1, 8};
    genome *genomes[RANDOM_GENOMES];
    random_genomes(genomes);
    for (size_t row = 0; row < 12; row++) {
        char message[64];
        engine self;
        evaluation_result results[RANDOM_GENOMES];
        init_random(&self, hungry_plugin());
        engine_hungry(&self)->lose_at = lose_at[row % 3];
        engine_hungry(&self)->group = groups[row / 3 % 2];
        cr_assert_eq(engine_open(&self, lanes[row / 6], 16, NULL), HOX_OK);
        snprintf(message, sizeof message, "call %d took the device with it", (int)lose_at[row % 3]);
        for (int time = 0; time < 2; time++) {
            hox_error error = HOX_ERROR_INIT;
            const hox_status status =
                evaluation_score(self.evaluation, (const genome *const *)genomes, RANDOM_GENOMES,
                                 &self.split, results, &error);
            cr_expect_eq(status, HOX_DEVICE_LOST, "row %zu", row);
            cr_expect_eq(error.status, HOX_DEVICE_LOST, "row %zu", row);
            cr_expect_str_eq(error.message, message, "row %zu", row);
        }
        cr_expect_eq(engine_deinit(&self), 0);
    }
    destroy_genomes(genomes, RANDOM_GENOMES);
}

// ---- some fail for reasons of their own ----

// A map of 76 x 76, whose edge to the output has a kernel of 76.
static genome *wide_genome(void) {
    const map_size input = {3, 12, 12}, output = {3, 1, 1}, wide = {3, 76, 76};
    genome *g = line_genome(input, output, NULL);
    cr_assert_eq(genome_add_node(g, (genome_node){.id = 2, .size = wide}, NULL), HOX_OK);
    for (uint64_t innovation = 2; innovation <= 3; innovation++) {
        const bool is_in = innovation == 2;
        const map_size from = is_in ? input : wide, to = is_in ? wide : output;
        genome_edge edge = {.innovation = innovation,
                            .from = is_in ? GENOME_INPUT : 2,
                            .to = is_in ? 2 : GENOME_OUTPUT,
                            .geometry = geometry_between(from, to, &(genome_config){0}),
                            .is_enabled = true};
        edge.kernel = kernel_create(from, to, edge.geometry, NULL);
        cr_assert_eq(genome_add_edge(g, edge, NULL), HOX_OK);
    }
    return g;
}

enum { BAD = 3, MIXED = RANDOM_GENOMES + BAD };

// The bad ones at the front, in the middle and at the end.
static void mix(genome *mixed[MIXED], genome *const genomes[RANDOM_GENOMES]) {
    static float huge[3 * 3 * 12 * 12 + 3];
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++)
        huge[i] = FLT_MAX;
    mixed[0] = wide_genome();
    mixed[MIXED / 2] = line_genome((map_size){3, 12, 12}, (map_size){3, 1, 1}, huge);
    mixed[MIXED - 1] = wide_genome();
    for (size_t i = 1, next = 0; i < MIXED - 1; i++)
        if (i != MIXED / 2) mixed[i] = genomes[next++];
}

Test(memory, genomes_that_fail_do_not_disturb_the_others) {
    static const struct {
        bool is_hungry; // else eager, whose groups are of 16
        int64_t lanes, group;
    } rows[] = {{false, 1, 16}, {false, 2, 16}, {true, 1, 1},
                {true, 2, 1},   {true, 1, 8},   {true, 3, 8}};
    genome *genomes[RANDOM_GENOMES], *mixed[MIXED];
    evaluation_result expected[RANDOM_GENOMES], results[MIXED];
    engine self;
    random_genomes(genomes);
    mix(mixed, genomes);
    start_random(&self, 1, 16);
    engine_score(&self, genomes, RANDOM_GENOMES, expected);
    cr_expect_eq(engine_deinit(&self), 0);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const bool is_hungry = rows[row].is_hungry;
        init_random(&self, is_hungry ? hungry_plugin() : plugin_load("runtime_eager"));
        if (is_hungry) engine_hungry(&self)->group = rows[row].group;
        cr_assert_eq(engine_open(&self, rows[row].lanes, 16, NULL), HOX_OK);
        engine_score(&self, mixed, MIXED, results);
        cr_expect_eq(results[0].reason, EVALUATION_UNSUPPORTED);
        cr_expect_eq(results[MIXED - 1].reason, EVALUATION_UNSUPPORTED);
        cr_expect(strstr(results[0].error.message, "kernel height 76"), "%s",
                  results[0].error.message);
        cr_expect_eq(results[MIXED / 2].reason, EVALUATION_NAN);
        for (size_t i = 1, next = 0; i < MIXED - 1; i++)
            if (i != MIXED / 2)
                cr_expect(result_equals(&results[i], &expected[next++]), "row %zu, genome %zu", row,
                          i);
        cr_expect_eq(engine_deinit(&self), 0);
    }
    genome_destroy(mixed[0]);
    genome_destroy(mixed[MIXED / 2]);
    genome_destroy(mixed[MIXED - 1]);
    destroy_genomes(genomes, RANDOM_GENOMES);
}
