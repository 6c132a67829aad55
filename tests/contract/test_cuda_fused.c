// test_cuda_fused.c - fused on a GPU gives the same bits however little shared memory the device
// has, in whatever order its threads run and whatever its lane has grown for: those of eager there
// where no target is shared among threads, else what is near enough to the reference.
#include "random_plan.h"
#include "reference.h"
#include "runtime_fixture.h"
#include "runtime_fused/tile_program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 9, PLANS = 120, ORDERS = 3 };

// Bytes that a block may have: the H200's, what leaves 7.5 KiB for each of two, nothing at all.
static const char *const shared_bytes[] = {"232448", "16384", "1024"};
enum { DEVICES = sizeof shared_bytes / sizeof *shared_bytes };

static void run_plan(const opened *self, const hox_plan *plan, const hox_weights *weights,
                     const float *images, float *logits) {
    hox_error error = HOX_ERROR_INIT;
    hox_samples *samples = make_samples(self, plan, images, IMAGES);
    hox_job job = {.struct_size = sizeof job,
                   .runner = make_runner(self, plan, HOX_PURPOSE_INFER, IMAGES),
                   .weights = weights,
                   .samples = samples,
                   .count = IMAGES,
                   .logits = logits,
                   .error = &error};
    hox_job *const jobs[] = {&job};
    cr_assert_eq(self->api->evaluate(self->runtime, 0, jobs, 1, &error), HOX_OK, "%s",
                 error.message);
    cr_assert_eq(job.status, HOX_OK, "%s", error.message);
    self->api->release(job.runner);
    self->api->samples_destroy(samples);
}

// Targets with so many tiles that none is shared, whatever the edge: 17 rows of 3 x 8 values take
// 51 of 64 groups of threads.
static void make_wide_plan(random_plan *made, uint64_t seed) {
    test_random random = {seed};
    const uint32_t node_count = 3 + random_below(&random, 3);
    plan_begin(made, random_below(&random, HOX_READOUT_COUNT));
    for (uint32_t i = 0; i < node_count; i++) {
        const uint32_t height = 17 + random_below(&random, 6),
                       width = 17 + random_below(&random, 6);
        plan_add_node(made, i % 2 ? 8 : 3, height, width,
                      i > 0 ? random_below(&random, HOX_ACTIVATION_COUNT) : 0);
        if (i > 0) plan_add_edge(made, i - 1);
        if (i > 1) plan_add_edge(made, random_below(&random, i - 1));
    }
}

static bool is_shared(const hox_plan *plan) {
    void *memory = malloc(tile_program_bytes(plan));
    cr_assert_not_null(memory);
    const tile_program *program = tile_program_make(memory, plan);
    uint32_t halvings = 0;
    for (uint32_t e = 0; e < program->edge_count; e++)
        halvings += program->edges[e].halvings;
    free(memory);
    return halvings > 0;
}

static void check_near(const hox_plan *plan, const float *values, const float *images,
                       const float *logits, size_t seed) {
    for (size_t i = 0; i < IMAGES; i += IMAGES - 1) {
        const reference_result right =
            reference_evaluate(plan, values, images + i * image_size(plan));
        cr_expect(fabs((double)logits[i] - right.logit) <= reference_tolerance(&right, 1e-4),
                  "plan %zu: %.9g, reference %.9g", seed, (double)logits[i], right.logit);
    }
}

