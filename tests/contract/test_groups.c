// test_groups.c - genomes in groups: no logit depends on who else is evaluated, in what order, with
// which chunk, or on what the runner did before.
#include "genome/mutate.h"
#include "plan/value_hash.h"
#include "random_plan.h"
#include "reference.h"
#include "runtime_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GENOMES = 40, IMAGES = 37, MOST_GROUP = 64 };

#define EACH_RUNTIME(name) EACH_ROW(groups, name, RUNTIMES)

static void evaluate(const opened *self, hox_job *jobs, uint32_t count) {
    hox_error error = HOX_ERROR_INIT;
    hox_job *group[MOST_GROUP];
    cr_assert_leq(count, MOST_GROUP);
    for (uint32_t i = 0; i < count; i++) {
        jobs[i].error = &error;
        group[i] = &jobs[i];
    }
    cr_assert_eq(self->api->evaluate(self->runtime, 0, group, count, &error), HOX_OK, "%s",
                 error.message);
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(jobs[i].status, HOX_OK, "%s", error.message);
}

static hox_job make_job(hox_runner *runner, const hox_weights *weights, const hox_samples *samples,
                        uint64_t first, uint64_t count, float *logits) {
    return (hox_job){.struct_size = sizeof(hox_job),
                     .status = HOX_INTERNAL,
                     .runner = runner,
                     .weights = weights,
                     .samples = samples,
                     .first = first,
                     .count = count,
                     .logits = logits};
}

static void check_logits(const hox_plan *p, const float *weights, const float *images, size_t count,
                         const float *logits, double relative) {
    for (size_t i = 0; i < count; i++) {
        const reference_result right = reference_evaluate(p, weights, images + i * image_size(p));
        cr_assert(fabs((double)logits[i] - right.logit) <= reference_tolerance(&right, relative),
                  "image %zu: %.9g, reference %.9g", i, (double)logits[i], right.logit);
    }
}

// ---- a population that shares much ----

static const map_size image_map = {3, 13, 12};
enum { IMAGE_SIZE = 3 * 13 * 12 };

static const mutation_config weight_rates = {
    .weights = 1, .weights_edge = 0.05, .weights_step = 0.1, .weights_replace = 0.3, .tries = 20};
static const mutation_config structure_rates = {.add_edge = 0.3,
                                                .add_node = 0.3,
                                                .remove_edge = 0.05,
                                                .toggle_edge = 0.1,
                                                .resize_node = 0.1,
                                                .channels = 0.05,
                                                .activation = 0.1,
                                                .add_edge_scale = 1,
                                                .split_keeps_edge = 1,
                                                .tries = 20};
static const genome_config limits = {.max_nodes = 12,
                                     .max_edges = 24,
                                     .max_kernel = 32,
                                     .allowed_channels = {.count = 2, .values = {3, 8}},
                                     .hidden_activation = HOX_ACTIVATION_RELU,
                                     .same3 = 1,
                                     .stride2 = 1};

static genome *start_genome(innovation_table *innovations) {
    const map_size output = {3, 2, 1};
    genome *g = genome_create(HOX_READOUT_MEAN_MINUS_MEDIAN, NULL);
    genome_edge edge = {.from = GENOME_INPUT,
                        .to = GENOME_OUTPUT,
                        .geometry = geometry_between(image_map, output, &limits),
                        .is_enabled = true};
    rng random = rng_stream(1, 0, 0, RNG_PURPOSE_START);
    edge.kernel = kernel_draw(image_map, output, edge.geometry, 1, &random, NULL);
    cr_assert_eq(genome_add_node(g, (genome_node){GENOME_INPUT, 0, image_map}, NULL), HOX_OK);
    cr_assert_eq(genome_add_node(g, (genome_node){GENOME_OUTPUT, 0, output}, NULL), HOX_OK);
    cr_assert_eq(innovation_of_edge(innovations, edge.from, edge.to, &edge.innovation, NULL),
                 HOX_OK);
    cr_assert_eq(genome_add_edge(g, edge, NULL), HOX_OK);
    return g;
}

typedef struct member {
    genome *genome;
    plan plan;
    plan_weights weights;
    hox_runner *runner; // of the first with this structure
    bool owns_runner;
    float alone[IMAGES];
} member;

