// test_topologies.c - every runtime on graphs as evolution makes them, with dead and disabled
// parts: the samples evolved elsewhere, and genomes mutated here.
#include "genome/mutate.h"
#include "io/genome_json.h"
#include "plan/value_hash.h"
#include "random_plan.h"
#include "reference.h"
#include "runtime_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const sample_names[] = {"evolved_01", "evolved_03", "evolved_05", "evolved_06",
                                           "evolved_08", "evolved_11", "evolved_13"};

enum {
    TOPOLOGIES = sizeof sample_names / sizeof *sample_names,
    CHAINS = 6,      // of mutations
    STEPS = 240,     // in a chain
    STEP_TESTED = 12 // every so many
};

// ---- a genome through a runtime ----

static void run(const opened *self, const plan *p, const plan_weights *weights,
                const hox_samples *samples, uint64_t count, float *logits) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(self->api->check_plan(self->runtime, &p->view, HOX_PRECISION_FP32, &error), HOX_OK,
                 "%s", error.message);
    hox_job job = {.struct_size = sizeof job,
                   .runner = make_runner(self, &p->view, HOX_PURPOSE_INFER, count),
                   .weights = &weights->view,
                   .samples = samples,
                   .count = count,
                   .logits = logits,
                   .error = &error};
    hox_job *const jobs[] = {&job};
    cr_assert_eq(self->api->evaluate(self->runtime, 0, jobs, 1, &error), HOX_OK, "%s",
                 error.message);
    cr_assert_eq(job.status, HOX_OK, "%s", error.message);
    self->api->release(job.runner);
}

static void check_logits(const plan *p, const plan_weights *weights, const float *images,
                         uint64_t count, const float *logits, double relative, const char *what) {
    const size_t size =
        (size_t)p->view.node_channels[0] * p->view.node_height[0] * p->view.node_width[0];
    for (uint64_t i = 0; i < count; i++) {
        const reference_result right =
            reference_evaluate(&p->view, weights->view.values, images + i * size);
        const double allowed = reference_tolerance(&right, relative);
        cr_expect(fabs((double)logits[i] - right.logit) <= allowed,
                  "%s, image %zu: %.9g, reference %.9g, allowed %g", what, (size_t)i,
                  (double)logits[i], right.logit, allowed);
        if (fabs(right.logit) > allowed)
            cr_expect_eq(logits[i] >= 0, right.logit >= 0, "%s, image %zu: decision", what,
                         (size_t)i);
    }
}

// The same genome without what does not run.
static genome *strip(const genome *g, const plan *p) {
    genome *stripped = genome_copy(g, NULL);
    for (size_t i = g->edge_count; i-- > 0;) {
        bool is_executed = false;
        for (uint32_t e = 0; e < p->view.edge_count; e++)
            is_executed |= p->edge_index[e] == i;
        if (!is_executed) genome_remove_edge(stripped, i);
    }
    genome_remove_lonely_nodes(stripped);
    cr_assert_eq(stripped->node_count, p->view.node_count);
    return stripped;
}

// Against the reference, and to the bit without its dead parts. Returns how many edges those are.
static size_t check_genome(const opened *self, const genome *g, const float *images, uint64_t count,
                           double relative, const char *what) {
    plan p, bare;
    plan_weights weights, bare_weights;
    float *logits = calloc(count, sizeof *logits);
    float *bare_logits = calloc(count, sizeof *bare_logits);
    cr_assert_eq(plan_init(&p, g, NULL), HOX_OK);
    cr_assert(p.has_path, "%s", what);
    cr_assert_eq(plan_weights_init(&weights, &p, g, NULL), HOX_OK);
    hox_samples *samples = make_samples(self, &p.view, images, count);
    run(self, &p, &weights, samples, count, logits);
    check_logits(&p, &weights, images, count, logits, relative, what);

    genome *stripped = strip(g, &p);
    cr_assert_eq(plan_init(&bare, stripped, NULL), HOX_OK);
    cr_assert_eq(plan_weights_init(&bare_weights, &bare, stripped, NULL), HOX_OK);
    run(self, &bare, &bare_weights, samples, count, bare_logits);
    self->api->samples_destroy(samples);
    cr_expect_arr_eq(logits, bare_logits, count * sizeof *logits, "%s: dead parts tell", what);
    cr_expect_arr_eq(p.view.structure_hash, bare.view.structure_hash,
                     sizeof bare.view.structure_hash, "%s", what);
    const size_t dead = g->edge_count - p.view.edge_count;
    plan_weights_deinit(&weights);
    plan_weights_deinit(&bare_weights);
    plan_deinit(&p);
    plan_deinit(&bare);
    genome_destroy(stripped);
    free(logits);
    free(bare_logits);
    return dead;
}

