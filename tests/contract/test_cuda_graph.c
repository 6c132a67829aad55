// test_cuda_graph.c - recordings of kernels (CUDA graphs), on the fake driver: what fails in one,
// what stays of it, and what a replay reads; and what evaluations on a GPU leave when they fail.
#include "fake_cuda.h"
#include "random_plan.h"
#include "runtime_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { IMAGES = 9, CAPACITY = 5 };
enum { NOT_SUPPORTED = 801, INVALIDATED = 901 };

// A sanitizer makes the fake driver slow.
#ifdef __SANITIZE_ADDRESS__
enum { GENOMES = 15, RECORDINGS = 100 };
#else
enum { GENOMES = 100, RECORDINGS = 1000 };
#endif

typedef struct bench {
    opened self;
    random_plan made;
    float *images, *values;
    hox_weights weights;
    hox_samples *samples;
} bench;

static void set_up(bench *b, const char *runtime, uint64_t seed) {
    open_runtime(&b->self, gpu_row(runtime));
    random_plan_make(&b->made, seed);
    const hox_plan *plan = &b->made.plan;
    b->images = malloc(IMAGES * image_size(plan) * sizeof *b->images);
    b->values = malloc(plan->weight_count * sizeof *b->values);
    random_images(seed, IMAGES * image_size(plan), b->images);
    random_weights(plan, seed, b->values);
    b->weights = (hox_weights){.struct_size = sizeof b->weights,
                               .values = b->values,
                               .count = plan->weight_count,
                               .version = seed + 1};
    b->samples = make_samples(&b->self, plan, b->images, IMAGES);
}

static void tear_down(bench *b) {
    b->self.api->samples_destroy(b->samples);
    free(b->images);
    free(b->values);
    close_runtime(&b->self);
    const fake_cuda_counts left = fake_cuda_count();
    cr_expect_eq(left.graphs + left.device_blocks + left.streams + left.contexts, 0);
}

// All images in chunks, the last one shorter.
static void evaluate(const bench *b, hox_runner *runner, float logits[IMAGES]) {
    for (uint64_t first = 0; first < IMAGES; first += CAPACITY) {
        hox_error error = HOX_ERROR_INIT;
        hox_job job = {.struct_size = sizeof job,
                       .runner = runner,
                       .weights = &b->weights,
                       .samples = b->samples,
                       .first = first,
                       .count = IMAGES - first < CAPACITY ? IMAGES - first : CAPACITY,
                       .logits = logits + first,
                       .error = &error};
        cr_assert_eq(b->self.api->evaluate(b->self.runtime, 0, (hox_job *[]){&job}, 1, &error),
                     HOX_OK, "%s", error.message);
        cr_assert_eq(job.status, HOX_OK, "%s", error.message);
    }
}

static void launch_by_eager(uint64_t seed, float logits[IMAGES]) {
    bench b;
    set_up(&b, "runtime_eager", seed);
    hox_runner *runner = make_runner(&b.self, &b.made.plan, HOX_PURPOSE_INFER, CAPACITY);
    evaluate(&b, runner, logits);
    b.self.api->release(runner);
    tear_down(&b);
}

// With these weights in place of those, and back.
Test(cuda_graph, replays_with_the_weights_there_are) {
    float first[IMAGES], other[IMAGES], again[IMAGES], launched[IMAGES];
    bench b;
    set_up(&b, "runtime_graph", 3);
    hox_runner *runner = make_runner(&b.self, &b.made.plan, HOX_PURPOSE_INFER, CAPACITY);
    cr_expect_eq(fake_cuda_count().graphs, 1);
    evaluate(&b, runner, first);
    random_weights(&b.made.plan, 99, b.values);
    b.weights.version++;
    evaluate(&b, runner, other);
    random_weights(&b.made.plan, 3, b.values);
    b.weights.version++;
    evaluate(&b, runner, again);
    cr_expect_eq(fake_cuda_count().graphs, 1);
    b.self.api->release(runner);
    cr_expect_eq(fake_cuda_count().graphs, 0);
    tear_down(&b);
    launch_by_eager(3, launched);
    cr_expect_arr_eq(first, launched, sizeof first);
    cr_expect_arr_eq(again, first, sizeof first);
    cr_expect(memcmp(other, first, sizeof first) != 0);
}

Test(cuda_graph, recordings_leave_nothing) {
    bench b;
    set_up(&b, "runtime_graph", 4);
    fake_cuda_counts before = {0};
    for (int i = 0; i < RECORDINGS; i++) {
        b.self.api->release(make_runner(&b.self, &b.made.plan, HOX_PURPOSE_INFER, CAPACITY));
        if (i == 0) before = fake_cuda_count();
    }
    const fake_cuda_counts after = fake_cuda_count();
    cr_expect_eq(after.graphs, 0);
    cr_expect_eq(after.device_bytes, before.device_bytes);
    cr_expect_eq(after.device_blocks, before.device_blocks);
    tear_down(&b);
}