// base: fused with the most shared memory and threads in order. Returns whether eager was asked.
static bool compare_plan(const opened *eager, const opened *base, const opened *fused, int order,
                         uint64_t seed) {
    random_plan made;
    uint64_t hashes[2 * RANDOM_PLAN_NODES];
    float logits[3][IMAGES];
    if (seed % 2)
        make_wide_plan(&made, seed);
    else
        random_plan_make(&made, seed);
    const size_t floats = IMAGES * image_size(&made.plan);
    float *values = malloc(made.plan.weight_count * sizeof *values);
    float *images = malloc(floats * sizeof *images);
    cr_assert(values && images);
    random_weights(&made.plan, seed, values);
    random_images(seed, floats, images);
    test_random random = {seed};
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++)
        hashes[i] = random_next(&random);
    const hox_weights weights = {.struct_size = sizeof weights,
                                 .values = values,
                                 .count = made.plan.weight_count,
                                 .version = seed + 1,
                                 .node_value_hash = hashes};
    const bool is_of_eager = !is_shared(&made.plan);
    cr_expect(is_of_eager || seed % 2 == 0, "plan %zu shares targets", (size_t)seed);
    choose_thread_order(0);
    run_plan(eager, &made.plan, &weights, images, logits[0]);
    run_plan(base, &made.plan, &weights, images, logits[1]);
    choose_thread_order(order);
    run_plan(fused, &made.plan, &weights, images, logits[2]);
    cr_expect_arr_eq(logits[2], logits[1], sizeof logits[0], "plan %zu: %.9g, as base %.9g",
                     (size_t)seed, (double)logits[2][0], (double)logits[1][0]);
    if (is_of_eager)
        cr_expect_arr_eq(logits[2], logits[0], sizeof logits[0], "plan %zu: %.9g, eager %.9g",
                         (size_t)seed, (double)logits[2][0], (double)logits[0][0]);
    check_near(&made.plan, values, images, logits[2], seed);
    free(values);
    free(images);
    return is_of_eager;
}

EACH_ROW(cuda_fused, gives_the_same_bits_everywhere, DEVICES *ORDERS) {
    opened eager, base, fused;
    uint32_t as_eager = 0, plans = 0;
    setenv("HOX_FAKE_CUDA_SHARED", shared_bytes[0], 1);
    open_runtime(&eager, gpu_row("runtime_eager"));
    open_runtime(&base, gpu_row("runtime_fused"));
    setenv("HOX_FAKE_CUDA_SHARED", shared_bytes[*row / ORDERS], 1);
    open_runtime(&fused, gpu_row("runtime_fused"));
    for (uint64_t seed = *row; seed < PLANS; seed += DEVICES * ORDERS, plans++)
        as_eager += compare_plan(&eager, &base, &fused, (int)(*row % ORDERS), seed);
    cr_expect_lt(as_eager, plans, "nothing is shared");
    close_runtime(&eager);
    close_runtime(&base);
    close_runtime(&fused);
}

// ---- many and large ones on one lane ----

enum { SMALL = 5, GROUP = SMALL + 4, SIDE = 9, WIDE = 24 };

typedef struct genome {
    random_plan made;
    float *values;
    uint64_t hashes[2 * RANDOM_PLAN_NODES];
    hox_weights weights;
} genome;

// A few small ones, then one whose maps take more than is kept for those that wait, then some
// of 1.3 MiB of weights: 4 MiB are taken at once.
static void make_genome(genome *g, uint64_t number) {
    plan_begin(&g->made, HOX_READOUT_SUM);
    const uint32_t side = number < SMALL ? SIDE : number == SMALL ? WIDE : 1;
    plan_add_node(&g->made, 64, SIDE, SIDE, HOX_ACTIVATION_IDENTITY);
    plan_add_node(&g->made, number < SMALL ? 3 : 64, side, side, HOX_ACTIVATION_RELU);
    plan_add_edge(&g->made, 0);
    plan_add_node(&g->made, 3, 1, 1, HOX_ACTIVATION_IDENTITY);
    plan_add_edge(&g->made, 1);
    const hox_plan *plan = &g->made.plan;
    g->values = malloc(plan->weight_count * sizeof *g->values);
    cr_assert(g->values);
    random_weights(plan, number, g->values);
    for (uint64_t i = 0; i < 2 * RANDOM_PLAN_NODES; i++)
        g->hashes[i] = i < 2 ? 1 : 100 * number + i;
    g->weights = (hox_weights){.struct_size = sizeof g->weights,
                               .values = g->values,
                               .count = plan->weight_count,
                               .version = number + 1,
                               .node_value_hash = g->hashes};
}

