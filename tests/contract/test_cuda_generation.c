// test_cuda_generation.c - generations scored on the fake driver: the CPU's fitness, little memory,
// short last batches, and every driver call failing in turn.
#include "evaluation_fixture.h"
#include "fake_cuda.h"
#include "plugin_fixture.h"
#include "random_plan.h"

#include <criterion/criterion.h>
#include <cuda.h>
#include <stdlib.h>
#include <string.h>

// Before the plugin asks for the driver.
static void start_driver(void) {
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake_cuda_reset();
}

static const char *const runtimes[] = {"runtime_eager", "runtime_graph", "runtime_fused"};
enum { RUNTIMES = sizeof runtimes / sizeof *runtimes };
enum { HUNGRY_RUNTIMES = 2 }; // hold the maps of all images of a batch

// On its first GPU.
static void start(engine *self, const char *runtime) {
    engine_init(self, plugin_load(runtime), plugin_load("fitness_accuracy"));
    self->config.device = "cuda";
}

static void must_open(engine *self, int64_t lanes, int64_t batch_size) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(engine_open(self, lanes, batch_size, &error), HOX_OK, "%s", error.message);
}

static void expect_nothing_left(engine *self, const char *what) {
    uint64_t left = engine_deinit(self);
    const fake_cuda_counts counts = fake_cuda_count();
    cr_expect_eq(left, 0, "%s: %d bytes in the ledger", what, (int)left);
    cr_expect_eq(counts.device_blocks, 0, "%s: memory of the GPU", what);
    cr_expect_eq(counts.pinned_blocks, 0, "%s: page-locked memory", what);
    cr_expect_eq(counts.streams + counts.events + counts.graphs, 0, "%s: streams", what);
    cr_expect_eq(counts.modules, 0, "%s: modules", what);
    cr_expect_eq(counts.contexts, 0, "%s: contexts", what);
    cr_expect_eq(counts.divergences, 0, "%s: barriers", what);
    cr_expect_eq(fake_cuda_context_depth(), 0, "%s: the context is still current", what);
}

// ---- beside the CPU ----

static void compare_with_cpu(const char *runtime) {
    static engine cpu, gpu;
    genome *genomes[RANDOM_GENOMES];
    evaluation_result expected[RANDOM_GENOMES], got[RANDOM_GENOMES];
    start_driver();
    random_genomes(genomes);
    start_random(&cpu, 1, 45000);
    engine_score(&cpu, genomes, RANDOM_GENOMES, expected);
    init_random(&gpu, plugin_load(runtime));
    gpu.config.device = "cuda";
    must_open(&gpu, 2, 13);
    cr_expect_str_eq(evaluation_device(gpu.evaluation)->address, "cuda:0");
    cr_expect_str_eq(evaluation_device(gpu.evaluation)->instruction_set, "sm_90");
    engine_score(&gpu, genomes, RANDOM_GENOMES, got);
    engine_end_generation(&gpu, got, RANDOM_GENOMES);
    for (size_t i = 0; i < RANDOM_GENOMES; i++) {
        cr_expect_eq(got[i].reason, expected[i].reason, "genome %zu: %s", i, got[i].error.message);
        cr_expect_eq(got[i].fitness, expected[i].fitness, "genome %zu", i);
    }
    cr_expect_gt(fake_cuda_count().launches, 0);
    expect_nothing_left(&gpu, runtime);
    engine_deinit(&cpu);
    destroy_genomes(genomes, RANDOM_GENOMES);
}

Test(cuda_generation, gives_the_fitness_of_the_cpu) {
    for (size_t i = 0; i < RUNTIMES; i++)
        compare_with_cpu(runtimes[i]);
}

// ---- the last batch is shorter ----

static const map_size small_size = {3, 6, 6};
enum { SMALL_PIXELS = 3 * 6 * 6, TEN = 10 };

// A row left from the batch before would be a right answer: images and labels alternate with a
// period that no batch size has in common with its place in the batch.
static void count_in_any_batch(const char *runtime) {
    static const int64_t batches[] = {16, 10, 4, 3, 2, 1};
    float images[TEN * SMALL_PIXELS];
    uint8_t labels[TEN];
    evaluation_result expected = {0}, got;
    genome *g = chain_genome(small_size, 4, 3);
    static engine self;
    start_driver();
    random_images(5, TEN * SMALL_PIXELS, images);
    for (size_t i = 0; i < TEN; i++)
        labels[i] = i % 7 < 3;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        start(&self, runtime);
        must_open(&self, 1, batches[i]);
        engine_load(&self, small_size, TEN, images, labels);
        engine_score(&self, &g, 1, &got);
        if (i == 0) expected = got;
        cr_expect_eq(got.metrics.count, TEN, "batch %d", (int)batches[i]);
        cr_expect(result_equals(&got, &expected), "batch %d: %s", (int)batches[i],
                  got.error.message);
        // One recording, for the batch; the shorter one at the end needs none.
        cr_expect_eq(fake_cuda_count().graphs, strcmp(runtime, "runtime_graph") == 0);
        expect_nothing_left(&self, "ten images");
    }
    genome_destroy(g);
}

