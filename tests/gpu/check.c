// check.c - are the logits of each runtime right, and the same to the bit by whichever runtime,
// however the images are cut into batches and spread over lanes, whichever genomes are evaluated
// beside them.
#include "commands.h"
#include "gpu.h"
#include "loaded.h"
#include "random_plan.h"
#include "reference.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 2, CHILDREN = 40 };
static const double relative = 1e-4; // of 1 + S

typedef struct checker {
    opened_device gpus[GPU_RUNTIMES], cpu;
    uint64_t image_count, judged_count; // for topologies
    uint64_t plan_count;                // random ones
    uint32_t child_count;               // of a topology
} checker;

// A genome that is evaluated beside others.
typedef struct member {
    const hox_plan *plan;
    const hox_weights *weights;
} member;

// One plan with two sets of weights over some images.
typedef struct subject {
    const char *name;
    const hox_plan *plan;
    const hox_weights *weights, *others;
    const member *family; // over the same images
    uint32_t family_count;
    float *images;
    uint64_t count;
    uint64_t judged_count;    // the first, for which the reference is asked
    reference_result *judged; // of them
    float *by_cpu;
    double allowed; // the least difference that is, of all judged
    // of the runtime that is looked at:
    const opened_device *gpu;
    hox_samples *samples;
    float *logits, *again; // all images at once; and whatever is compared with it
    float *by_eager;       // logits of the first runtime
    double worst;          // |difference| / (1 + S) from the reference, of all runtimes
    bool is_wrong;
} subject;

static void blame(subject *s, const char *what) {
    printf("%s: %s: WRONG: %s\n", s->name, s->gpu->name, what);
    s->is_wrong = true;
}

// ---- what is right ----

static void ask_reference(subject *s) {
    s->judged = must_allocate(s->judged_count, sizeof *s->judged);
    s->allowed = INFINITY;
    for (uint64_t i = 0; i < s->judged_count; i++) {
        s->judged[i] =
            reference_evaluate(s->plan, s->weights->values, s->images + i * image_values(s->plan));
        s->allowed = fmin(s->allowed, reference_tolerance(&s->judged[i], relative));
    }
}

static void run(const opened_device *d, uint32_t lane, hox_runner *runner,
                const hox_weights *weights, const hox_samples *samples, uint64_t count,
                uint64_t at_once, float *logits) {
    const device_genome one = {runner, *weights, logits};
    device_run(d, lane, &one, 1, samples, count, at_once);
}

static void ask_cpu(subject *s, const opened_device *cpu) {
    hox_samples *samples = device_samples(cpu, s->plan, s->images, s->count);
    hox_runner *runner = device_runner(cpu, 0, s->plan, s->count);
    s->by_cpu = must_allocate(s->count, sizeof *s->by_cpu);
    run(cpu, 0, runner, s->weights, samples, s->count, s->count, s->by_cpu);
    cpu->api->release(runner);
    cpu->api->samples_destroy(samples);
}

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

// For the CPU S is that of the images the reference saw: the smallest, so nothing is forgiven.
static void check_values(subject *s) {
    for (uint64_t i = 0; i < s->judged_count; i++) {
        const reference_result *right = &s->judged[i];
        compare_one(s, i, right->logit, reference_tolerance(right, relative), "reference");
        s->worst = fmax(s->worst, fabs((double)s->logits[i] - right->logit) / (1 + right->scale));
    }
    for (uint64_t i = 0; i < s->count; i++)
        compare_one(s, i, (double)s->by_cpu[i], s->allowed, "the CPU");
}

// ---- the same to the bit ----

static void compare_bits(subject *s, const float *found, const char *what) {
    if (memcmp(found, s->logits, s->count * sizeof *found) != 0) blame(s, what);
}

static void check_batches(subject *s) {
    static const uint64_t sizes[] = {1, 7, 32, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hox_runner *runner = device_runner(s->gpu, 0, s->plan, sizes[i]);
        run(s->gpu, 0, runner, s->weights, s->samples, s->count, sizes[i], s->again);
        compare_bits(s, s->again, "other logits in smaller batches");
        s->gpu->api->release(runner);
    }
}

typedef struct lane_work {
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
        run(s->gpu, w->lane, w->runner, s->weights, s->samples, s->count, 32 + 9 * w->lane,
            w->logits);
    return NULL;
}

static void check_lanes(subject *s) {
    lane_work lanes[LANES];
    pthread_t threads[LANES];
    for (uint32_t i = 0; i < LANES; i++)
        lanes[i] = (lane_work){s, i, device_runner(s->gpu, i, s->plan, 64),
                               must_allocate(s->count, sizeof(float))};
    for (int i = 0; i < LANES; i++)
        must_be(pthread_create(&threads[i], NULL, run_lane, &lanes[i]) == 0, "no thread");
    for (int i = 0; i < LANES; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < LANES; i++) {
        compare_bits(s, lanes[i].logits, "other logits with a lane beside it");
        s->gpu->api->release(lanes[i].runner);
        free(lanes[i].logits);
    }
}