// A child that is its parent, or has other weights, or another structure.
static genome *breed(const genome *parent, uint32_t slot, innovation_table *innovations) {
    genome *child = genome_copy(parent, NULL);
    rng unused;
    const uint32_t kind = slot < 8 ? 4 : slot % 5; // large ones first
    const uint32_t step_count = kind == 0 ? 0 : kind == 4 ? 3 : 1;
    for (uint32_t step = 0; step < step_count; step++) {
        const mutation_config *rates = kind % 2 ? &weight_rates : &structure_rates;
        const mutation_context context = {rates, &limits, innovations, &unused};
        mutation_record record;
        cr_assert_eq(mutate(&child, &context, rng_stream(3, step, slot, RNG_PURPOSE_WEIGHTS),
                            rng_stream(3, step, slot, RNG_PURPOSE_STRUCTURE), &record, NULL),
                     HOX_OK);
    }
    return child;
}

static void make_population(member *members) {
    innovation_table *innovations = innovation_table_create(NULL);
    test_random random = {5};
    for (uint32_t i = 0; i < GENOMES; i++) {
        member *m = &members[i];
        // of a late one rather than of an early one
        const uint32_t parent = i == 0 ? 0 : i - 1 - random_below(&random, i < 8 ? i : 8);
        m->genome =
            i == 0 ? start_genome(innovations) : breed(members[parent].genome, i, innovations);
        cr_assert_eq(plan_init(&m->plan, m->genome, NULL), HOX_OK);
        cr_assert(m->plan.has_path);
        cr_assert_eq(plan_weights_init(&m->weights, &m->plan, m->genome, NULL), HOX_OK);
    }
    innovation_table_destroy(innovations);
}

static bool is_equal_node(const member *a, uint32_t i, const member *b, uint32_t k) {
    const uint64_t *left = a->weights.view.node_value_hash + 2 * (size_t)i;
    const uint64_t *right = b->weights.view.node_value_hash + 2 * (size_t)k;
    return left[0] == right[0] && left[1] == right[1];
}

// Nodes that an earlier genome has too, images excepted.
static size_t shared_nodes(const member *members) {
    size_t count = 0;
    for (uint32_t g = 1; g < GENOMES; g++)
        for (uint32_t i = 1; i < members[g].plan.view.node_count; i++) {
            bool is_shared = false;
            for (uint32_t h = 0; h < g; h++)
                for (uint32_t k = 1; k < members[h].plan.view.node_count; k++)
                    is_shared |= is_equal_node(&members[g], i, &members[h], k);
            count += is_shared;
        }
    return count;
}

static void prepare_members(const opened *self, member *members) {
    for (uint32_t i = 0; i < GENOMES; i++) {
        member *m = &members[i];
        for (uint32_t k = 0; k < i && !m->runner; k++)
            if (memcmp(members[k].plan.view.structure_hash, m->plan.view.structure_hash,
                       sizeof m->plan.view.structure_hash) == 0)
                m->runner = members[k].runner;
        m->owns_runner = !m->runner;
        if (m->owns_runner) m->runner = make_runner(self, &m->plan.view, HOX_PURPOSE_INFER, IMAGES);
    }
}

static void free_population(const opened *self, member *members) {
    for (uint32_t i = 0; i < GENOMES; i++) {
        if (members[i].owns_runner) self->api->release(members[i].runner);
        plan_weights_deinit(&members[i].weights);
        plan_deinit(&members[i].plan);
        genome_destroy(members[i].genome);
    }
    free(members);
}

static void run_alone(const opened *self, member *members, const hox_samples *samples,
                      const float *images, double relative) {
    for (uint32_t i = 0; i < GENOMES; i++) {
        member *m = &members[i];
        hox_job job = make_job(m->runner, &m->weights.view, samples, 0, IMAGES, m->alone);
        evaluate(self, &job, 1);
        check_logits(&m->plan.view, m->weights.view.values, images, 1, m->alone, relative);
        check_logits(&m->plan.view, m->weights.view.values, images + (IMAGES - 1) * IMAGE_SIZE, 1,
                     m->alone + IMAGES - 1, relative);
    }
}

