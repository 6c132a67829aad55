// test_squeeze.c - topologies evolved elsewhere over real images in less and less memory: the same
// results to the bit, in smaller batches, until not even the smallest allowed one fits alone.
#include "evaluation_fixture.h"
#include "io/genome_json.h"
#include "plugin_fixture.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Of the samples: little, middling and much memory an image, for as little work as there is.
static const char *const names[] = {"evolved_01", "evolved_13", "evolved_06"};
enum { GENOMES = sizeof names / sizeof *names };

// All images and budgets where the compiler has not been told to be slow.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { IMAGES = 4000, BUDGET_STEP = 1 };
#else
enum { IMAGES = 300, BUDGET_STEP = 2 };
#endif
enum { IMAGE_VALUES = 3 * 32 * 32, IMAGE_BYTES = 4 * IMAGE_VALUES };

static const int64_t budgets[] = {8, 16, 32, 64, 128, 256, 512, 1024, 2048}; // MiB
enum { BUDGETS = sizeof budgets / sizeof *budgets, MIB = 1 << 20 };

static const char images_path[] = HOX_SHARED_DIR "/data/cifar10_train_4000.bin";

// ---- the samples ----

typedef struct samples {
    genome *genomes[GENOMES];
    float *images;
    uint8_t labels[IMAGES];
} samples;

static void need_samples(void) {
    if (access(HOX_SHARED_DIR "/genomes", R_OK) == 0 && access(images_path, R_OK) == 0) return;
    fputs("skipped: no sample topologies and images in " HOX_SHARED_DIR "\n", stderr);
    cr_skip_test("no samples");
}

static void load_images(samples *s) {
    unsigned char record[1 + IMAGE_VALUES];
    s->images = malloc(IMAGES * sizeof *s->images * IMAGE_VALUES);
    FILE *file = fopen(images_path, "rb");
    cr_assert(file && s->images);
    for (size_t i = 0; i < IMAGES; i++) {
        cr_assert_eq(fread(record, sizeof record, 1, file), 1);
        s->labels[i] = record[0] < 5;
        for (size_t k = 0; k < IMAGE_VALUES; k++)
            s->images[i * IMAGE_VALUES + k] = ((float)record[1 + k] / 255 - 0.47F) / 0.25F;
    }
    fclose(file);
}

static samples *load_samples(void) {
    samples *s = calloc(1, sizeof *s);
    hox_error error = HOX_ERROR_INIT;
    need_samples();
    load_images(s);
    for (size_t i = 0; i < GENOMES; i++) {
        char path[4096];
        snprintf(path, sizeof path, HOX_SHARED_DIR "/genomes/%s.json", names[i]);
        cr_assert_eq(genome_json_load(path, 7, 32, NULL, &s->genomes[i], &error), HOX_OK, "%s",
                     error.message);
        s->genomes[i]->id = i + 1;
    }
    return s;
}

static void free_samples(samples *s) {
    destroy_genomes(s->genomes, GENOMES);
    free(s->images);
    free(s);
}

// ---- one budget ----

typedef struct squeeze {
    int64_t cap; // bytes; 0 = none
    int64_t lanes;
    int32_t is_adaptive, pool;
    int64_t group;
    int64_t lower_bound; // 0 = what the defaults say: 256
} squeeze;

static void start(engine *self, const squeeze *how, const samples *s) {
    hox_error error = HOX_ERROR_INIT;
    engine_init(self, hungry_plugin(), plugin_load("fitness_balanced_accuracy"));
    engine_hungry(self)->group = how->group;
    engine_hungry(self)->pool = how->pool;
    self->config.gpu_vram_cap_bytes = how->cap;
    self->config.adaptive_eval_batch_size = how->is_adaptive;
    self->config.batch_size = how->lower_bound ? how->lower_bound : 128;
    self->config.eval_batch_size_min = how->lower_bound ? how->lower_bound : 256;
    cr_assert_eq(engine_open(self, how->lanes, 45000, &error), HOX_OK, "%s", error.message);
    engine_load(self, (map_size){3, 32, 32}, IMAGES, s->images, s->labels);
}

