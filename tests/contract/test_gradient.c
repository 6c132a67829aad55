// test_gradient.c - the gradients of runtimes that train, against central differences of the
// double-precision reference and against eager.
#include "gradient_fixture.h"

#include "genome/genome.h"
#include "io/genome_json.h"
#include "plan/value_hash.h"
#include "reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const sample_names[] = {"evolved_01", "evolved_03", "evolved_05", "evolved_06",
                                           "evolved_08", "evolved_11", "evolved_13"};

enum {
    TOPOLOGIES = sizeof sample_names / sizeof *sample_names,
    BLOCKS = 6,                     // of random plans
    DIFFERENCE_PLANS = SOME_OF(10), // in a block, held against differences
    EAGER_PLANS = SOME_OF(20)       // in a block, held against eager
};

static size_t edge_end(const hox_plan *view, uint32_t edge) {
    return edge + 1 < view->edge_count ? view->edge_weight_offset[edge + 1] : view->weight_count;
}

static size_t edge_size(const hox_plan *view, uint32_t edge) {
    return edge_end(view, edge) - view->edge_weight_offset[edge];
}

// ---- the tool ----

// A change of one weight, however large, gives what other weights give.
Test(gradient, reference_nudges_as_it_evaluates) {
    for (uint64_t seed = 500; seed < 500 + SOME_OF(20); seed++) {
        random_plan made;
        problem p;
        test_random random = {seed};
        random_plan_make(&made, seed);
        problem_init(&p, &made.plan, NULL, seed, 1);
        reference_maps *maps = reference_maps_create(&made.plan, p.weights, p.images);
        for (uint32_t e = 0; e < made.plan.edge_count; e++) {
            const size_t weight = random_below(&random, (uint32_t)edge_size(&made.plan, e));
            float *value = &p.weights[made.plan.edge_weight_offset[e] + weight];
            const float before = *value, after = before + random_signed(&random);
            const double nudged = reference_nudge(maps, e, weight, (double)after - (double)before);
            *value = after;
            const reference_result right = reference_evaluate(&made.plan, p.weights, p.images);
            *value = before;
            cr_assert(fabs(nudged - right.logit) <= reference_tolerance(&right, 1e-12),
                      "seed %zu, edge %u: %.17g, evaluated %.17g", (size_t)seed, e, nudged,
                      right.logit);
        }
        reference_maps_destroy(maps);
        problem_deinit(&p);
    }
}

// ---- against differences ----

enum { EDGE_SAMPLES = SOME_OF(20), EDGE_BIASES = SOME_OF(3) };

// One weight of an edge: the loss's derivative, unless a kink lies within the step.
typedef struct difference {
    size_t weight; // of the edge
    double slope;
    bool is_smooth;
} difference;

// A problem with the reference's maps of its images.
typedef struct scene {
    const problem *problem;
    reference_maps *maps[MOST_IMAGES];
    double loss;
} scene;

static double nudged_loss(const scene *s, uint32_t edge, size_t weight, double by) {
    const problem *p = s->problem;
    double sum = 0;
    for (size_t i = 0; i < p->count; i++)
        sum += p->loss->value(reference_nudge(s->maps[i], edge, weight, by), p->targets[i]);
    return sum;
}

static difference measure(const scene *s, uint32_t edge, size_t weight) {
    static const double by = 1e-6;
    const double above = (nudged_loss(s, edge, weight, by) - s->loss) / by;
    const double below = (s->loss - nudged_loss(s, edge, weight, -by)) / by;
    const double bend = fabs(above - below), larger = fmax(fabs(above), fabs(below));
    return (difference){weight, (above + below) / 2, bend <= 1e-4 * larger + 1e-6};
}

