// test_listing.c - the steps of run_genomes for genomes that have much in common, done by the
// kernel for the host over memory of every size: the bits of each genome alone, and no float beside
// what is there.
#include "runtime_fused/listing.h"

#include "fibres.h"
#include "host_double.h"
#include "host_kernels.h"
#include "random_plan.h"
#include "reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { GENOMES = 12, IMAGES = 7, FIRST = 2, POPULATIONS = 60 };

static void *must_allocate(size_t count, size_t size) {
    void *memory = malloc(count * size + 1);
    cr_assert_not_null(memory);
    return memory;
}

// ---- genomes ----

typedef struct member {
    const hox_plan *plan;
    const tile_program *program;
    float *values;
    uint64_t hashes[2 * RANDOM_PLAN_NODES];
    hox_weights weights;
    float alone[IMAGES];
} member;

// All of one input; variants of one plan, the edges into one node having weights of their own,
// or made by hand.
typedef struct population {
    host_double host;
    random_plan made;
    tile_program *program;
    uint32_t member_count;
    float *images;  // (n,C,H,W)
    float *samples; // tiles
    uint64_t need;  // floats of memory for one genome
    member members[GENOMES];
} population;

// Nodes whose value is another one where those edges have other weights.
static void mark_changed(const hox_plan *p, uint32_t node, bool *is_changed) {
    for (uint32_t i = 1; i < p->node_count; i++) {
        is_changed[i] = i == node;
        for (uint32_t e = p->node_edge_begin[i]; e < p->node_edge_begin[i + 1]; e++)
            is_changed[i] |= is_changed[p->edge_source[e]];
    }
}

static void make_member(population *self, uint32_t index, uint32_t node, uint64_t seed) {
    const hox_plan *p = &self->made.plan;
    member *m = &self->members[index];
    m->plan = p;
    m->program = self->program;
    bool is_changed[RANDOM_PLAN_NODES] = {false};
    float *own = must_allocate(p->weight_count, sizeof *own);
    m->values = must_allocate(p->weight_count, sizeof *m->values);
    random_weights(p, seed, m->values);
    random_weights(p, seed + 1 + index, own);
    const uint32_t next = p->node_edge_begin[node + 1];
    const uint64_t begin = p->edge_weight_offset[p->node_edge_begin[node]];
    const uint64_t end = next < p->edge_count ? p->edge_weight_offset[next] : p->weight_count;
    memcpy(m->values + begin, own + begin, (end - begin) * sizeof *own);
    mark_changed(p, node, is_changed);
    for (uint32_t i = 0; i < p->node_count; i++) {
        test_random random = {seed + 100 * i + (is_changed[i] ? index + 1 : 0)};
        m->hashes[2 * i] = random_next(&random);
        m->hashes[2 * i + 1] = random_next(&random);
    }
    m->weights = (hox_weights){.struct_size = sizeof m->weights,
                               .values = m->values,
                               .count = p->weight_count,
                               .node_value_hash = m->hashes};
    free(own);
}

static uint32_t pixels_of(const population *self) {
    const hox_plan *p = &self->made.plan;
    return p->node_channels[0] * p->node_height[0] * p->node_width[0];
}

static void make_images(population *self, uint64_t seed) {
    const size_t pixels = pixels_of(self), last = FIRST + IMAGES - 1;
    const size_t floats = (last / CUDA_TILE + 1) * pixels * CUDA_TILE + CUDA_TILE_SLACK;
    self->images = must_allocate(IMAGES * pixels, sizeof *self->images);
    self->samples = must_allocate(floats, sizeof *self->samples);
    random_images(seed, IMAGES * pixels, self->images);
    memset(self->samples, 0xFF, floats * sizeof *self->samples);
    for (size_t i = 0; i < IMAGES; i++)
        for (size_t k = 0; k < pixels; k++)
            self->samples[((FIRST + i) / CUDA_TILE * pixels + k) * CUDA_TILE +
                          (FIRST + i) % CUDA_TILE] = self->images[i * pixels + k];
}