// Call `number` of preparing fails. True: the runner was made all the same, and is right.
static bool fail_call(const bench *b, uint64_t number, int code, const float *launched) {
    float logits[IMAGES];
    hox_runner *runner = NULL;
    hox_error error = HOX_ERROR_INIT;
    const fake_cuda_counts before = fake_cuda_count();
    fake_cuda_fail_call(number, code);
    const hox_status status =
        prepare(&b->self, &b->made.plan, HOX_PURPOSE_INFER, CAPACITY, &runner, &error);
    fake_cuda_fail_call(0, 0);
    if (status == HOX_OK) {
        evaluate(b, runner, logits);
        cr_expect_arr_eq(logits, launched, sizeof logits, "call %d gives %d", (int)number, code);
        b->self.api->release(runner);
    } else {
        cr_expect_eq(error.native_code, code, "%s", error.message);
    }
    b->self.api->trim(b->self.runtime, UINT64_MAX);
    const fake_cuda_counts after = fake_cuda_count();
    cr_expect_eq(after.graphs, 0, "call %d gives %d", (int)number, code);
    cr_expect_leq(after.device_bytes, before.device_bytes, "call %d gives %d", (int)number, code);
    return status == HOX_OK;
}

// Each call of a recording, over many genomes: kernels are launched then, and that is said once.
Test(cuda_graph, what_cannot_be_recorded_is_launched) {
    enum { STEP = 5, AROUND = 3 }; // calls beside a recording: enter, memory, leave
    static const int codes[] = {NOT_SUPPORTED, INVALIDATED};
    for (uint64_t seed = 0; seed < GENOMES; seed++) {
        float launched[IMAGES];
        launch_by_eager(seed, launched);
        bench b;
        set_up(&b, "runtime_graph", seed);
        b.self.api->trim(b.self.runtime, UINT64_MAX);
        const uint64_t before = fake_cuda_count().calls;
        b.self.api->release(make_runner(&b.self, &b.made.plan, HOX_PURPOSE_INFER, CAPACITY));
        const uint64_t calls = fake_cuda_count().calls - before;
        uint64_t made = 0;
        b.self.host.last_log[0] = '\0';
        for (uint64_t number = 1 + seed % STEP; number <= calls; number += STEP)
            made += fail_call(&b, number, codes[seed % 2], launched);
        cr_expect_geq(made + AROUND, calls / STEP, "seed %d", (int)seed);
        cr_expect(strstr(b.self.host.last_log, "kernels are launched one by one"), "%s",
                  b.self.host.last_log);
        tear_down(&b);
    }
}

// ---- evaluations that fail ----

static hox_status try_to_evaluate(const bench *b, hox_runner *runner) {
    float logits[CAPACITY];
    hox_job job = {.struct_size = sizeof job,
                   .runner = runner,
                   .weights = &b->weights,
                   .samples = b->samples,
                   .count = CAPACITY,
                   .logits = logits};
    const hox_status status =
        b->self.api->evaluate(b->self.runtime, 0, (hox_job *[]){&job}, 1, NULL);
    return status == HOX_OK ? job.status : status;
}

// Kernels that a failed call has left would run in the next one, over memory that others may have.
static void fail_each_call(const bench *b, hox_runner *runner) {
    cr_assert_eq(try_to_evaluate(b, runner), HOX_OK);
    const fake_cuda_counts first = fake_cuda_count();
    cr_assert_eq(try_to_evaluate(b, runner), HOX_OK);
    const fake_cuda_counts second = fake_cuda_count();
    const uint64_t launches = second.launches - first.launches;
    uint64_t failures = 0;
    for (uint64_t number = 1; number <= second.calls - first.calls; number++) {
        fake_cuda_fail_call(number, NOT_SUPPORTED);
        failures += try_to_evaluate(b, runner) != HOX_OK;
        fake_cuda_fail_call(0, 0);
        const uint64_t before = fake_cuda_count().launches;
        cr_expect_eq(try_to_evaluate(b, runner), HOX_OK);
        cr_expect_eq(fake_cuda_count().launches - before, launches, "%s, call %d", b->self.name,
                     (int)number);
    }
    cr_expect_geq(failures, 5);
}

Test(cuda_graph, nothing_is_under_way_when_an_evaluation_has_failed) {
    static const char *const files[] = {"runtime_eager", "runtime_graph", "runtime_fused"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        bench b;
        uint64_t hashes[2 * RANDOM_PLAN_NODES] = {0};
        for (uint64_t k = 0; k < 2 * RANDOM_PLAN_NODES; k++)
            hashes[k] = k;
        set_up(&b, files[i], 5);
        b.weights.node_value_hash = hashes;
        hox_runner *runner = make_runner(&b.self, &b.made.plan, HOX_PURPOSE_INFER, CAPACITY);
        fail_each_call(&b, runner);
        b.self.api->release(runner);
        tear_down(&b);
    }
}