// ---- the samples ----

// Sanitizers make the reference too slow for all of them.
#ifdef __SANITIZE_ADDRESS__
enum { SAMPLE_IMAGES = 8, FEW_IMAGES = 3 };
#else
enum { SAMPLE_IMAGES = 64, FEW_IMAGES = 20 }; // of 16 at a time a part
#endif
enum { SAMPLE_SIZE = 3 * 32 * 32 };

// The first test images of CIFAR-10, roughly normalised; noise where they are absent.
static float *sample_images(void) {
    float *images = malloc(SAMPLE_IMAGES * SAMPLE_SIZE * sizeof *images);
    random_images(1, SAMPLE_IMAGES * SAMPLE_SIZE, images);
    FILE *file = fopen(HOX_SHARED_DIR "/data/cifar10_test_1000.bin", "rb");
    if (!file) return images;
    for (size_t i = 0; i < SAMPLE_IMAGES; i++) {
        unsigned char record[1 + SAMPLE_SIZE];
        cr_assert_eq(fread(record, sizeof record, 1, file), 1);
        for (size_t k = 0; k < SAMPLE_SIZE; k++)
            images[i * SAMPLE_SIZE + k] = ((float)record[1 + k] / 255 - 0.47F) / 0.25F;
    }
    fclose(file);
    return images;
}

static void need_samples(void) {
    if (access(HOX_SHARED_DIR "/genomes", R_OK) == 0) return;
    fputs("skipped: no sample topologies in " HOX_SHARED_DIR "/genomes\n", stderr);
    cr_skip_test("no samples");
}

static genome *load_sample(const char *name) {
    char path[4096];
    hox_error error = HOX_ERROR_INIT;
    genome *g;
    need_samples();
    snprintf(path, sizeof path, HOX_SHARED_DIR "/genomes/%s.json", name);
    cr_assert_eq(genome_json_load(path, 7, 32, NULL, &g, &error), HOX_OK, "%s", error.message);
    return g;
}

EACH_ROW(topologies, evolved_elsewhere_agree, RUNTIMES *TOPOLOGIES) {
    const size_t runtime = *row / TOPOLOGIES;
    const char *name = sample_names[*row % TOPOLOGIES];
    genome *g = load_sample(name);
    float *images = sample_images();
    opened self;
    const uint64_t count = runtime == 0 ? SAMPLE_IMAGES : FEW_IMAGES;
    open_runtime(&self, runtime);
    check_genome(&self, g, images, count, runtimes[runtime].tolerance, name);
    close_runtime(&self);
    free(images);
    genome_destroy(g);
}

// Fused shares targets of few values among threads, as these all have, so it gives bits of its own.
static const char *const with_orders[] = {"runtime_eager", "runtime_fused"};
enum { WITH_ORDERS = sizeof with_orders / sizeof *with_orders, ORDERS = 3, MANY_IMAGES = 35 };