// Maps that shrink, without padding: the last values of a thread read on behind a map's last row.
static void make_shrinking_plan(random_plan *made, test_random *random) {
    uint32_t side = 12 + random_below(random, 6);
    plan_begin(made, HOX_READOUT_MEAN);
    plan_add_node(made, 3, side, side, HOX_ACTIVATION_IDENTITY);
    for (uint32_t i = 0; i < 3; i++) {
        side -= 1 + random_below(random, 3);
        plan_add_node(made, i == 1 ? 8 : 3, side, side, HOX_ACTIVATION_RELU);
        plan_add_edge(made, i);
    }
}

static void make_population(population *self, uint64_t seed, uint64_t shared) {
    test_random random = {seed};
    host_double_init(&self->host);
    if (seed % 5 == 0)
        make_shrinking_plan(&self->made, &random);
    else
        random_plan_make(&self->made, seed);
    cr_assert_eq(tile_program_check(&self->made.plan, NULL), HOX_OK);
    self->program =
        tile_program_make(must_allocate(1, tile_program_bytes(&self->made.plan)), &self->made.plan);
    self->member_count = GENOMES;
    for (uint32_t i = 0; i < GENOMES; i++)
        make_member(self, i, 1 + random_below(&random, self->made.plan.node_count - 1), seed);
    make_images(self, seed);
    cr_assert_eq(listing_measure(&self->host.host, self->program, shared, &self->need, NULL),
                 HOX_OK);
}

static void free_population(population *self) {
    for (uint32_t i = 0; i < self->member_count; i++)
        free(self->members[i].values);
    free(self->program);
    free(self->images);
    free(self->samples);
    cr_expect_eq(self->host.live_bytes, 0);
}

// ---- running ----

static bool is_written(const float *values, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        if (bits != UINT32_MAX) return true;
    }
    return false;
}

// Just as much scratch as the listing says it takes, a part of it for each block.
static uint32_t run_listing(const population *self, const listing *l, uint32_t blocks,
                            float *logits) {
    const uint64_t scratch = l->memory > l->shared ? l->memory - l->shared : 0;
    uint64_t all_steps = 0, all_floats = 0;
    for (uint32_t i = 0; i < l->genome_count; i++) {
        all_steps += l->genomes[i].program->step_count;
        all_floats += l->genomes[i].program->weight_floats;
    }
    cuda_step *steps = must_allocate(all_steps, sizeof *steps);
    float *weights = must_allocate(all_floats, sizeof *weights);
    float *memory = must_allocate(blocks * scratch, sizeof *memory);
    uint64_t weight_floats;
    cuda_genomes g = {.steps = steps,
                      .weights = weights,
                      .samples = self->samples,
                      .scratch = memory,
                      .logits = logits,
                      .scratch_floats = scratch,
                      .first = FIRST,
                      .count = IMAGES,
                      .first_tile = FIRST / CUDA_TILE,
                      .tile_count = (FIRST + IMAGES - 1) / CUDA_TILE - FIRST / CUDA_TILE + 1,
                      .pixels = pixels_of(self)};
    memset(memory, 0xFF, blocks * scratch * sizeof *memory);
    listing_write(l, steps, &g.step_count, weights, &weight_floats);
    cr_expect_leq(g.step_count, all_steps);
    cr_expect_leq(weight_floats, all_floats);
    fibres_set_shared_at_launch(l->shared * sizeof(float));
    host_kernel_find("run_genomes")->run(&g, (const uint32_t[]){blocks, 1, 1}, CUDA_TILE_THREADS);
    cr_assert_eq(fibres_divergence_count(), 0);
    for (uint32_t i = 0; i < blocks && scratch > 0; i++)
        cr_expect(is_written(memory + i * scratch, scratch), "block %u works elsewhere", i);
    free(steps);
    free(weights);
    free(memory);
    return g.step_count;
}