// One group over one chunk; the values behind each job's logits must stay.
static void run_group(const opened *self, const member *members, const uint32_t *chosen,
                      uint32_t count, const hox_samples *samples, uint64_t first, uint64_t n) {
    static float logits[MOST_GROUP][IMAGES + 1];
    hox_job jobs[MOST_GROUP];
    for (uint32_t i = 0; i < count; i++) {
        const member *m = &members[chosen[i]];
        logits[i][n] = 12345;
        jobs[i] = make_job(m->runner, &m->weights.view, samples, first, n, logits[i]);
    }
    evaluate(self, jobs, count);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(logits[i][n], 12345, "wrote behind its logits");
        cr_assert_arr_eq(logits[i], members[chosen[i]].alone + first, n * sizeof(float),
                         "genome %u in a group of %u, %zu images from %zu", chosen[i], count,
                         (size_t)n, (size_t)first);
    }
}

static void shuffle(uint32_t *order, uint32_t count, test_random *random) {
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t k = random_below(random, i), swapped = order[i - 1];
        order[i - 1] = order[k];
        order[k] = swapped;
    }
}

// All genomes, some of them twice, in groups of this size; all images from one on in chunks.
static void run_groups(const opened *self, const member *members, const hox_samples *samples,
                       uint32_t group, uint64_t start, uint64_t chunk, test_random *random) {
    uint32_t order[MOST_GROUP];
    for (uint32_t i = 0; i < MOST_GROUP; i++)
        order[i] = i % GENOMES;
    const uint32_t count = group > GENOMES ? group : GENOMES;
    shuffle(order, count, random);
    for (uint64_t first = start; first < IMAGES; first += chunk) {
        const uint64_t n = IMAGES - first < chunk ? IMAGES - first : chunk;
        for (uint32_t i = 0; i < count; i += group)
            run_group(self, members, order + i, count - i < group ? count - i : group, samples,
                      first, n);
    }
}

static const struct {
    uint64_t start, chunk;
} cuts[] = {{0, 16}, {0, 32}, {16, 16}, {5, 16}, {21, 32}, {3, 7}};

EACH_RUNTIME(give_each_genome_the_bits_it_has_alone) {
    opened self;
    open_runtime(&self, *row);
    member *members = calloc(GENOMES, sizeof *members);
    cr_assert_not_null(members);
    make_population(members);
    cr_assert_gt(shared_nodes(members), GENOMES, "%zu", shared_nodes(members));
    static float images[IMAGES * IMAGE_SIZE];
    random_images(2, IMAGES * IMAGE_SIZE, images);
    hox_samples *samples = make_samples(&self, &members[0].plan.view, images, IMAGES);
    prepare_members(&self, members);
    run_alone(&self, members, samples, images, runtimes[*row].tolerance);

    const uint32_t most = self.caps.max_group < MOST_GROUP ? self.caps.max_group : MOST_GROUP;
    const uint32_t groups[] = {1, 2, 7, most};
    test_random random = {6};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++)
            if (groups[i] <= most && (i < 3 || most > 7))
                run_groups(&self, members, samples, groups[i], cuts[k].start, cuts[k].chunk,
                           &random);
    self.api->samples_destroy(samples);
    free_population(&self, members);
    close_runtime(&self);
}

// ---- genomes by hand ----

// input 3 x 8 x 8 -> a kernel of 3 x 3 -> output 3 x 6 x 6
static void make_plan(random_plan *made) {
    plan_begin(made, HOX_READOUT_SUM);
    plan_add_node(made, 3, 8, 8, HOX_ACTIVATION_IDENTITY);
    plan_add_node(made, 3, 6, 6, HOX_ACTIVATION_IDENTITY);
    plan_add_edge(made, 0);
}
enum { SMALL_SIZE = 3 * 8 * 8, SMALL_WEIGHTS = 3 * (3 * 3 * 3 + 1) };

// Hashes of its own: nothing is equal between these genomes but the image.
typedef struct hand_made {
    uint64_t hashes[2 * RANDOM_PLAN_EDGES], node_hashes[2 * RANDOM_PLAN_NODES];
    hox_weights weights;
} hand_made;