// Threads of a GPU run in no order: one that reads what another has not written yet tells.
static void run_in_each_order(const char *file, const plan *p, const plan_weights *weights,
                              const float *images, float logits[ORDERS][MANY_IMAGES]) {
    opened self;
    open_runtime(&self, gpu_row(file));
    for (int order = 0; order < ORDERS; order++) {
        choose_thread_order(order);
        hox_samples *samples = make_samples(&self, &p->view, images, MANY_IMAGES);
        run(&self, p, weights, samples, MANY_IMAGES, logits[order]);
        self.api->samples_destroy(samples);
    }
    close_runtime(&self);
}

EACH_ROW(topologies, no_order_of_threads_tells, TOPOLOGIES *WITH_ORDERS) {
    const char *name = sample_names[*row % TOPOLOGIES], *file = with_orders[*row / TOPOLOGIES];
    genome *g = load_sample(name);
    plan p;
    plan_weights weights;
    float logits[ORDERS][MANY_IMAGES];
    cr_assert_eq(plan_init(&p, g, NULL), HOX_OK);
    cr_assert_eq(plan_weights_init(&weights, &p, g, NULL), HOX_OK);
    float *images = malloc(MANY_IMAGES * SAMPLE_SIZE * sizeof *images);
    random_images(3, MANY_IMAGES * SAMPLE_SIZE, images);
    run_in_each_order(file, &p, &weights, images, logits);
    for (int order = 1; order < ORDERS; order++)
        cr_expect_arr_eq(logits[order], logits[0], sizeof logits[0], "%s, order %d: %.9g, not %.9g",
                         file, order, (double)logits[order][0], (double)logits[0][0]);
    check_logits(&p, &weights, images, FEW_IMAGES, logits[0], runtimes[gpu_row(file)].tolerance,
                 name);
    free(images);
    plan_weights_deinit(&weights);
    plan_deinit(&p);
    genome_destroy(g);
}

// The same kernels, recorded and replayed, the last chunk shorter.
EACH_ROW(topologies, a_replay_gives_the_bits_of_launches, TOPOLOGIES) {
    enum { IMAGES = 37 };
    genome *g = load_sample(sample_names[*row]);
    plan p;
    plan_weights weights;
    float logits[2][IMAGES];
    cr_assert_eq(plan_init(&p, g, NULL), HOX_OK);
    cr_assert_eq(plan_weights_init(&weights, &p, g, NULL), HOX_OK);
    float *images = malloc(IMAGES * SAMPLE_SIZE * sizeof *images);
    random_images(3, IMAGES * SAMPLE_SIZE, images);
    for (size_t i = 0; i < 2; i++) {
        opened self;
        open_runtime(&self, gpu_row(i == 0 ? "runtime_graph" : "runtime_eager"));
        hox_samples *samples = make_samples(&self, &p.view, images, IMAGES);
        run(&self, &p, &weights, samples, IMAGES, logits[i]);
        self.api->samples_destroy(samples);
        close_runtime(&self);
    }
    cr_expect_arr_eq(logits[0], logits[1], sizeof logits[0]);
    free(images);
    plan_weights_deinit(&weights);
    plan_deinit(&p);
    genome_destroy(g);
}

// ---- genomes of our own ----

enum { OWN_IMAGES = 4 };
static const map_size own_size = {3, 13, 12};

static const mutation_config rates = {.weights = 1,
                                      .weights_edge = 0.3,
                                      .weights_step = 0.1,
                                      .weights_replace = 0.3,
                                      .add_edge = 0.2,
                                      .add_node = 0.2,
                                      .remove_edge = 0.08,
                                      .remove_node = 0.06,
                                      .toggle_edge = 0.16,
                                      .resize_node = 0.1,
                                      .channels = 0.1,
                                      .activation = 0.1,
                                      .add_edge_scale = 1,
                                      .split_keeps_edge = 1,
                                      .tries = 20};