// Returns how many steps it took.
static uint32_t run_together(population *self, uint64_t shared, uint64_t memory, uint32_t blocks) {
    float logits[GENOMES][IMAGES];
    listing_genome genomes[GENOMES];
    listing *l;
    memset(logits, 0xFF, sizeof logits);
    for (uint32_t i = 0; i < self->member_count; i++)
        genomes[i] = (listing_genome){self->members[i].program, &self->members[i].weights, i};
    cr_assert_eq(
        listing_make(&self->host.host, genomes, self->member_count, shared, memory, &l, NULL),
        HOX_OK);
    cr_assert_leq(l->memory, memory);
    const uint32_t step_count = run_listing(self, l, blocks, logits[0]);
    for (uint32_t i = 0; i < self->member_count; i++)
        cr_assert_arr_eq(logits[i], self->members[genomes[i].job].alone, sizeof logits[i],
                         "genome %u of %zu floats, %zu shared: %g, alone %g", genomes[i].job,
                         (size_t)memory, (size_t)shared, (double)logits[i][0],
                         (double)self->members[genomes[i].job].alone[0]);
    listing_free(l);
    return step_count;
}

static void run_alone(population *self, member *m) {
    listing_genome genome = {m->program, &m->weights, 0};
    listing *l;
    cr_assert_eq(listing_make(&self->host.host, &genome, 1, 1 << 20, UINT64_MAX, &l, NULL), HOX_OK);
    run_listing(self, l, 1, m->alone);
    listing_free(l);
    for (size_t i = 0; i < IMAGES; i += IMAGES - 1) {
        const reference_result right =
            reference_evaluate(m->plan, m->values, self->images + i * pixels_of(self));
        cr_assert(fabs((double)m->alone[i] - right.logit) <= reference_tolerance(&right, 1e-4));
    }
}

Test(listing, gives_each_genome_its_own_bits_in_any_memory) {
    static population self;
    uint32_t shared_steps = 0, all_steps = 0, halves = 0; // halves: less memory, less shared
    for (uint64_t seed = 0; seed < POPULATIONS; seed++) {
        static const uint64_t shared_sizes[] = {0, 1000, 6000, 40000};
        const uint64_t shared = shared_sizes[seed % 4];
        fibres_set_order((fibre_order)(seed % 3));
        make_population(&self, seed, shared);
        for (uint32_t i = 0; i < GENOMES; i++)
            run_alone(&self, &self.members[i]);
        const uint64_t sizes[] = {self.need, self.need + self.need / 4, 2 * self.need,
                                  100 * self.need};
        uint32_t steps[sizeof sizes / sizeof *sizes];
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            steps[i] = run_together(&self, shared, sizes[i], 1 + seed % 3);
        for (size_t i = 1; i < 3; i++)
            halves += steps[i] < steps[0] && steps[i] > steps[3];
        shared_steps += steps[3];
        all_steps += GENOMES * self.program->step_count;
        free_population(&self);
    }
    cr_expect_lt(shared_steps, all_steps / 4 * 3, "%u of %u steps", shared_steps, all_steps);
    cr_expect_gt(halves, 0);
    fibres_set_shared_at_launch(0);
}

// ---- genomes by hand ----

enum { SIDE = 6, BY_HAND = 5, MOST_NODES = 4, HALF = 1000 };

// Equal numbers, equal values; thousands are the second half of a hash. Nodes between the image and
// the last one read the image alone.
typedef struct recipe {
    uint32_t node_count, side, last_side;
    uint64_t numbers[MOST_NODES];
    uint32_t edge_count, sources[2]; // of the last node
} recipe;

static void make_plan_by_hand(random_plan *made, const recipe *r) {
    plan_begin(made, HOX_READOUT_SUM);
    plan_add_node(made, 3, SIDE, SIDE, HOX_ACTIVATION_IDENTITY);
    for (uint32_t i = 1; i + 1 < r->node_count; i++) {
        plan_add_node(made, 3, r->side, r->side, HOX_ACTIVATION_RELU);
        plan_add_edge(made, 0);
    }
    plan_add_node(made, 3, r->last_side, r->last_side, HOX_ACTIVATION_RELU);
    for (uint32_t e = 0; e < r->edge_count; e++)
        plan_add_edge(made, r->sources[e]);
}

// A node's weights are drawn from its number.
static void number_nodes(member *m, const recipe *r) {
    const hox_plan *p = m->plan;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t edge = p->node_edge_begin[i], next = p->node_edge_begin[i + 1];
        const uint64_t end = next < p->edge_count ? p->edge_weight_offset[next] : p->weight_count;
        m->hashes[2 * i] = r->numbers[i] % HALF;
        m->hashes[2 * i + 1] = r->numbers[i] / HALF;
        test_random random = {r->numbers[i]};
        for (uint64_t k = p->edge_weight_offset[edge]; i > 0 && k < end; k++)
            m->values[k] = random_signed(&random);
    }
}