Test(cuda_generation, counts_each_image_once_in_any_batch) {
    for (size_t i = 0; i < RUNTIMES; i++)
        count_in_any_batch(runtimes[i]);
}

// ---- one genome too large ----

// A genome whose maps are all needed at the end: each hidden node reads the input and is read by
// the output. Ids and weights as chain_genome has them.
static genome *fan_genome(map_size size, uint32_t node_count, uint64_t seed) {
    genome *g = chain_genome(size, node_count, seed);
    genome_edge edge = g->edges[0];
    while (g->edge_count > 0)
        genome_remove_edge(g, g->edge_count - 1);
    rng random = rng_stream(seed, 1, 0, RNG_PURPOSE_WEIGHTS);
    for (uint32_t id = GENOME_OUTPUT + 1; id < node_count; id++) {
        for (int half = 0; half < 2; half++) {
            edge.innovation = 2 * id + (uint64_t)half;
            edge.from = half == 0 ? GENOME_INPUT : id;
            edge.to = half == 0 ? id : GENOME_OUTPUT;
            edge.kernel = kernel_draw(size, size, edge.geometry, 1, &random, NULL);
            cr_assert_eq(genome_add_edge(g, edge, NULL), HOX_OK);
        }
    }
    return g;
}

enum { C03_IMAGES = 256, C03_PIXELS = 3 * 32 * 32, C03_BYTES = 41943040 };

static void score_three(const char *runtime, genome *const *genomes, size_t count,
                        const float *images, const uint8_t *labels, evaluation_result *results,
                        engine *self) {
    fake_cuda_reset();
    fake_cuda_set_memory(C03_BYTES);
    start(self, runtime);
    self->config.batch_size = self->config.eval_batch_size_min = 16;
    self->config.vram_usage_threshold = 0;
    must_open(self, 1, 256);
    engine_load(self, (map_size){3, 32, 32}, C03_IMAGES, images, labels);
    engine_score(self, genomes, count, results);
}

static void starve_one(const char *runtime) {
    static const uint64_t tried[] = {256, 128, 64, 32, 16};
    static engine self;
    float *images = malloc(C03_IMAGES * C03_PIXELS * sizeof *images);
    uint8_t labels[C03_IMAGES];
    evaluation_result results[3], without[2];
    start_driver();
    random_images(9, C03_IMAGES * C03_PIXELS, images);
    for (size_t i = 0; i < C03_IMAGES; i++)
        labels[i] = i % 3 == 0;
    genome *genomes[] = {chain_genome((map_size){3, 32, 32}, 5, 1),
                         fan_genome((map_size){3, 32, 32}, 200, 2),
                         chain_genome((map_size){3, 32, 32}, 5, 1)};
    score_three(runtime, (genome *[]){genomes[0], genomes[2]}, 2, images, labels, without, &self);
    engine_end_generation(&self, without, 2);
    expect_nothing_left(&self, "without it");
    score_three(runtime, genomes, 3, images, labels, results, &self);
    cr_expect_eq(results[1].reason, EVALUATION_OOM, "%s", results[1].error.message);
    cr_expect(strstr(results[1].error.message, "does not fit on cuda:0, even alone with 16 images"),
              "%s", results[1].error.message);
    cr_expect_eq(results[1].metrics.count, 0);
    cr_expect(result_equals(&results[0], &without[0]), "%s", results[0].error.message);
    cr_expect(result_equals(&results[2], &without[1]), "%s", results[2].error.message);
    size_t at = 0;
    for (size_t i = 0; i < self.event_count; i++) {
        const memory_event *event = &self.events[i];
        if (event->why != VRAM_SHRUNK && event->why != VRAM_RETRY && event->why != VRAM_SET_ASIDE)
            continue;
        if (at < sizeof tried / sizeof *tried) cr_expect_eq(event->tried, tried[at], "%zu", at);
        cr_expect_eq(event->genome_id, 2);
        at++;
    }
    cr_expect_geq(at, sizeof tried / sizeof *tried);
    cr_expect_eq(evaluation_memory_state(self.evaluation).batch, 16);
    engine_end_generation(&self, results, 3);
    cr_expect_leq(fake_cuda_count().peak_device_bytes, C03_BYTES);
    expect_nothing_left(&self, "with it");
    destroy_genomes(genomes, 3);
    free(images);
}

Test(cuda_generation, one_genome_without_memory_leaves_the_others_alone) {
    for (size_t i = 0; i < HUNGRY_RUNTIMES; i++)
        starve_one(runtimes[i]);
}

// ---- every call fails ----

enum { FEW_IMAGES = 20, FEW_GENOMES = 3, FEW_BATCH = 8 };

typedef struct few {
    genome *genomes[FEW_GENOMES];
    float images[FEW_IMAGES * SMALL_PIXELS];
    uint8_t labels[FEW_IMAGES];
    evaluation_result expected[FEW_GENOMES], results[FEW_GENOMES];
    const char *runtime;
    bool is_streamed;
    int64_t lanes;
    engine engine;
} few;