static void make_weights(hand_made *self, const hox_plan *p, const float *values, uint64_t seed) {
    test_random random = {~seed};
    for (size_t i = 0; i < 2 * (size_t)p->edge_count; i++)
        self->hashes[i] = random_next(&random);
    for (size_t i = 0; i < 2 * (size_t)p->node_count; i++)
        self->node_hashes[i] = i < 2 ? 1 : random_next(&random);
    self->weights = (hox_weights){.struct_size = sizeof self->weights,
                                  .values = values,
                                  .count = p->weight_count,
                                  .version = seed,
                                  .edge_value_hash = self->hashes,
                                  .node_value_hash = self->node_hashes};
}

// Case C07: two genomes of one structure and one runner, the weights at one address or at two.
static void replay_three_times(const opened *self, double relative, bool has_one_address) {
    enum { COUNT = 5 };
    random_plan made;
    make_plan(&made);
    float images[COUNT * SMALL_SIZE], values[2][SMALL_WEIGHTS], logits[3][COUNT];
    random_images(1, COUNT * SMALL_SIZE, images);
    hox_samples *samples = make_samples(self, &made.plan, images, COUNT);
    hox_runner *runner = make_runner(self, &made.plan, HOX_PURPOSE_INFER, COUNT);
    for (uint64_t i = 0; i < 3; i++) {
        float *own = values[has_one_address ? 0 : i % 2];
        hand_made of;
        random_weights(&made.plan, 1 + i % 2, own);
        make_weights(&of, &made.plan, own, 1 + i % 2);
        hox_job job = make_job(runner, &of.weights, samples, 0, COUNT, logits[i]);
        evaluate(self, &job, 1);
        check_logits(&made.plan, own, images, COUNT, logits[i], relative);
    }
    cr_expect_arr_eq(logits[0], logits[2], sizeof logits[0], "the first once more");
    for (size_t i = 0; i < COUNT; i++)
        cr_expect_neq(logits[0][i], logits[1][i], "other weights, other logits");
    self->api->release(runner);
    self->api->samples_destroy(samples);
}

EACH_RUNTIME(replay_with_the_weights_of_the_job) {
    opened self;
    open_runtime(&self, *row);
    replay_three_times(&self, runtimes[*row].tolerance, false);
    replay_three_times(&self, runtimes[*row].tolerance, true);
    close_runtime(&self);
}

// Case C09: 10 samples, the last chunk short. The genome is linear, so that an image and its
// negative are decided otherwise: the first 8 logits are positive, the last 2 negative, and rows
// left from the chunk before would be right answers.
enum { FEW = 10 };

static void make_signed_images(const random_plan *made, const float *values, float *images) {
    random_images(3, FEW * SMALL_SIZE, images);
    for (size_t i = 0; i < FEW; i++) {
        float *image = images + i * SMALL_SIZE;
        const bool is_positive = reference_evaluate(&made->plan, values, image).logit > 0;
        for (size_t k = 0; k < SMALL_SIZE && is_positive != (i < 8); k++)
            image[k] = -image[k];
    }
}

typedef struct tally {
    size_t right, all, chunks;
    float logits[FEW];
} tally;

static tally count_right(const opened *self, const hox_plan *p, const hox_weights *weights,
                         const hox_samples *samples, uint32_t batch) {
    static const bool labels[FEW] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    hox_runner *runner = make_runner(self, p, HOX_PURPOSE_INFER, batch);
    tally counted = {0};
    float rows[16] = {0}, left[16]; // never cleared between chunks
    for (uint64_t first = 0; first < FEW; first += batch, counted.chunks++) {
        const uint64_t n = FEW - first < batch ? FEW - first : batch;
        memcpy(left, rows, sizeof left);
        hox_job job = make_job(runner, weights, samples, first, n, rows);
        evaluate(self, &job, 1);
        cr_expect_arr_eq(rows + n, left + n, (16 - n) * sizeof *rows, "rows behind the chunk");
        memcpy(counted.logits + first, rows, n * sizeof *rows);
        for (uint64_t i = 0; i < n; i++, counted.all++)
            counted.right += (rows[i] >= 0) == labels[first + i];
    }
    self->api->release(runner);
    return counted;
}