// Weights spread over the edge at random, the last ones among its biases; all of a small edge.
static size_t measure_edge(const scene *s, uint32_t edge, test_random *random,
                           difference samples[EDGE_SAMPLES]) {
    const size_t size = edge_size(s->problem->plan, edge);
    if (size <= EDGE_SAMPLES) {
        for (size_t i = 0; i < size; i++)
            samples[i] = measure(s, edge, i);
        return size;
    }
    for (size_t i = 0; i < EDGE_SAMPLES; i++) {
        const uint32_t weight = i + EDGE_BIASES < EDGE_SAMPLES
                                    ? random_below(random, (uint32_t)size)
                                    : (uint32_t)(size - 1 - (EDGE_SAMPLES - 1 - i));
        samples[i] = measure(s, edge, weight);
    }
    return EDGE_SAMPLES;
}

typedef struct differences {
    size_t *counts; // per edge
    difference (*samples)[EDGE_SAMPLES];
    double largest; // slope
    size_t all, kinks;
} differences;

static differences measure_all(const problem *p, uint64_t seed) {
    scene s = {.problem = p};
    const hox_plan *view = p->plan;
    test_random random = {seed};
    differences made = {.counts = calloc(view->edge_count, sizeof *made.counts),
                        .samples = calloc(view->edge_count, sizeof *made.samples)};
    cr_assert(made.counts && made.samples);
    for (size_t i = 0; i < p->count; i++)
        s.maps[i] = reference_maps_create(view, p->weights, p->images + i * image_size(view));
    s.loss = nudged_loss(&s, 0, 0, 0);
    for (uint32_t e = 0; e < view->edge_count; e++) {
        made.counts[e] = measure_edge(&s, e, &random, made.samples[e]);
        for (size_t i = 0; i < made.counts[e]; i++) {
            const difference *d = &made.samples[e][i];
            made.all++;
            made.kinks += !d->is_smooth;
            if (d->is_smooth) made.largest = fmax(made.largest, fabs(d->slope));
        }
    }
    for (size_t i = 0; i < p->count; i++)
        reference_maps_destroy(s.maps[i]);
    return made;
}

static void free_differences(differences *d) {
    free(d->counts);
    free(d->samples);
}

// What is zero in exact numbers, as a bias under mean minus median, is so within fp32's rounding,
// and a difference within double's.
static void check_edge(const opened *self, const problem *p, const differences *right,
                       uint32_t edge, const float *gradient) {
    double error = 0, norm = 0;
    for (size_t i = 0; i < right->counts[edge]; i++) {
        const difference *d = &right->samples[edge][i];
        if (!d->is_smooth) continue;
        const double found = (double)gradient[p->plan->edge_weight_offset[edge] + d->weight];
        error += (found - d->slope) * (found - d->slope);
        norm += d->slope * d->slope;
    }
    cr_assert(sqrt(error) <= 1e-3 * sqrt(norm) + 1e-5 * right->largest + 1e-9,
              "%s, %s, edge %u: off by %g of %g, the largest is %g", self->name, p->name, edge,
              sqrt(error), sqrt(norm), right->largest);
}

// All images are one batch. Kinks are few, or the images are badly chosen.
static void check_against_differences(const trainers *all, const problem *p, uint64_t seed) {
    const batch b = whole_batch(p);
    differences right = measure_all(p, seed);
    for (size_t i = 0; i < all->count; i++) {
        float *gradient = gradient_of(&all->items[i], p, &b);
        for (uint32_t e = 0; e < p->plan->edge_count; e++)
            check_edge(&all->items[i], p, &right, e, gradient);
        free(gradient);
    }
    cr_expect_leq(right.kinks, 1 + right.all / 20, "%s: %zu of %zu differences meet a kink",
                  p->name, right.kinks, right.all);
    free_differences(&right);
}

EACH_ROW(gradient, of_each_activation_and_readout, HOX_ACTIVATION_COUNT) {
    enum { IMAGES = 20 }; // a block of 16 and a part of one
    trainers all;
    open_trainers(&all);
    for (uint32_t i = 0; i < HOX_READOUT_COUNT * 4; i++) {
        random_plan made;
        problem p;
        make_small_plan(&made, (uint32_t)*row, i / 4, 1 + i % 2);
        problem_init(&p, &made.plan, NULL, i, IMAGES);
        if (i & 2) p.loss = &entropy_loss;
        for (size_t k = 0; i & 2 && k < IMAGES; k++)
            p.targets[k] = (double)(k & 1);
        check_against_differences(&all, &p, i);
        problem_deinit(&p);
    }
    close_trainers(&all);
}