// The first one once more, when the others have been released.
static void run_together(const opened *self, const genome *genomes, const float *images,
                         float logits[GROUP][IMAGES]) {
    hox_error error = HOX_ERROR_INIT;
    hox_job jobs[GROUP], *calls[GROUP];
    hox_samples *samples = make_samples(self, &genomes[0].made.plan, images, IMAGES);
    hox_runner *least = make_runner(self, &genomes[0].made.plan, HOX_PURPOSE_INFER, 1);
    for (size_t i = 0; i < GROUP; i++) {
        calls[i] = &jobs[i];
        jobs[i] =
            (hox_job){.struct_size = sizeof jobs[i],
                      .runner = make_runner(self, &genomes[i].made.plan, HOX_PURPOSE_INFER, IMAGES),
                      .weights = &genomes[i].weights,
                      .samples = samples,
                      .count = IMAGES,
                      .logits = logits[i],
                      .error = &error};
    }
    cr_assert_eq(self->api->evaluate(self->runtime, 0, calls, GROUP, &error), HOX_OK, "%s",
                 error.message);
    for (size_t i = 0; i < GROUP; i++) {
        cr_expect_eq(jobs[i].status, HOX_OK, "%s", error.message);
        if (i > 0) self->api->release(jobs[i].runner);
    }
    self->api->release(least);
    memset(logits[0], 0xFF, sizeof logits[0]);
    cr_expect_eq(self->api->evaluate(self->runtime, 0, calls, 1, &error), HOX_OK, "%s",
                 error.message);
    self->api->release(jobs[0].runner);
    self->api->samples_destroy(samples);
}

// All maps lie in scratch, and one genome's where another's were. The call is made in parts, by a
// lane that has grown with its runners.
Test(cuda_fused, has_room_for_each_runner_of_a_lane) {
    static genome genomes[GROUP];
    float logits[GROUP][IMAGES], alone[IMAGES];
    opened base, fused;
    setenv("HOX_FAKE_CUDA_SHARED", shared_bytes[0], 1);
    open_runtime(&base, gpu_row("runtime_fused"));
    setenv("HOX_FAKE_CUDA_SHARED", "1024", 1);
    open_runtime(&fused, gpu_row("runtime_fused"));
    for (size_t i = 0; i < GROUP; i++)
        make_genome(&genomes[i], i);
    const size_t floats = IMAGES * image_size(&genomes[0].made.plan);
    float *images = malloc(floats * sizeof *images);
    cr_assert(images);
    random_images(5, floats, images);
    run_together(&fused, genomes, images, logits);
    for (size_t i = 0; i < GROUP; i++) {
        run_plan(&base, &genomes[i].made.plan, &genomes[i].weights, images, alone);
        cr_expect_arr_eq(logits[i], alone, sizeof alone, "genome %zu: %.9g, alone %.9g", i,
                         (double)logits[i][0], (double)alone[0]);
        free(genomes[i].values);
    }
    free(images);
    close_runtime(&base);
    close_runtime(&fused);
}

// ---- estimates ----

enum { GRANULE = 512 }; // bytes, of the device's memory

static uint64_t pool_bytes(const opened *self) {
    hox_memory memory = {.struct_size = sizeof memory};
    cr_assert_eq(self->api->memory(self->runtime, &memory, NULL), HOX_OK);
    return memory.in_use_bytes;
}

static void check_estimate(const opened *self, uint64_t seed, uint32_t images) {
    random_plan made;
    hox_estimate estimate = {.struct_size = sizeof estimate};
    random_plan_make(&made, seed);
    self->api->trim(self->runtime, UINT64_MAX); // no block that is kept and larger
    const uint64_t before = pool_bytes(self);
    hox_runner *runner = make_runner(self, &made.plan, HOX_PURPOSE_INFER, images);
    cr_expect_eq(
        self->api->estimate(self->runtime, &made.plan, HOX_PRECISION_FP32, &estimate, NULL),
        HOX_OK);
    cr_expect_leq(pool_bytes(self) - before,
                  estimate.fixed_bytes + images * estimate.bytes_per_sample + GRANULE,
                  "plan %zu, %u images", (size_t)seed, images);
    self->api->release(runner);
    cr_expect_eq(pool_bytes(self), before);
}

EACH_ROW(cuda_fused, takes_no_more_than_it_estimates, DEVICES) {
    static const uint32_t images[] = {1, 100, 20000};
    opened self;
    setenv("HOX_FAKE_CUDA_SHARED", shared_bytes[*row], 1);
    open_runtime(&self, gpu_row("runtime_fused"));
    for (uint64_t seed = 0; seed < PLANS; seed++)
        check_estimate(&self, seed, images[seed % (sizeof images / sizeof *images)]);
    close_runtime(&self);
}
