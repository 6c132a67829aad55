// squeeze.c - the same fitness to the bit in whatever memory is left: under a cap, and on a GPU
// that somebody else has filled, where the driver itself says no.
#include "commands.h"
#include "cuda/device.h"
#include "evaluation_fixture.h"
#include "gpu.h"
#include "io/genome_json.h"
#include "plugin_fixture.h"
#include "random_plan.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_GENOMES = 16, LANES = 2, BATCH = 45000, LEAST_BATCH = 32, MIB = 1 << 20 };
static const map_size image_size = {3, 32, 32};

typedef struct squeeze {
    const char *runtime;
    genome *genomes[MOST_GENOMES];
    size_t genome_count;
    uint64_t image_count, left_bytes;
    float *images;
    uint8_t *labels;
    evaluation_result expected[MOST_GENOMES];
} squeeze;

// ---- memory that somebody else has ----

typedef struct ballast {
    cuda_device device;
    CUdeviceptr address;
} ballast;

static void ballast_take(ballast *b, uint64_t left_bytes) {
    hox_error error = HOX_ERROR_INIT;
    size_t available, total;
    must(cuda_device_open(&b->device, 0, &error), &error);
    must(cuda_device_enter(&b->device, &error), &error);
    const cuda_driver *driver = &b->device.driver;
    must_be(driver->cuMemGetInfo(&available, &total) == CUDA_SUCCESS, "no word about memory");
    must_be(available > left_bytes, "less memory is free than is to be left");
    must_be(driver->cuMemAlloc(&b->address, available - left_bytes) == CUDA_SUCCESS,
            "the memory that is to be taken away is not to be had");
    cuda_device_leave(&b->device);
}

static void ballast_drop(ballast *b) {
    hox_error error = HOX_ERROR_INIT;
    must(cuda_device_enter(&b->device, &error), &error);
    must_be(b->device.driver.cuMemFree(b->address) == CUDA_SUCCESS, "memory stays taken");
    cuda_device_leave(&b->device);
    cuda_device_close(&b->device);
}

// ---- one way of having little ----

typedef struct shortage {
    const char *name;
    uint64_t cap;
    int32_t is_adaptive;
    bool must_halve; // the batch is not computed beforehand, so memory has to run out
} shortage;

static void score(const squeeze *s, engine *self, const shortage *how, evaluation_result *results) {
    hox_error error = HOX_ERROR_INIT;
    char file[40];
    snprintf(file, sizeof file, "runtime_%s", s->runtime);
    engine_init(self, plugin_load(file), plugin_load("fitness_balanced_accuracy"));
    self->config.device = "cuda";
    self->config.gpu_vram_cap_bytes = (int64_t)how->cap;
    self->config.adaptive_eval_batch_size = how->is_adaptive;
    self->config.eval_batch_size_min = LEAST_BATCH;
    self->config.batch_size = LEAST_BATCH;
    must(engine_open(self, LANES, BATCH, &error), &error);
    engine_load(self, image_size, s->image_count, s->images, s->labels);
    engine_score(self, s->genomes, s->genome_count, results);
}

static bool run_short(const squeeze *s, const shortage *how) {
    static engine self;
    evaluation_result results[MOST_GENOMES];
    score(s, &self, how, results);
    size_t wrong = 0;
    for (size_t i = 0; i < s->genome_count; i++) {
        if (result_equals(&results[i], &s->expected[i])) continue;
        wrong++;
        printf("%s, %s: genome %zu: WRONG: fitness %.17g, expected %.17g: %s\n", s->runtime,
               how->name, i, results[i].fitness, s->expected[i].fitness, results[i].error.message);
    }
    const size_t halvings = engine_count(&self, VRAM_SHRUNK);
    const bool is_right = wrong == 0 && (halvings > 0 || !how->must_halve);
    printf("%s, %s: batch %llu at the end, %zu times halved, %zu by the formula: %s\n", s->runtime,
           how->name, (unsigned long long)evaluation_memory_state(self.evaluation).batch, halvings,
           engine_count(&self, VRAM_FORMULA),
           is_right ? "right" : "WRONG: another fitness, or never halved");
    must_be(engine_deinit(&self) == 0, "bytes stay in the ledger");
    return is_right;
}

// ---- all of them ----

static void load(squeeze *s, char **paths) {
    hox_error error = HOX_ERROR_INIT;
    const size_t values =
        s->image_count * image_size.channels * image_size.height * image_size.width;
    s->images = must_allocate(values, sizeof *s->images);
    s->labels = must_allocate(s->image_count, 1);
    random_images(3, values, s->images);
    for (uint64_t i = 0; i < s->image_count; i++)
        s->labels[i] = i % 3 == 0;
    for (size_t i = 0; i < s->genome_count; i++) {
        must(genome_json_load(paths[i], 7, LARGEST_KERNEL, NULL, &s->genomes[i], &error), &error);
        s->genomes[i]->id = i + 1;
    }
}

static void expect(squeeze *s) {
    static engine self;
    score(s, &self, &(shortage){.name = "all memory"}, s->expected);
    for (size_t i = 0; i < s->genome_count; i++)
        must_be(s->expected[i].reason == EVALUATION_OK, s->expected[i].error.message);
    must_be(engine_deinit(&self) == 0, "bytes stay in the ledger");
}

static bool run_runtime(squeeze *s) {
    expect(s);
    bool is_right = run_short(s, &(shortage){"cap", s->left_bytes, 0, true});
    is_right &= run_short(s, &(shortage){"cap, adaptive", s->left_bytes, 1, false});
    ballast others;
    ballast_take(&others, s->left_bytes);
    is_right &= run_short(s, &(shortage){"full GPU", 0, 0, true});
    is_right &= run_short(s, &(shortage){"full GPU, adaptive", 0, 1, false});
    ballast_drop(&others);
    return is_right;
}

int cmd_squeeze(int count, char **words) {
    // Fused holds no maps: it is short of memory only where the images themselves are too many.
    static const uint64_t parts[GPU_RUNTIMES] = {1, 1, 4};
    static opened_device gpu;
    must_be(count > 2 && count - 2 <= MOST_GENOMES, "squeeze IMAGES LEFT_MIB TOPOLOGY.json ...");
    if (!device_open_gpu(&gpu, gpu_runtimes[0], 1)) return EXIT_NO_GPU;
    device_close(&gpu);
    squeeze s = {.genome_count = (size_t)count - 2, .image_count = strtoull(words[0], NULL, 10)};
    load(&s, words + 2);
    bool is_right = true;
    for (int i = 0; i < GPU_RUNTIMES; i++) {
        s.runtime = gpu_runtimes[i];
        s.left_bytes = strtoull(words[1], NULL, 10) * MIB / parts[i];
        is_right &= run_runtime(&s);
    }
    destroy_genomes(s.genomes, s.genome_count);
    free(s.images);
    free(s.labels);
    return is_right ? 0 : 1;
}