// One pixel through a kernel of 1: each curve's slope, to the ends.
EACH_ROW(gradient, follows_each_slope, HOX_ACTIVATION_COUNT) {
    enum { POINTS = 81 }; // -10 .. 10
    trainers all;
    random_plan made;
    float weights[] = {1, 0};
    open_trainers(&all);
    plan_begin(&made, HOX_READOUT_SUM);
    plan_add_node(&made, 1, 1, 1, HOX_ACTIVATION_IDENTITY);
    plan_add_node(&made, 1, 1, 1, (uint32_t)*row);
    plan_add_edge(&made, 0);
    for (int i = 0; i < POINTS; i++) {
        float image = (float)(i - POINTS / 2) / 4;
        const problem p = {.plan = &made.plan,
                           .loss = &weighted_loss,
                           .weights = weights,
                           .images = &image,
                           .targets = {1},
                           .count = 1};
        const batch b = whole_batch(&p);
        differences right = measure_all(&p, 0);
        for (size_t k = 0; k < all.count && image != 0; k++) { // kinks are the next test's
            float *gradient = gradient_of(&all.items[k], &p, &b);
            for (size_t w = 0; w < 2; w++)
                cr_expect_float_eq(gradient[w], right.samples[0][w].slope,
                                   1e-5 * (1 + fabs((double)image)), "%s, activation %zu at %g",
                                   all.items[k].name, *row, (double)image);
            free(gradient);
        }
        free_differences(&right);
    }
    close_trainers(&all);
}

// Of one image, a pixel of 3.
static float *gradient_at_3(const opened *self, const random_plan *made, float *weights) {
    float image = 3;
    const problem p = {.plan = &made->plan,
                       .loss = &weighted_loss,
                       .weights = weights,
                       .images = &image,
                       .targets = {1},
                       .count = 1};
    const batch b = whole_batch(&p);
    return gradient_of(self, &p, &b);
}

// At a kink the left side counts, and of equal pixels the first is the median.
EACH_ROW(gradient, takes_the_contract_s_side_of_a_kink, RUNTIMES) {
    static const struct {
        uint32_t activation;
        float slope;
    } rows[] = {{HOX_ACTIVATION_RELU, 0}, {HOX_ACTIVATION_LEAKY_RELU, 0.01F}};
    opened self;
    random_plan made;
    open_trainer(&self, *row);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float weights[] = {0, 0};
        plan_begin(&made, HOX_READOUT_SUM);
        plan_add_node(&made, 1, 1, 1, HOX_ACTIVATION_IDENTITY);
        plan_add_node(&made, 1, 1, 1, rows[i].activation);
        plan_add_edge(&made, 0);
        float *gradient = gradient_at_3(&self, &made, weights);
        cr_expect_float_eq(gradient[0], 3 * rows[i].slope, 1e-6);
        cr_expect_float_eq(gradient[1], rows[i].slope, 1e-6);
        free(gradient);
    }
    // Two pixels of bias alone, through kernels of their own: w0 x0 + b0 = w1 x0 + b1.
    static const float right[] = {-1.5F, 1.5F, -0.5F, 0.5F};
    float weights[] = {0.5F, 0.5F, 0.25F, 0.25F};
    plan_begin(&made, HOX_READOUT_MEAN_MINUS_MEDIAN);
    plan_add_node(&made, 1, 1, 1, HOX_ACTIVATION_IDENTITY);
    plan_add_node(&made, 2, 1, 1, HOX_ACTIVATION_IDENTITY);
    plan_add_edge(&made, 0);
    float *gradient = gradient_at_3(&self, &made, weights);
    for (size_t i = 0; i < 4; i++)
        cr_expect_float_eq(gradient[i], right[i], 1e-6, "%zu: %g", i, (double)gradient[i]);
    free(gradient);
    close_runtime(&self);
}