EACH_RUNTIME(count_a_short_last_chunk_once) {
    static const struct {
        uint32_t batch;
        size_t chunks;
    } batches[] = {{4, 3}, {2, 5}, {3, 4}, {1, 10}, {10, 1}, {16, 1}};
    opened self;
    open_runtime(&self, *row);
    random_plan made;
    make_plan(&made);
    float images[FEW * SMALL_SIZE], values[SMALL_WEIGHTS];
    random_weights(&made.plan, 1, values);
    memset(values + SMALL_WEIGHTS - 3, 0, 3 * sizeof *values); // no bias
    make_signed_images(&made, values, images);
    hand_made of;
    make_weights(&of, &made.plan, values, 1);
    hox_samples *samples = make_samples(&self, &made.plan, images, FEW);
    tally first = {0};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        const tally counted =
            count_right(&self, &made.plan, &of.weights, samples, batches[i].batch);
        if (i == 0) first = counted;
        cr_expect_eq(counted.all, FEW, "batch %u", batches[i].batch);
        cr_expect_eq(counted.right, 8, "batch %u", batches[i].batch);
        cr_expect_eq(counted.chunks, batches[i].chunks, "batch %u", batches[i].batch);
        cr_expect_arr_eq(counted.logits, first.logits, sizeof first.logits, "batch %u",
                         batches[i].batch);
    }
    check_logits(&made.plan, values, images, FEW, first.logits, runtimes[*row].tolerance);
    self.api->samples_destroy(samples);
    close_runtime(&self);
}

// One genome with large maps and a small output beside one with a large output: the room where the
// one's output map is sorted may not be taken from the memory that the other needs for itself.
EACH_RUNTIME(leave_each_genome_the_memory_it_needs) {
    enum { SIDE = 56, COUNT = 3 };
    opened self;
    open_runtime(&self, *row);
    random_plan made[2];
    plan_begin(&made[0], HOX_READOUT_SUM);
    plan_add_node(&made[0], 1, SIDE, SIDE, HOX_ACTIVATION_IDENTITY);
    plan_add_node(&made[0], 8, SIDE, SIDE, HOX_ACTIVATION_RELU);
    plan_add_edge(&made[0], 0);
    plan_add_node(&made[0], 3, 8, 8, HOX_ACTIVATION_IDENTITY);
    plan_add_edge(&made[0], 1);
    plan_begin(&made[1], HOX_READOUT_MEAN_MINUS_MEDIAN);
    plan_add_node(&made[1], 1, SIDE, SIDE, HOX_ACTIVATION_IDENTITY);
    plan_add_node(&made[1], 4, SIDE, SIDE, HOX_ACTIVATION_TANH);
    plan_add_edge(&made[1], 0);

    float images[COUNT * SIDE * SIDE], alone[2][COUNT], grouped[2][COUNT], *values[2];
    random_images(7, COUNT * SIDE * SIDE, images);
    hox_samples *samples = make_samples(&self, &made[0].plan, images, COUNT);
    hand_made of[2];
    hox_runner *runners[2];
    hox_job jobs[2];
    for (size_t i = 0; i < 2; i++) {
        values[i] = malloc(made[i].plan.weight_count * sizeof *values[i]);
        cr_assert_not_null(values[i]);
        random_weights(&made[i].plan, 8 + i, values[i]);
        make_weights(&of[i], &made[i].plan, values[i], 8 + i);
        runners[i] = make_runner(&self, &made[i].plan, HOX_PURPOSE_INFER, COUNT);
    }
    for (size_t i = 0; i < 2; i++) {
        hox_job job = make_job(runners[i], &of[i].weights, samples, 0, COUNT, alone[i]);
        evaluate(&self, &job, 1);
        check_logits(&made[i].plan, values[i], images, 1, alone[i], runtimes[*row].tolerance);
        jobs[i] = make_job(runners[i], &of[i].weights, samples, 0, COUNT, grouped[i]);
    }
    if (self.caps.max_group > 1) {
        evaluate(&self, jobs, 2);
        cr_expect_arr_eq(grouped[0], alone[0], sizeof alone[0], "small output: %g, alone %g",
                         (double)grouped[0][0], (double)alone[0][0]);
        cr_expect_arr_eq(grouped[1], alone[1], sizeof alone[1], "large output: %g, alone %g",
                         (double)grouped[1][0], (double)alone[1][0]);
    }
    for (size_t i = 0; i < 2; i++) {
        self.api->release(runners[i]);
        free(values[i]);
    }
    self.api->samples_destroy(samples);
    close_runtime(&self);
}
