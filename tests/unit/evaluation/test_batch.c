// test_batch.c - how many images go at once: no result depends on it, no call is larger, and it is
// what free memory, the threshold and the lower bound say.
#include "evaluation_fixture.h"
#include "plugin_fixture.h"
#include "watch.h"

#include <criterion/criterion.h>
#include <string.h>

static void open(engine *self, int64_t lanes, int64_t batch_size) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(engine_open(self, lanes, batch_size, &error), HOX_OK, "%s", error.message);
}

// ---- a short last batch ----

// Ten images whose first pixel is the logit. Images 0, 3 and 9 are decided wrongly: what a short
// last batch leaves of the batch before (images 6 to 8) would be right.
enum { IMAGES = 10 };
static const map_size small = {1, 2, 2}, pixel = {1, 1, 1};
static const float images[IMAGES * 4] = {
    1,  9, 9, 9, /**/ -1, 9, 9, 9, /**/ 1,  9, 9, 9, /**/ -1, 9, 9, 9, /**/ 1,  9, 9, 9,
    -1, 9, 9, 9, /**/ 1,  9, 9, 9, /**/ -1, 9, 9, 9, /**/ 1,  9, 9, 9, /**/ -1, 9, 9, 9};
static const uint8_t labels[IMAGES] = {0, 0, 1, 1, 1, 0, 1, 0, 1, 1};
static const float values[] = {1, 0, 0, 0, /**/ 0};

static void start_ten(engine *self, const hox_plugin *runtime, int64_t batch_size,
                      double threshold) {
    engine_init(self, watch_plugin(runtime), plugin_load("fitness_accuracy"));
    self->config.gpu_vram_cap_bytes = 1000000;
    self->config.vram_usage_threshold = threshold;
    open(self, 1, batch_size);
    engine_load(self, small, IMAGES, images, labels);
}

// Scores with so many images at once.
static void check_ten(engine *self, genome *const *g, uint64_t batch) {
    const uint64_t jobs = watched.jobs, size = batch < IMAGES ? batch : IMAGES;
    evaluation_result r;
    cr_expect_eq(evaluation_memory_state(self->evaluation).batch, batch);
    watched.most_images = 0;
    engine_score(self, g, 1, &r);
    cr_expect_eq(r.reason, EVALUATION_OK, "%s", r.error.message);
    cr_expect_eq(r.fitness, 0.7, "batch %d", (int)batch);
    cr_expect_eq(r.metrics.count, IMAGES);
    cr_expect_eq(r.metrics.true_positives + r.metrics.true_negatives + r.metrics.false_positives +
                     r.metrics.false_negatives,
                 IMAGES, "batch %d", (int)batch);
    cr_expect_eq(watched.jobs - jobs, (IMAGES + size - 1) / size, "batch %d", (int)batch);
    cr_expect_eq(watched.most_images, size, "batch %d", (int)batch);
    cr_expect_eq(watched.oversized_jobs, 0, "batch %d", (int)batch);
    cr_expect_eq(watched.prepares[watched.prepare_count - 1].capacity, size);
    engine_end_generation(self, &r, 1);
}

static const hox_plugin *runtime_of(int number) {
    return number == 0 ? plugin_load("runtime_eager") : hungry_plugin();
}

Test(batch, never_changes_fitness) {
    static const int64_t batches[] = {1, 2, 3, 4, 10, 16};
    genome *g = line_genome(small, pixel, values);
    for (size_t i = 0; i < 12; i++) {
        engine self;
        start_ten(&self, runtime_of(i % 2), batches[i / 2], 0);
        check_ten(&self, &g, (uint64_t)batches[i / 2]);
        cr_expect_eq(watched.prepare_count, 1);
        cr_expect_eq(engine_deinit(&self), 0);
    }
    genome_destroy(g);
}

// The threshold is so low that each generation ends above it.
Test(batch, is_halved_between_generations) {
    genome *g = line_genome(small, pixel, values);
    for (int i = 0; i < 2; i++) {
        engine self;
        start_ten(&self, runtime_of(i), 4, 1e-4);
        check_ten(&self, &g, 4);
        cr_expect_eq(engine_count(&self, VRAM_THRESHOLD), 1);
        check_ten(&self, &g, 2);
        vram_state state = evaluation_memory_state(self.evaluation);
        cr_expect_eq(state.batch, 1);
        state.batch = 3;
        evaluation_restore_memory(self.evaluation, &state);
        check_ten(&self, &g, 3);
        cr_expect_eq(watched.prepare_count, 3, "one for each size");
        cr_expect_eq(engine_deinit(&self), 0);
    }
    genome_destroy(g);
}

// ---- what memory says ----

