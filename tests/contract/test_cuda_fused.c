// test_cuda_fused.c - fused on a GPU gives the bits of eager there, however little shared memory
// the device has and in whatever order its threads run.
#include "random_plan.h"
#include "runtime_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { IMAGES = 9, PLANS = 120, ORDERS = 3 };

// Bytes that a block may have: the H200's, what leaves 7.5 KiB for each of two, nothing at all.
static const char *const shared_bytes[] = {"232448", "16384", "1024"};
enum { DEVICES = sizeof shared_bytes / sizeof *shared_bytes };

static size_t find_row(const char *file) {
    size_t row = 0;
    while (strcmp(runtimes[row].file, file) != 0 || runtimes[row].device == 0)
        row++;
    return row;
}

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

static void compare_plan(const opened *eager, const opened *fused, uint64_t seed) {
    random_plan made;
    uint64_t hashes[2 * RANDOM_PLAN_NODES];
    float logits[2][IMAGES];
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
    run_plan(eager, &made.plan, &weights, images, logits[0]);
    run_plan(fused, &made.plan, &weights, images, logits[1]);
    cr_expect_arr_eq(logits[1], logits[0], sizeof logits[0], "plan %zu: %.9g, eager %.9g",
                     (size_t)seed, (double)logits[1][0], (double)logits[0][0]);
    free(values);
    free(images);
}

EACH_ROW(cuda_fused, gives_the_bits_of_eager, DEVICES *ORDERS) {
    opened eager, fused;
    setenv("HOX_FAKE_CUDA_SHARED", shared_bytes[*row / ORDERS], 1);
    open_runtime(&eager, find_row("runtime_eager"));
    open_runtime(&fused, find_row("runtime_fused"));
    choose_thread_order((int)(*row % ORDERS));
    for (uint64_t seed = *row; seed < PLANS; seed += DEVICES * ORDERS)
        compare_plan(&eager, &fused, seed);
    close_runtime(&eager);
    close_runtime(&fused);
}