// A runner that had other weights before is as good as a new one.
static void check_weights(subject *s) {
    const uint64_t n = s->count;
    hox_runner *used = device_runner(s->gpu, 0, s->plan, n);
    hox_runner *fresh = device_runner(s->gpu, 0, s->plan, n);
    float *others = must_allocate(n, sizeof *others);
    run(s->gpu, 0, used, s->weights, s->samples, n, n, s->again);
    run(s->gpu, 0, used, s->others, s->samples, n, n, s->again);
    run(s->gpu, 0, fresh, s->others, s->samples, n, n, others);
    if (memcmp(s->again, others, n * sizeof *others) != 0)
        blame(s, "old weights show in new logits");
    run(s->gpu, 0, used, s->weights, s->samples, n, n, s->again);
    compare_bits(s, s->again, "other logits when the weights come back");
    s->gpu->api->release(used);
    s->gpu->api->release(fresh);
    free(others);
}

// The family in groups, and each of it by itself.
static void check_family(subject *s) {
    const uint32_t count = s->gpu->caps.max_group > 1 ? s->family_count : 0;
    device_genome *genomes = must_allocate(count + 1, sizeof *genomes);
    float *logits = must_allocate(count * s->count + 1, sizeof *logits);
    for (uint32_t i = 0; i < count; i++)
        genomes[i] = (device_genome){device_runner(s->gpu, 0, s->family[i].plan, s->count),
                                     *s->family[i].weights, logits + i * s->count};
    device_run(s->gpu, 0, genomes, count, s->samples, s->count, s->count);
    for (uint32_t i = 0; i < count; i++) {
        run(s->gpu, 0, genomes[i].runner, s->family[i].weights, s->samples, s->count, s->count,
            s->again);
        if (memcmp(genomes[i].logits, s->again, s->count * sizeof *logits) != 0)
            blame(s, "other logits among relatives");
    }
    for (uint32_t i = 0; i < count; i++)
        s->gpu->api->release(genomes[i].runner);
    free(genomes);
    free(logits);
}

// Fused adds up some values by several threads (plugins/cuda/kernels.h).
static bool has_bits_of_eager(const opened_device *gpu) {
    return strcmp(gpu->name, "fused") != 0;
}

static void check_runtime(subject *s, const opened_device *gpu) {
    s->gpu = gpu;
    s->samples = device_samples(gpu, s->plan, s->images, s->count);
    hox_runner *runner = device_runner(gpu, 0, s->plan, s->count);
    run(gpu, 0, runner, s->weights, s->samples, s->count, s->count, s->logits);
    gpu->api->release(runner);
    check_values(s);
    if (gpu->name == gpu_runtimes[0]) memcpy(s->by_eager, s->logits, s->count * sizeof *s->logits);
    if (has_bits_of_eager(gpu)) compare_bits(s, s->by_eager, "other logits than eager's");
    check_batches(s);
    check_lanes(s);
    check_weights(s);
    check_family(s);
    gpu->api->samples_destroy(s->samples);
}

static void check_subject(const checker *c, subject *s) {
    const size_t values = s->count * image_values(s->plan);
    s->images = must_allocate(values, sizeof *s->images);
    s->logits = must_allocate(3 * s->count, sizeof *s->logits);
    s->again = s->logits + s->count;
    s->by_eager = s->again + s->count;
    random_images(5, values, s->images);
    ask_reference(s);
    ask_cpu(s, &c->cpu);
    for (int i = 0; i < GPU_RUNTIMES; i++)
        check_runtime(s, &c->gpus[i]);
    free(s->images);
    free(s->logits);
    free(s->judged);
    free(s->by_cpu);
}

// ---- topologies ----

// Node values of the children that an earlier one computes too; 0 .. 1.
static double find_shared(const loaded *children, uint32_t count) {
    enum { HASH_BYTES = 2 * sizeof(uint64_t) };
    uint64_t shared = 0, all = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t n = 1; n < children[i].plan.view.node_count; n++, all++) {
            const uint64_t *hash = children[i].weights.view.node_value_hash + (size_t)2 * n;
            bool is_known = false;
            for (uint32_t k = 0; k < i && !is_known; k++)
                for (uint32_t m = 1; m < children[k].plan.view.node_count && !is_known; m++)
                    is_known = memcmp(children[k].weights.view.node_value_hash + (size_t)2 * m,
                                      hash, HASH_BYTES) == 0;
            shared += is_known;
        }
    return (double)shared / (double)all;
}