// Two maps of 3 x 12 x 12 in 50 images: M_sample = floor(2 * 1728 * 27 / 20) = 4665 bytes. A cap
// of 1024000 leaves 937600 beside the split of 86400, less the runtime's few words. In the second
// generation the runners of the first count as free, all but what they take above their estimate:
// the maps of one image.
Test(batch, is_what_free_memory_holds) {
    static const struct {
        int64_t cap, lanes, most, least;
        double fraction, threshold;
        int32_t cache_val_on_gpu;
        uint64_t batch;
    } rows[] = {
        {1024000, 1, 45000, 1, 0.5, 0, 1, 100},   // 468800 / 4665 = 100.5
        {1024000, 1, 45000, 1, 1.0, 0, 1, 200},   // 937600 / 4665 = 200.98
        {1024000, 1, 45000, 1, 0.5, 0.5, 1, 91},  // (512000 - 86400) / 4665 = 91.2
        {1024000, 2, 45000, 1, 0.5, 0, 1, 50},    // 468800 / 2 / 4665 = 50.2
        {1024000, 1, 64, 1, 0.5, 0, 1, 64},       // eval_batch_size
        {1024000, 1, 45000, 128, 0.5, 0, 1, 128}, // eval_batch_size_min
        {1024000, 1, 45000, 1, 0.5, 0, 0, 80},    // no split: 512000 / (4665 + 1728) = 80.1
        {600000, 1, 45000, 1, 0.5, 0, 1, 55},     // 256800 / 4665 = 55.05
        {80000, 1, 45000, 1, 0.9, 0, 1, 11},      // no room for it: 72000 / 6393 = 11.3
        {80000, 1, 45000, 1, 0.9, 0.5, 1, 6},     // 40000 / 6393 = 6.3
    };
    genome *g = chain_genome((map_size){3, 12, 12}, 2, 1);
    evaluation_result expected, r;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        engine self;
        init_random(&self, hungry_plugin());
        self.config.adaptive_eval_batch_size = 1;
        self.config.gpu_vram_cap_bytes = rows[i].cap;
        self.config.gpu_memory_fraction = rows[i].fraction;
        self.config.vram_usage_threshold = rows[i].threshold;
        self.config.eval_batch_size_min = rows[i].least;
        self.config.cache_val_on_gpu = rows[i].cache_val_on_gpu;
        open(&self, rows[i].lanes, rows[i].most);
        engine_score(&self, &g, 1, i ? &r : &expected);
        uint64_t batch = evaluation_memory_state(self.evaluation).batch;
        cr_expect_eq(batch, rows[i].batch, "row %zu: %d", i, (int)batch);
        cr_expect_eq(engine_count(&self, VRAM_FORMULA), batch != (uint64_t)rows[i].most);
        engine_end_generation(&self, i ? &r : &expected, 1);
        engine_score(&self, &g, 1, &r);
        cr_expect(result_equals(&r, &expected), "row %zu: %s", i, r.error.message);
        batch = evaluation_memory_state(self.evaluation).batch;
        cr_expect_leq(batch, rows[i].batch, "row %zu: then %d", i, (int)batch);
        cr_expect_geq(batch, rows[i].batch - 1, "row %zu: then %d", i, (int)batch);
        cr_expect_eq(engine_deinit(&self), 0);
    }
    genome_destroy(g);
}

// 32 * 4665 + 86400 = 235680 of 300000 is above 0.72; 16 * 4665 + 86400 is not.
Test(batch, is_halved_above_the_threshold) {
    genome *g = chain_genome((map_size){3, 12, 12}, 2, 1);
    evaluation_result first, second;
    engine self;
    init_random(&self, watch_plugin(hungry_plugin()));
    self.config.gpu_vram_cap_bytes = 300000;
    open(&self, 1, 32);
    engine_score(&self, &g, 1, &first);
    cr_expect_eq(evaluation_memory_state(self.evaluation).batch, 32);
    engine_end_generation(&self, &first, 1);
    const memory_event *told = engine_last(&self, VRAM_THRESHOLD);
    cr_expect_eq(told->batch_before, 32);
    cr_expect_eq(told->batch_after, 16);
    cr_expect_eq(told->reading.total, 300000);
    cr_expect_geq(told->reading.used, 235680);
    cr_expect_leq(told->reading.used, 235680 + 6000, "eager's own runner");
    engine_score(&self, &g, 1, &second);
    cr_expect_eq(watched.prepares[watched.prepare_count - 1].capacity, 16);
    cr_expect_eq(watched.runner_count, 1, "the larger one is gone");
    engine_end_generation(&self, &second, 1);
    cr_expect_eq(engine_count(&self, VRAM_THRESHOLD), 1);
    cr_expect_eq(evaluation_memory_state(self.evaluation).batch, 16);
    cr_expect(result_equals(&first, &second));
    cr_expect_eq(engine_deinit(&self), 0);
    genome_destroy(g);
}

static void count_warnings(void *context, uint32_t level, const char *line) {
    int *count = context;
    *count += level == HOX_LOG_WARNING && strstr(line, "holds no image");
}

// A millionth of 813600 bytes is none.
Test(batch, warns_once_where_memory_holds_no_image) {
    genome *g = chain_genome((map_size){3, 12, 12}, 2, 1);
    int warnings = 0;
    const log_sink log = {HOX_LOG_WARNING, count_warnings, &warnings};
    engine self;
    init_random(&self, hungry_plugin());
    self.log = &log;
    self.config.adaptive_eval_batch_size = 1;
    self.config.gpu_vram_cap_bytes = 900000;
    self.config.gpu_memory_fraction = 1e-6;
    self.config.eval_batch_size_min = 7;
    open(&self, 1, 45000);
    for (int generation = 0; generation < 3; generation++) {
        evaluation_result r;
        engine_score(&self, &g, 1, &r);
        cr_expect_eq(r.reason, EVALUATION_OK, "%s", r.error.message);
        cr_expect_eq(evaluation_memory_state(self.evaluation).batch, 7);
        engine_end_generation(&self, &r, 1);
    }
    cr_expect_eq(warnings, 1);
    cr_expect_eq(engine_deinit(&self), 0);
    genome_destroy(g);
}
