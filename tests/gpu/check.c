// check.c - are the logits right, and the same to the bit however the images are cut into batches
// and spread over lanes.
#include "commands.h"
#include "gpu.h"
#include "io/genome_json.h"
#include "plan/value_hash.h"
#include "random_plan.h"
#include "reference.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 2 };
static const double relative = 1e-4; // of 1 + S

typedef struct checker {
    opened_device gpu, cpu;
    uint64_t image_count, judged_count; // for topologies
    uint64_t plan_count;                // random ones
} checker;

// One plan with two sets of weights over some images.
typedef struct subject {
    const char *name;
    const hox_plan *plan;
    hox_weights weights, others;
    const float *images;
    uint64_t count;
    uint64_t judged_count; // the first, for which the reference is asked
    hox_samples *samples;  // on the GPU
    float *logits;         // of the GPU, all images at once
    float *again;          // as many, for whatever is compared with them
    double worst;          // |difference| / (1 + S) from the reference
    bool is_wrong;
} subject;

static void blame(subject *s, const char *what) {
    printf("%s: WRONG: %s\n", s->name, what);
    s->is_wrong = true;
}

// ---- right ----

static void compare_one(subject *s, uint64_t image, double right, double allowed, const char *by) {
    char line[160];
    const double found = (double)s->logits[image];
    const bool is_near = fabs(found - right) <= allowed; // false for NaN
    const bool is_decided = fabs(right) <= allowed || (found >= 0) == (right >= 0);
    if (is_near && is_decided) return;
    snprintf(line, sizeof line, "image %llu: %.9g, by %s %.9g, allowed %.3g",
             (unsigned long long)image, found, by, right, allowed);
    blame(s, line);
}

// Returns the smallest difference that is allowed.
static double compare_with_reference(subject *s) {
    double least = INFINITY;
    for (uint64_t i = 0; i < s->judged_count; i++) {
        const reference_result right =
            reference_evaluate(s->plan, s->weights.values, s->images + i * image_values(s->plan));
        const double allowed = reference_tolerance(&right, relative);
        compare_one(s, i, right.logit, allowed, "reference");
        s->worst = fmax(s->worst, fabs((double)s->logits[i] - right.logit) / (1 + right.scale));
        least = fmin(least, allowed);
    }
    return least;
}

// S is that of the images the reference saw: the smallest, so nothing is forgiven.
static void compare_with_cpu(subject *s, const opened_device *cpu, double allowed) {
    hox_samples *samples = device_samples(cpu, s->plan, s->images, s->count);
    hox_runner *runner = device_runner(cpu, 0, s->plan, s->count);
    device_run(cpu, 0, runner, &s->weights, samples, s->count, s->count, s->again);
    cpu->api->release(runner);
    cpu->api->samples_destroy(samples);
    for (uint64_t i = 0; i < s->count; i++)
        compare_one(s, i, (double)s->again[i], allowed, "the CPU");
}

// ---- the same to the bit ----

static void compare_bits(subject *s, const float *found, const char *what) {
    if (memcmp(found, s->logits, s->count * sizeof *found) != 0) blame(s, what);
}

static void check_batches(subject *s, const opened_device *gpu) {
    static const uint64_t sizes[] = {1, 7, 32, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hox_runner *runner = device_runner(gpu, 0, s->plan, sizes[i]);
        device_run(gpu, 0, runner, &s->weights, s->samples, s->count, sizes[i], s->again);
        compare_bits(s, s->again, "other logits in smaller batches");
        gpu->api->release(runner);
    }
}

typedef struct lane_work {
    const opened_device *gpu;
    const subject *subject;
    uint32_t lane;
    hox_runner *runner;
    float *logits;
} lane_work;

static void *run_lane(void *context) {
    enum { ROUNDS = 3 };
    const lane_work *w = context;
    const subject *s = w->subject;
    for (uint64_t round = 0; round < ROUNDS; round++)
        device_run(w->gpu, w->lane, w->runner, &s->weights, s->samples, s->count, 32 + 9 * w->lane,
                   w->logits);
    return NULL;
}

static void check_lanes(subject *s, const opened_device *gpu) {
    lane_work lanes[LANES];
    pthread_t threads[LANES];
    for (uint32_t i = 0; i < LANES; i++)
        lanes[i] = (lane_work){gpu, s, i, device_runner(gpu, i, s->plan, 64),
                               must_allocate(s->count, sizeof(float))};
    for (int i = 0; i < LANES; i++)
        must_be(pthread_create(&threads[i], NULL, run_lane, &lanes[i]) == 0, "no thread");
    for (int i = 0; i < LANES; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < LANES; i++) {
        compare_bits(s, lanes[i].logits, "other logits with a lane beside it");
        gpu->api->release(lanes[i].runner);
        free(lanes[i].logits);
    }
}