static genome *start_genome(const genome_config *limits, innovation_table *innovations) {
    const map_size output = {3, 2, 1};
    genome *g = genome_create(HOX_READOUT_SUM, NULL);
    genome_edge edge = {.from = GENOME_INPUT,
                        .to = GENOME_OUTPUT,
                        .geometry = geometry_between(own_size, output, limits),
                        .is_enabled = true};
    rng random = rng_stream(1, 0, 0, RNG_PURPOSE_START);
    edge.kernel = kernel_draw(own_size, output, edge.geometry, 1, &random, NULL);
    cr_assert_eq(genome_add_node(g, (genome_node){GENOME_INPUT, 0, own_size}, NULL), HOX_OK);
    cr_assert_eq(genome_add_node(g, (genome_node){GENOME_OUTPUT, 0, output}, NULL), HOX_OK);
    cr_assert_eq(innovation_of_edge(innovations, edge.from, edge.to, &edge.innovation, NULL),
                 HOX_OK);
    cr_assert_eq(genome_add_edge(g, edge, NULL), HOX_OK);
    return g;
}

// What the mutated genomes had, so that the test knows it met it.
typedef struct seen {
    uint64_t strides, paddings, channels, activations;
    size_t dead_edges, changes;
} seen;

static void look_at(const genome *g, seen *s) {
    for (size_t i = 0; i < g->edge_count; i++) {
        s->strides |= 1U << g->edges[i].geometry.rows.stride;
        s->paddings |= 1U << g->edges[i].geometry.columns.padding;
    }
    for (size_t i = 0; i < g->node_count; i++) {
        s->channels |= 1U << g->nodes[i].size.channels;
        s->activations |= 1U << g->nodes[i].activation;
    }
}

static void run_chain(const opened *self, uint64_t chain, const float *images, double relative,
                      uint32_t step_tested, seen *s) {
    const genome_config limits = {.max_nodes = 16,
                                  .max_edges = 40,
                                  .max_kernel = 32,
                                  .allowed_channels = {.count = 3, .values = {3, 8, 16}},
                                  .hidden_activation = HOX_ACTIVATION_RELU,
                                  .same3 = 1,
                                  .stride2 = 1};
    innovation_table *innovations = innovation_table_create(NULL);
    genome *g = start_genome(&limits, innovations);
    g->readout = (uint32_t)(chain % HOX_READOUT_COUNT);
    rng unused;
    const mutation_context context = {&rates, &limits, innovations, &unused};
    for (uint32_t step = 1; step <= STEPS; step++) {
        mutation_record record;
        char what[64];
        cr_assert_eq(mutate(&g, &context, rng_stream(chain, step, 0, RNG_PURPOSE_WEIGHTS),
                            rng_stream(chain, step, 0, RNG_PURPOSE_STRUCTURE), &record, NULL),
                     HOX_OK);
        if (record.has_new_structure) s->changes |= 1U << record.change;
        look_at(g, s);
        if (step % step_tested) continue;
        snprintf(what, sizeof what, "chain %zu, step %u", (size_t)chain, step);
        s->dead_edges += check_genome(self, g, images, OWN_IMAGES, relative, what);
    }
    genome_destroy(g);
    innovation_table_destroy(innovations);
}

EACH_ROW(topologies, mutated_here_agree, RUNTIMES) {
    float images[OWN_IMAGES * 3 * 13 * 12];
    random_images(2, sizeof images / sizeof *images, images);
    opened self;
    seen s = {0};
    open_runtime(&self, *row);
    for (uint64_t chain = 0; chain < CHAINS; chain++)
        run_chain(&self, chain, images, runtimes[*row].tolerance,
                  *row == 0 ? STEP_TESTED : 3 * STEP_TESTED, &s);
    close_runtime(&self);
    cr_expect_eq(s.strides, 1U << 1 | 1U << 2);
    cr_expect_geq(s.paddings, 1U << 2, "paddings up to 2 at least");
    cr_expect_eq(s.channels, 1U << 3 | 1U << 8 | 1U << 16);
    cr_expect_eq(s.activations, (1U << HOX_ACTIVATION_COUNT) - 1);
    cr_expect_eq(s.changes, (1U << MUTATION_COUNT) - 2, "every operator");
    cr_expect_gt(s.dead_edges, 15);
}