static bool check_topology(const checker *c, const char *path) {
    static loaded children[CHILDREN];
    member family[CHILDREN];
    loaded parent, other;
    loaded_read(&parent, path, 7);
    loaded_read(&other, path, 99);
    for (uint32_t i = 0; i < c->child_count; i++) {
        loaded_breed(&children[i], &parent, i);
        family[i] = (member){&children[i].plan.view, &children[i].weights.view};
    }
    subject s = {.name = path,
                 .plan = &parent.plan.view,
                 .weights = &parent.weights.view,
                 .others = &other.weights.view,
                 .family = family,
                 .family_count = c->child_count,
                 .count = c->image_count,
                 .judged_count = c->judged_count};
    check_subject(c, &s);
    const double shared = find_shared(children, c->child_count);
    must_be(shared > 0, "the children share nothing, so nothing is shown");
    if (!s.is_wrong)
        printf("%s: right on %llu images, at most %.1e (1 + S) from the reference; %u children "
               "share %.0f %% of their nodes\n",
               path, (unsigned long long)s.count, s.worst, c->child_count, 100 * shared);
    for (uint32_t i = 0; i < c->child_count; i++)
        loaded_drop(&children[i]);
    loaded_drop(&other);
    loaded_drop(&parent);
    return !s.is_wrong;
}

// ---- random plans ----

typedef struct drawn_weights {
    hox_weights view;
    uint64_t edge_hashes[2 * RANDOM_PLAN_EDGES], node_hashes[2 * RANDOM_PLAN_NODES];
} drawn_weights;

// Hashes as of values that nobody else has, but for the image.
static void draw_weights(drawn_weights *w, const hox_plan *p, uint64_t seed) {
    test_random random = {seed};
    float *values = must_allocate(p->weight_count, sizeof *values);
    random_weights(p, seed, values);
    for (int i = 0; i < 2 * RANDOM_PLAN_EDGES; i++)
        w->edge_hashes[i] = random_next(&random);
    for (int i = 0; i < 2 * RANDOM_PLAN_NODES; i++)
        w->node_hashes[i] = i < 2 ? 1 : random_next(&random);
    w->view = (hox_weights){.struct_size = sizeof w->view,
                            .values = values,
                            .count = p->weight_count,
                            .version = seed + 1,
                            .edge_value_hash = w->edge_hashes,
                            .node_value_hash = w->node_hashes};
}

static bool check_random_plan(const checker *c, uint64_t seed, double *worst) {
    static random_plan made;
    char name[40];
    drawn_weights weights, others;
    snprintf(name, sizeof name, "random plan %llu", (unsigned long long)seed);
    random_plan_make(&made, seed);
    draw_weights(&weights, &made.plan, seed);
    draw_weights(&others, &made.plan, seed + 1000000);
    const member family[] = {
        {&made.plan, &weights.view}, {&made.plan, &others.view}, {&made.plan, &weights.view}};
    subject s = {.name = name,
                 .plan = &made.plan,
                 .weights = &weights.view,
                 .others = &others.view,
                 .family = family,
                 .family_count = sizeof family / sizeof *family,
                 .count = 37,
                 .judged_count = 3};
    check_subject(c, &s);
    free((void *)weights.view.values);
    free((void *)others.view.values);
    *worst = fmax(*worst, s.worst);
    return !s.is_wrong;
}

static bool check_random_plans(const checker *c) {
    uint64_t wrong = 0;
    double worst = 0;
    for (uint64_t seed = 0; seed < c->plan_count; seed++)
        wrong += !check_random_plan(c, seed, &worst);
    printf("%llu random plans: %llu wrong, at most %.1e (1 + S) from the reference\n",
           (unsigned long long)c->plan_count, (unsigned long long)wrong, worst);
    return wrong == 0;
}

// ---- all of them ----

int cmd_check(int count, char **words) {
    static checker c; // stays where it is
    const bool is_small = count > 0 && strcmp(words[0], "--small") == 0;
    for (int i = 0; i < GPU_RUNTIMES; i++)
        if (!device_open_gpu(&c.gpus[i], gpu_runtimes[i], LANES)) return EXIT_NO_GPU;
    device_open_cpu(&c.cpu);
    c.image_count = is_small ? 33 : 250;
    c.judged_count = is_small ? 2 : 16;
    c.plan_count = is_small ? 12 : 300;
    c.child_count = is_small ? 5 : CHILDREN;
    printf("%s, %s\n", c.gpus[0].info.name, c.gpus[0].info.instruction_set);
    bool is_right = true;
    for (int i = is_small; i < count; i++)
        is_right &= check_topology(&c, words[i]);
    is_right &= check_random_plans(&c);
    for (int i = 0; i < GPU_RUNTIMES; i++)
        device_close(&c.gpus[i]);
    device_close(&c.cpu);
    return is_right ? 0 : 1;
}