static void make_few(few *self) {
    start_driver();
    random_images(7, FEW_IMAGES * SMALL_PIXELS, self->images);
    for (size_t i = 0; i < FEW_IMAGES; i++)
        self->labels[i] = i % 5 < 2;
    for (size_t i = 0; i < FEW_GENOMES; i++)
        self->genomes[i] = chain_genome(small_size, 3 + (uint32_t)i, i + 1);
}

// A generation of which call `number` fails. Returns what scoring, or else its end, came to, and
// how many calls that took.
static hox_status run_generation(few *self, uint64_t number, int code, uint64_t *calls,
                                 hox_error *error) {
    engine *e = &self->engine;
    fake_cuda_reset();
    start(e, self->runtime);
    e->config.cache_val_on_gpu = !self->is_streamed;
    must_open(e, self->lanes, FEW_BATCH);
    engine_load(e, small_size, FEW_IMAGES, self->images, self->labels);
    const uint64_t before = fake_cuda_count().calls;
    fake_cuda_fail_call(number, code);
    hox_status status = evaluation_score(e->evaluation, (const genome *const *)self->genomes,
                                         FEW_GENOMES, &e->split, self->results, error);
    if (status == HOX_OK)
        status = evaluation_end_generation(e->evaluation, self->results, FEW_GENOMES, error);
    *calls = fake_cuda_count().calls - before;
    fake_cuda_fail_call(0, 0);
    return status;
}

static void expect_same_results(const few *self, const char *what) {
    for (size_t i = 0; i < FEW_GENOMES; i++)
        cr_expect(result_equals(&self->results[i], &self->expected[i]), "%s, genome %zu: %s", what,
                  i, self->results[i].error.message);
}

static void check_failure(few *self, uint64_t number, int code) {
    hox_error error = HOX_ERROR_INIT;
    char what[120];
    uint64_t calls;
    const hox_status status = run_generation(self, number, code, &calls, &error);
    snprintf(what, sizeof what, "call %d (%s) gives %d", (int)number,
             fake_cuda_call_name(fake_cuda_count().calls - calls + number), code);
    if (code == CUDA_ERROR_OUT_OF_MEMORY || code == CUDA_ERROR_INVALID_VALUE) { // these pass
        cr_expect_eq(status, HOX_OK, "%s: %s", what, error.message);
        expect_same_results(self, what);
    } else if (status != HOX_OK) {
        cr_expect_eq(status, HOX_DEVICE_LOST, "%s: %s", what, error.message);
        cr_expect_eq(error.native_code, code, "%s: %s", what, error.message);
        for (size_t i = 0; i < FEW_GENOMES; i++)
            cr_expect(self->results[i].reason == EVALUATION_OK ||
                          self->results[i].reason == EVALUATION_DEVICE_LOST,
                      "%s, genome %zu: %s", what, i, evaluation_reasons[self->results[i].reason]);
    } else {
        expect_same_results(self, what); // it came when all was done
    }
    expect_nothing_left(&self->engine, what);
}

// The last one is for good, in the fake driver, and no list of ours says so.
static const int codes[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_ILLEGAL_ADDRESS,
                            CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_UNKNOWN};
enum { ALL_CODES = sizeof codes / sizeof *codes, SOME_CODES = 3 };

static void fail_each_call(const char *runtime, bool is_streamed, int64_t lanes,
                           size_t code_count) {
    few *self = calloc(1, sizeof *self);
    hox_error error = HOX_ERROR_INIT;
    uint64_t calls;
    self->runtime = runtime;
    self->is_streamed = is_streamed;
    self->lanes = lanes;
    make_few(self);
    cr_assert_eq(run_generation(self, 0, 0, &calls, &error), HOX_OK, "%s", error.message);
    memcpy(self->expected, self->results, sizeof self->expected);
    expect_nothing_left(&self->engine, "no failure");
    cr_assert_leq(calls, 500);
    cr_assert_geq(calls, 50);
    for (size_t c = 0; c < code_count; c++)
        for (uint64_t number = 1; number <= calls; number++)
            check_failure(self, number, codes[c]);
    destroy_genomes(self->genomes, FEW_GENOMES);
    free(self);
}

Test(cuda_generation, survives_the_failure_of_each_call) {
    for (size_t i = 0; i < RUNTIMES; i++)
        fail_each_call(runtimes[i], false, 1, ALL_CODES);
}

Test(cuda_generation, survives_the_failure_of_each_call_while_streaming) {
    for (size_t i = 0; i < RUNTIMES; i++)
        fail_each_call(runtimes[i], true, 1, SOME_CODES);
}

// Which call fails varies from run to run.
Test(cuda_generation, survives_failures_with_two_lanes) {
    for (size_t i = 0; i < RUNTIMES; i++)
        fail_each_call(runtimes[i], false, 2, SOME_CODES);
}