// A runner that had other weights before is as good as a new one.
static void check_weights(subject *s, const opened_device *gpu) {
    hox_runner *used = device_runner(gpu, 0, s->plan, s->count);
    hox_runner *fresh = device_runner(gpu, 0, s->plan, s->count);
    float *others = must_allocate(s->count, sizeof *others);
    device_run(gpu, 0, used, &s->weights, s->samples, s->count, s->count, s->again);
    device_run(gpu, 0, used, &s->others, s->samples, s->count, s->count, s->again);
    device_run(gpu, 0, fresh, &s->others, s->samples, s->count, s->count, others);
    if (memcmp(s->again, others, s->count * sizeof *others) != 0)
        blame(s, "old weights show in new logits");
    device_run(gpu, 0, used, &s->weights, s->samples, s->count, s->count, s->again);
    compare_bits(s, s->again, "other logits when the weights come back");
    gpu->api->release(used);
    gpu->api->release(fresh);
    free(others);
}

static void check_subject(const checker *c, subject *s) {
    s->samples = device_samples(&c->gpu, s->plan, s->images, s->count);
    s->logits = must_allocate(s->count, sizeof *s->logits);
    s->again = must_allocate(s->count, sizeof *s->again);
    hox_runner *runner = device_runner(&c->gpu, 0, s->plan, s->count);
    device_run(&c->gpu, 0, runner, &s->weights, s->samples, s->count, s->count, s->logits);
    c->gpu.api->release(runner);
    compare_with_cpu(s, &c->cpu, compare_with_reference(s));
    check_batches(s, &c->gpu);
    check_lanes(s, &c->gpu);
    check_weights(s, &c->gpu);
    c->gpu.api->samples_destroy(s->samples);
    free(s->logits);
    free(s->again);
}

// ---- what is checked ----

static hox_weights weights_of(const hox_plan *p, const float *values, uint64_t version) {
    return (hox_weights){.struct_size = sizeof(hox_weights),
                         .values = values,
                         .count = p->weight_count,
                         .version = version};
}

static void check_plan(const checker *c, subject *s, const float *values) {
    float *others = must_allocate(s->plan->weight_count, sizeof *others);
    float *images = must_allocate(s->count * image_values(s->plan), sizeof *images);
    random_weights(s->plan, 99, others);
    random_images(5, s->count * image_values(s->plan), images);
    s->weights = weights_of(s->plan, values, 1);
    s->others = weights_of(s->plan, others, 2);
    s->images = images;
    check_subject(c, s);
    free(others);
    free(images);
}

static bool check_topology(const checker *c, const char *path) {
    hox_error error = HOX_ERROR_INIT;
    genome *g;
    plan p;
    plan_weights weights;
    must(genome_json_load(path, 7, LARGEST_KERNEL, NULL, &g, &error), &error);
    must(plan_init(&p, g, &error), &error);
    must(plan_weights_init(&weights, &p, g, &error), &error);
    subject s = {
        .name = path, .plan = &p.view, .count = c->image_count, .judged_count = c->judged_count};
    check_plan(c, &s, weights.view.values);
    if (!s.is_wrong)
        printf("%s: right on %llu images, at most %.1e (1 + S) from the reference\n", path,
               (unsigned long long)s.count, s.worst);
    plan_weights_deinit(&weights);
    plan_deinit(&p);
    genome_destroy(g);
    return !s.is_wrong;
}

static bool check_random_plans(const checker *c) {
    static random_plan made;
    uint64_t wrong = 0;
    double worst = 0;
    for (uint64_t seed = 0; seed < c->plan_count; seed++) {
        char name[40];
        snprintf(name, sizeof name, "random plan %llu", (unsigned long long)seed);
        random_plan_make(&made, seed);
        float *values = must_allocate(made.plan.weight_count, sizeof *values);
        random_weights(&made.plan, seed, values);
        subject s = {.name = name, .plan = &made.plan, .count = 37, .judged_count = 3};
        check_plan(c, &s, values);
        free(values);
        wrong += s.is_wrong;
        worst = fmax(worst, s.worst);
    }
    printf("%llu random plans: %llu wrong, at most %.1e (1 + S) from the reference\n",
           (unsigned long long)c->plan_count, (unsigned long long)wrong, worst);
    return wrong == 0;
}

int cmd_check(int count, char **words) {
    static checker c; // stays where it is
    const bool is_small = count > 0 && strcmp(words[0], "--small") == 0;
    if (!device_open_gpu(&c.gpu, LANES)) return EXIT_NO_GPU;
    device_open_cpu(&c.cpu);
    c.image_count = is_small ? 33 : 250;
    c.judged_count = is_small ? 2 : 16;
    c.plan_count = is_small ? 12 : 300;
    printf("%s, %s\n", c.gpu.info.name, c.gpu.info.instruction_set);
    bool is_right = true;
    for (int i = is_small; i < count; i++)
        is_right &= check_topology(&c, words[i]);
    is_right &= check_random_plans(&c);
    device_close(&c.gpu);
    device_close(&c.cpu);
    return is_right ? 0 : 1;
}