// Alone, a genome takes its runner and a window of images, both of the lower bound, and eager's own
// runner, which is smaller than this.
enum { OWN_BYTES = 100000 };

static bool fits(const squeeze *how, const evaluation_result *expected) {
    const uint64_t bound = how->lower_bound ? (uint64_t)how->lower_bound : 256;
    const uint64_t least = bound * (expected->bytes_per_sample + IMAGE_BYTES);
    cr_assert((uint64_t)how->cap < least || (uint64_t)how->cap >= least + OWN_BYTES,
              "%d bytes tell nothing", (int)how->cap);
    return (uint64_t)how->cap >= least;
}

static void check(const squeeze *how, const evaluation_result *r, const evaluation_result *expected,
                  const char *what) {
    char text[200];
    if (fits(how, expected)) {
        cr_expect(result_equals(r, expected), "%s: %s", what,
                  r->reason ? r->error.message : "another result");
        return;
    }
    snprintf(text, sizeof text,
             " bytes an image) does not fit on cpu, even alone with 256 images at once: %" PRIu64
             " bytes needed, ",
             256 * expected->bytes_per_sample);
    cr_expect_eq(r->reason, EVALUATION_OOM, "%s: %s", what, evaluation_reasons[r->reason]);
    cr_expect(strstr(r->error.message, text), "%s: %s", what, r->error.message);
    cr_expect(strstr(r->error.message, "; lower evaluation.eval_batch_size_min or raise "
                                       "evaluation.gpu_vram_cap_bytes"),
              "%s: %s", what, r->error.message);
}

// Returns the batch it ended with.
static uint64_t squeeze_into(const squeeze *how, const samples *s,
                             const evaluation_result *expected) {
    static engine self;
    char what[100];
    evaluation_result results[GENOMES];
    snprintf(what, sizeof what, "%d MiB, %s, lower bound %d", (int)(how->cap / MIB),
             how->is_adaptive ? "adaptive" : "not adaptive", (int)how->lower_bound);
    start(&self, how, s);
    engine_score(&self, s->genomes, GENOMES, results);
    for (size_t i = 0; i < GENOMES; i++)
        check(how, &results[i], &expected[i], what);
    const uint64_t batch = evaluation_memory_state(self.evaluation).batch;
    engine_end_generation(&self, results, GENOMES);
    cr_expect_leq(engine_last(&self, MEMORY_GENERATION)->peak_bytes, how->cap, "%s", what);
    const size_t shrinks = engine_count(&self, VRAM_FORMULA) + engine_count(&self, VRAM_SHRUNK);
    cr_expect_eq(batch<45000, shrinks> 0, "%s: batch %d", what, (int)batch);
    cr_expect_eq(engine_deinit(&self), 0, "%s", what);
    return batch;
}

// All budgets, and what is found without one.
static void squeeze_all(squeeze how) {
    samples *s = load_samples();
    evaluation_result expected[GENOMES];
    static engine self;
    how.group = 1;
    start(&self, &how, s);
    engine_score(&self, s->genomes, GENOMES, expected);
    cr_expect_eq(engine_deinit(&self), 0);
    for (how.is_adaptive = 0; how.is_adaptive < 2; how.is_adaptive++) {
        uint64_t least = 0, before = 0, batch = 0;
        for (size_t i = 0; i < BUDGETS; i += BUDGET_STEP, before = batch) {
            how.cap = budgets[i] * MIB;
            how.group = i % 3 == 2 ? 8 : 1;
            how.pool = i / 2 % 2;
            batch = squeeze_into(&how, s, expected);
            if (i == 0) least = batch;
            if (how.lanes == 1 && !how.is_adaptive)
                cr_expect_leq(before, batch, "%d MiB: %d", (int)budgets[i], (int)batch);
        }
        cr_expect_lt(least, batch, "adaptive %d", how.is_adaptive);
    }
    free_samples(s);
}

Test(squeeze, down_to_16_images_at_once) {
    squeeze_all((squeeze){.lanes = 1, .lower_bound = 16});
}

Test(squeeze, down_to_what_the_defaults_allow) {
    squeeze_all((squeeze){.lanes = 2});
}