// ---- geometries ----

static const uint32_t kernels[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 32};
static const uint32_t channel_counts[] = {1, 2, 3, 5, 8, 16};
enum {
    KERNELS = sizeof kernels / sizeof *kernels,
    CHANNEL_COUNTS = sizeof channel_counts / sizeof *channel_counts,
    STRIDES = 3,
    PADDINGS = 4
};

// The last edge takes a kernel, stride and padding instead of the derived ones.
static void set_geometry(random_plan *made, const uint32_t taps[2], const uint32_t stride[2],
                         const uint32_t padding[2]) {
    const uint32_t edge = made->plan.edge_count - 1, target = made->plan.node_count - 1;
    const uint64_t channels = made->channels[target] * made->channels[made->source[edge]];
    made->plan.weight_count -= channels * made->kernel_h[edge] * made->kernel_w[edge];
    made->plan.weight_count += channels * taps[0] * taps[1];
    made->kernel_h[edge] = taps[0];
    made->kernel_w[edge] = taps[1];
    made->stride_h[edge] = stride[0];
    made->stride_w[edge] = stride[1];
    made->padding_h[edge] = padding[0];
    made->padding_w[edge] = padding[1];
}

// input -> a node of its size -> by the geometry -> output: its sources' derivatives are seen in
// the first edge's.
static void make_geometry_plan(random_plan *made, size_t i) {
    uint32_t taps[2], stride[2], padding[2], source[2], target[2];
    for (size_t axis = 0; axis < 2; axis++) {
        const size_t round = axis ? i / KERNELS / STRIDES : i / KERNELS;
        taps[axis] = kernels[(i + axis * 3) % KERNELS];
        stride[axis] = 1 + (uint32_t)(round % STRIDES);
        padding[axis] = (uint32_t)((round + axis * i) % PADDINGS);
        const uint32_t covered = taps[axis] + 2 * stride[axis] + (uint32_t)i % stride[axis];
        source[axis] = covered > 2 * padding[axis] + 1 ? covered - 2 * padding[axis] : 2;
        target[axis] = (source[axis] + 2 * padding[axis] - taps[axis]) / stride[axis] + 1;
    }
    const bool is_large = taps[0] * taps[1] > 64;
    const uint32_t inner = channel_counts[i % (is_large ? 3 : CHANNEL_COUNTS)];
    const uint32_t outer = channel_counts[(i / 2 + 3) % (is_large ? 2 : CHANNEL_COUNTS)];
    plan_begin(made, HOX_READOUT_SUM);
    plan_add_node(made, 2, source[0], source[1], HOX_ACTIVATION_IDENTITY);
    plan_add_node(made, inner, source[0], source[1], HOX_ACTIVATION_TANH);
    plan_add_edge(made, 0);
    plan_add_node(made, outer, target[0], target[1], HOX_ACTIVATION_SILU);
    plan_add_edge(made, 1);
    set_geometry(made, taps, stride, padding);
}

EACH_ROW(gradient, of_each_geometry, STRIDES) {
    trainers all;
    open_trainers(&all);
    for (size_t i = 0; i < SOME_OF((size_t)KERNELS * PADDINGS); i++) {
        const size_t kind = *row * KERNELS * PADDINGS + i;
        random_plan made;
        problem p;
        make_geometry_plan(&made, kind);
        problem_init(&p, &made.plan, NULL, kind, 3);
        check_against_differences(&all, &p, kind);
        problem_deinit(&p);
    }
    close_trainers(&all);
}

// ---- random plans ----

EACH_ROW(gradient, of_random_plans, BLOCKS) {
    trainers all;
    open_trainers(&all);
    for (uint64_t i = 0; i < DIFFERENCE_PLANS; i++) {
        const uint64_t seed = *row * DIFFERENCE_PLANS + i;
        random_plan made;
        problem p;
        random_plan_make(&made, seed);
        problem_init(&p, &made.plan, NULL, seed, 3);
        check_against_differences(&all, &p, seed);
        problem_deinit(&p);
    }
    close_trainers(&all);
}