static void add_by_hand(population *self, random_plan *made, const recipe *r) {
    uint64_t need;
    member *m = &self->members[self->member_count++];
    make_plan_by_hand(made, r);
    const hox_plan *p = &made->plan;
    m->plan = p;
    m->program = tile_program_make(must_allocate(1, tile_program_bytes(p)), p);
    m->values = must_allocate(p->weight_count, sizeof *m->values);
    number_nodes(m, r);
    m->weights = (hox_weights){.struct_size = sizeof m->weights,
                               .values = m->values,
                               .count = p->weight_count,
                               .node_value_hash = m->hashes};
    cr_assert_eq(listing_measure(&self->host.host, m->program, 0, &need, NULL), HOX_OK);
    if (need > self->need) self->need = need;
}

// The first two are one value and two ways to lie, for the last map is not padded. Then come two
// that order their nodes otherwise and end in the same value, which must outlive the one between,
// whose hashes are half the same.
static const recipe recipes[BY_HAND] = {{2, 0, 4, {1, 5}, 1, {0}},
                                        {3, 4, 1, {1, 5, 6}, 1, {1}},
                                        {4, 6, 1, {1, 10, 30, 50}, 2, {1, 2}},
                                        {4, 6, 1, {1, 1010, 1030, 1050}, 2, {1, 2}},
                                        {4, 6, 1, {1, 30, 10, 50}, 2, {2, 1}}};

Test(listing, keeps_an_equal_value_until_the_last_genome_that_reads_it) {
    static const uint64_t shared_sizes[] = {0, 1000, 40000};
    enum { STEPS = 2 + 3 + 5 + 5 + 1 }; // the last one only reads out
    static population self;
    static random_plan made[BY_HAND];
    host_double_init(&self.host);
    make_plan_by_hand(&self.made, &recipes[0]);
    make_images(&self, 1);
    for (uint32_t i = 0; i < BY_HAND; i++)
        add_by_hand(&self, &made[i], &recipes[i]);
    for (uint32_t i = 0; i < BY_HAND; i++)
        run_alone(&self, &self.members[i]);
    for (size_t i = 0; i < sizeof shared_sizes / sizeof *shared_sizes; i++)
        cr_expect_eq(run_together(&self, shared_sizes[i], 10 * self.need, 1), STEPS);
    for (uint32_t i = 0; i < BY_HAND; i++)
        free((void *)self.members[i].program);
    free_population(&self);
    fibres_set_shared_at_launch(0);
}

Test(listing, leaves_nothing_where_there_is_no_memory) {
    static population self;
    listing *l = NULL;
    make_population(&self, 1, 0);
    listing_genome genome = {self.program, &self.members[0].weights, 0};
    uint64_t need;
    self.host.budget_bytes = 100;
    cr_expect_neq(listing_make(&self.host.host, &genome, 1, 0, self.need, &l, NULL), HOX_OK);
    cr_expect_null(l);
    cr_expect_neq(listing_measure(&self.host.host, self.program, 0, &need, NULL), HOX_OK);
    free_population(&self);
}

Test(listing, no_map_is_larger_than_32_bits_count) {
    static const struct {
        uint32_t width;
        hox_status status;
    } rows[] = {{2046, HOX_OK}, {2047, HOX_UNSUPPORTED}, {65536, HOX_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        random_plan made;
        hox_error error = HOX_ERROR_INIT;
        plan_begin(&made, HOX_READOUT_SUM);
        plan_add_node(&made, 3, 8, 8, HOX_ACTIVATION_IDENTITY);
        plan_add_node(&made, 64, 4096, rows[i].width, HOX_ACTIVATION_RELU);
        cr_expect_eq(tile_program_check(&made.plan, &error), rows[i].status, "width %u",
                     rows[i].width);
        if (rows[i].status != HOX_OK) cr_expect_eq(error.plan_node, 1, "%s", error.message);
    }
}