// ---- against eager ----

static double norm_of(const float *values, size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += (double)values[i] * (double)values[i];
    return sqrt(sum);
}

static void check_as_eager(const opened *self, const problem *p, const float *right,
                           const float *found) {
    const hox_plan *view = p->plan;
    const double whole = norm_of(right, 0, view->weight_count);
    for (uint32_t e = 0; e < view->edge_count; e++) {
        double error = 0;
        for (size_t i = view->edge_weight_offset[e]; i < edge_end(view, e); i++)
            error += ((double)found[i] - (double)right[i]) * ((double)found[i] - (double)right[i]);
        const double norm = norm_of(right, view->edge_weight_offset[e], edge_end(view, e));
        cr_assert(sqrt(error) <= 1e-4 * norm + 1e-5 * whole,
                  "%s %s, %s, edge %u: off by %g of %g, the whole is %g", self->name,
                  self->instruction_set, p->name, e, sqrt(error), norm, whole);
    }
}

// Targets of one sign: where images cancel, the difference tells of fp32 alone.
static void check_against_eager(const trainers *all, problem *p, const batch *b) {
    for (size_t i = 0; i < p->count; i++)
        p->targets[i] = 0.75 + 0.25 * p->targets[i];
    float *right = gradient_of(&all->items[0], p, b);
    for (size_t i = 1; i < all->count; i++) {
        float *found = gradient_of(&all->items[i], p, b);
        check_as_eager(&all->items[i], p, right, found);
        free(found);
    }
    free(right);
}

EACH_ROW(gradient, is_eager_s_for_random_plans, BLOCKS) {
    trainers all;
    open_trainers(&all);
    for (uint64_t i = 0; i < EAGER_PLANS && all.count > 1; i++) {
        const uint64_t seed = 1000 + *row * EAGER_PLANS + i;
        random_plan made;
        problem p;
        random_plan_make(&made, seed);
        problem_init(&p, &made.plan, NULL, seed, 10);
        const batch b = mixed_batch(&p, seed, 1 + seed % MOST_BATCH);
        check_against_eager(&all, &p, &b);
        problem_deinit(&p);
    }
    close_trainers(&all);
}

// ---- topologies evolved elsewhere ----

static void need_samples(void) {
    if (access(HOX_SHARED_DIR "/genomes", R_OK) == 0) return;
    fputs("skipped: no sample topologies in " HOX_SHARED_DIR "/genomes\n", stderr);
    cr_skip_test("no samples");
}

EACH_ROW(gradient, of_topologies_evolved_elsewhere, TOPOLOGIES) {
    need_samples();
    const char *name = sample_names[*row];
    hox_error error = HOX_ERROR_INIT;
    char path[4096];
    snprintf(path, sizeof path, HOX_SHARED_DIR "/genomes/%s.json", name);
    genome *g;
    plan made;
    plan_weights weights;
    problem p;
    trainers all;
    cr_assert_eq(genome_json_load(path, 7, 32, NULL, &g, &error), HOX_OK, "%s", error.message);
    cr_assert_eq(plan_init(&made, g, NULL), HOX_OK);
    cr_assert_eq(plan_weights_init(&weights, &made, g, NULL), HOX_OK);
    open_trainers(&all);
    problem_init(&p, &made.view, weights.view.values, *row, 2);
    snprintf(p.name, sizeof p.name, "%s", name);
    check_against_differences(&all, &p, *row);
    problem_deinit(&p);

    problem_init(&p, &made.view, weights.view.values, 100 + *row, 20);
    const batch b = mixed_batch(&p, *row, MOST_BATCH - 3);
    check_against_eager(&all, &p, &b);
    problem_deinit(&p);
    close_trainers(&all);
    plan_weights_deinit(&weights);
    plan_deinit(&made);
    genome_destroy(g);
}
