// test_share.c - the list of steps for many genomes at once, followed on a memory that only records
// which value lies where. Hashes are made by hand; nothing is computed.
#include "runtime_fused/share.h"

#include "host_double.h"
#include "random_plan.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_JOBS = 24, POPULATIONS = 400 };

// ---- genomes ----

// A plan, and a name for the weights of each edge: equal names, equal weights.
typedef struct member {
    random_plan made;
    uint64_t names[RANDOM_PLAN_EDGES];
    uint64_t hashes[2 * RANDOM_PLAN_NODES];
    float value; // its address tells the members' weights apart
    hox_weights weights;
    hox_runner *runner;
    hox_job job;
} member;

// The views in a plan lead into it, so they stay where they are.
static void copy_member(member *to, const member *from) {
    plan_begin(&to->made, from->made.plan.readout);
    hox_plan view = to->made.plan;
    *to = *from;
    view.node_count = from->made.plan.node_count;
    view.edge_count = from->made.plan.edge_count;
    view.weight_count = from->made.plan.weight_count;
    to->made.plan = view;
}

static void name_edges(member *m, uint64_t first_name) {
    for (uint32_t e = 0; e < m->made.plan.edge_count; e++)
        m->names[e] = first_name + e;
}

static void mix(uint64_t hash[2], uint64_t word) {
    for (int i = 0; i < 2; i++) {
        test_random random = {hash[i] ^ (word + (uint64_t)i) * UINT64_C(0x9e3779b97f4a7c15)};
        hash[i] = random_next(&random);
    }
}

// What a node computes: sizes, activation, and its edges in order with what they read.
static void hash_node(member *m, uint32_t node) {
    const random_plan *p = &m->made;
    uint64_t *hash = m->hashes + 2 * (size_t)node;
    hash[0] = 1, hash[1] = 2;
    const uint32_t own[] = {p->channels[node], p->height[node], p->width[node],
                            p->activation[node]};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        mix(hash, own[i]);
    for (uint32_t e = p->edge_begin[node]; e < p->edge_begin[node + 1]; e++) {
        const uint32_t geometry[] = {p->kernel_h[e], p->kernel_w[e],  p->stride_h[e],
                                     p->stride_w[e], p->padding_h[e], p->padding_w[e]};
        for (size_t i = 0; i < sizeof geometry / sizeof *geometry; i++)
            mix(hash, geometry[i]);
        mix(hash, m->names[e]);
        mix(hash, m->hashes[2 * (size_t)p->source[e]]);
        mix(hash, m->hashes[2 * (size_t)p->source[e] + 1]);
    }
}

static void ready(member *m) {
    for (uint32_t i = 0; i < m->made.plan.node_count; i++)
        hash_node(m, i);
    m->runner = malloc(sizeof *m->runner + cpu_program_bytes(&m->made.plan));
    cr_assert_not_null(m->runner);
    *m->runner = (hox_runner){.program = cpu_program_make(m->runner + 1, &m->made.plan)};
    m->weights = (hox_weights){
        .struct_size = sizeof m->weights, .values = &m->value, .node_value_hash = m->hashes};
    m->job = (hox_job){.struct_size = sizeof m->job, .runner = m->runner, .weights = &m->weights};
}

// ---- a population, its plan, and the memory ----

typedef struct population {
    host_double host;
    member members[MOST_JOBS];
    hox_job *jobs[MOST_JOBS];
    uint32_t count;
    float *memory; // nobody may touch it
    size_t room;   // floats
    size_t largest_arena, all_maps;
    share_plan *plan;
} population;

static void gather(population *self, uint32_t count) {
    host_double_init(&self->host);
    self->count = count;
    self->largest_arena = self->all_maps = 0;
    for (uint32_t i = 0; i < count; i++) {
        ready(&self->members[i]);
        self->jobs[i] = &self->members[i].job;
        const cpu_program *p = self->members[i].runner->program;
        if (p->arena_size > self->largest_arena) self->largest_arena = p->arena_size;
        for (uint32_t k = 0; k < p->node_count; k++)
            self->all_maps += p->nodes[k].size;
    }
    self->room = 4 * self->all_maps;
    self->memory = mmap(NULL, self->room * sizeof(float), PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(self->memory, MAP_FAILED);
}

static void make_plan(population *self, size_t size) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_leq(size, self->room);
    cr_assert_eq(share_plan_make(&self->host.host, self->jobs, self->count, self->memory, size,
                                 &self->plan, &error),
                 HOX_OK, "%s", error.message);
    cr_assert_eq(self->plan->job_count, self->count);
}

static void drop_plan(population *self) {
    share_plan_free(self->plan);
    self->plan = NULL;
    cr_assert_eq(self->host.live_bytes, 0, "%zu bytes stay in the ledger",
                 (size_t)self->host.live_bytes);
}

static void disband(population *self) {
    munmap(self->memory, self->room * sizeof(float));
    for (uint32_t i = 0; i < self->count; i++)
        free(self->members[i].runner);
}

// What lies where.
typedef struct symbol {
    size_t place, size;
    uint64_t hash[2];
    uint32_t margin_h, margin_w;
} symbol;

typedef struct symbols {
    symbol all[MOST_JOBS * RANDOM_PLAN_NODES];
    size_t count;
} symbols;

static symbol symbol_of(const share_job *s, uint32_t node, size_t place) {
    const cpu_node *n = &s->job->runner->program->nodes[node];
    const uint64_t *hash = s->job->weights->node_value_hash + 2 * (size_t)node;
    return (symbol){place, n->size, {hash[0], hash[1]}, n->margin_h, n->margin_w};
}

static bool is_same(const symbol *a, const symbol *b) {
    return a->place == b->place && a->size == b->size && a->hash[0] == b->hash[0] &&
           a->hash[1] == b->hash[1] && a->margin_h == b->margin_h && a->margin_w == b->margin_w;
}

static bool overlaps(const symbol *a, const symbol *b) {
    return a->place < b->place + b->size && b->place < a->place + a->size;
}

static void put(symbols *memory, symbol written) {
    for (size_t i = memory->count; i-- > 0;)
        if (overlaps(&memory->all[i], &written)) memory->all[i] = memory->all[--memory->count];
    memory->all[memory->count++] = written;
}

// The map that a node of this job finds for another of its nodes; it must be there.
static symbol take(const population *self, const symbols *memory, const share_job *s,
                   uint32_t node) {
    const symbol wanted = symbol_of(s, node, (size_t)(s->maps[node] - self->memory));
    for (size_t i = 0; i < memory->count; i++)
        if (is_same(&memory->all[i], &wanted)) return wanted;
    cr_assert_fail("node %u is not where it is read", node);
    return wanted;
}

static void follow_step(const population *self, size_t size, symbols *memory, const share_job *s,
                        const share_step *step) {
    const cpu_program *p = s->job->runner->program;
    const uint32_t node = (uint32_t)(step->node - p->nodes);
    cr_assert_lt(node, p->node_count, "a step of another genome");
    cr_assert_eq(step->weights, s->job->weights->values);
    cr_assert_eq(step->maps, s->maps);
    cr_assert_eq(step->target, s->maps[node]);
    const symbol written = symbol_of(s, node, (size_t)(step->target - self->memory));
    cr_assert_leq(written.place, size);
    cr_assert_leq(written.size, size - written.place, "a step writes behind the memory");
    cr_assert_eq(written.place % CPU_BLOCK, 0, "off a 64-byte boundary");
    for (uint32_t e = 0; e < step->node->edge_count; e++) {
        const uint32_t source = step->node->edges[e].source;
        if (source == 0 && !cpu_program_copies_input(p)) continue; // read where the images are
        const symbol read = take(self, memory, s, source);
        cr_assert_not(overlaps(&read, &written), "node %u is written over what it reads", node);
    }
    put(memory, written);
}

// All steps, from a memory in which nothing lies; each genome must end with its output's map.
static void follow(const population *self, size_t size) {
    const share_plan *plan = self->plan;
    static symbols memory;
    memory.count = 0;
    size_t begin = 0;
    bool is_met[MOST_JOBS] = {false};
    for (uint32_t j = 0; j < plan->job_count; j++) {
        const share_job *s = &plan->jobs[j];
        for (uint32_t i = 0; i < self->count; i++)
            if (self->jobs[i] == s->job) is_met[i] = true;
        for (; begin < s->step_end; begin++)
            follow_step(self, size, &memory, s, &plan->steps[begin]);
        take(self, &memory, s, s->job->runner->program->node_count - 1);
    }
    cr_assert_eq(begin, plan->step_count);
    for (uint32_t i = 0; i < self->count; i++)
        cr_assert(is_met[i], "job %u is not in the plan", i);
}

static size_t steps_with(population *self, size_t size) {
    make_plan(self, size);
    follow(self, size);
    const size_t count = self->plan->step_count;
    drop_plan(self);
    return count;
}

// ---- how many steps are needed ----

// The same value and margin again costs nothing; else the node and what it reads.
static void need(symbols *known, const share_job *s, uint32_t node) {
    const cpu_program *p = s->job->runner->program;
    if (node == 0 && !cpu_program_copies_input(p)) return;
    const symbol wanted = symbol_of(s, node, 0);
    for (size_t i = 0; i < known->count; i++)
        if (is_same(&known->all[i], &wanted)) return;
    known->all[known->count++] = wanted;
    for (uint32_t e = 0; e < p->nodes[node].edge_count; e++)
        need(known, s, p->nodes[node].edges[e].source);
}

static size_t distinct_values(const population *self) {
    static symbols known;
    known.count = 0;
    for (uint32_t j = 0; j < self->plan->job_count; j++) {
        const share_job *s = &self->plan->jobs[j];
        need(&known, s, s->job->runner->program->node_count - 1);
    }
    return known.count;
}

static size_t ample_steps(population *self) {
    make_plan(self, self->room);
    const size_t right = distinct_values(self);
    follow(self, self->room);
    cr_assert_eq(self->plan->step_count, right);
    drop_plan(self);
    return right;
}

// ---- by hand ----

// input 1 x 6 x 6 -> a -> b -> output, and input -> output; no margins.
static void make_chain(member *m) {
    plan_begin(&m->made, HOX_READOUT_SUM);
    plan_add_node(&m->made, 1, 6, 6, HOX_ACTIVATION_IDENTITY);
    plan_add_node(&m->made, 2, 5, 5, HOX_ACTIVATION_RELU);
    plan_add_edge(&m->made, 0); // edge 0
    plan_add_node(&m->made, 2, 4, 4, HOX_ACTIVATION_RELU);
    plan_add_edge(&m->made, 1); // edge 1
    plan_add_node(&m->made, 1, 2, 2, HOX_ACTIVATION_IDENTITY);
    plan_add_edge(&m->made, 2); // edge 2
    plan_add_edge(&m->made, 0); // edge 3
    name_edges(m, 100);
}

static population *two_chains(uint32_t changed_edge) {
    population *self = calloc(1, sizeof *self);
    cr_assert_not_null(self);
    make_chain(&self->members[0]);
    copy_member(&self->members[1], &self->members[0]);
    if (changed_edge < RANDOM_PLAN_EDGES) self->members[1].names[changed_edge] = 999;
    gather(self, 2);
    return self;
}

static size_t steps_of_two_chains(uint32_t changed_edge) {
    population *self = two_chains(changed_edge);
    const size_t count = ample_steps(self);
    disband(self);
    free(self);
    return count;
}

Test(share, computes_equal_genomes_once) {
    cr_expect_eq(steps_of_two_chains(RANDOM_PLAN_EDGES), 3);
}

Test(share, adds_what_is_downstream_of_a_change_alone) {
    cr_expect_eq(steps_of_two_chains(3), 4, "the output");
    cr_expect_eq(steps_of_two_chains(2), 4, "the output");
    cr_expect_eq(steps_of_two_chains(1), 5, "b and the output");
    cr_expect_eq(steps_of_two_chains(0), 6, "all");
}

// The second genome runs on the first one's maps, with no step for them.
Test(share, points_a_genome_at_the_maps_of_another) {
    population *self = two_chains(3);
    make_plan(self, self->room);
    const share_job *first = &self->plan->jobs[0], *second = &self->plan->jobs[1];
    cr_expect_eq(first->step_end, 3);
    cr_expect_eq(second->step_end, 4);
    cr_expect_eq(self->plan->steps[3].node, &second->job->runner->program->nodes[3]);
    cr_expect_eq(second->maps[2], first->maps[2]);
    cr_expect_neq(second->maps[3], first->maps[3]);
    drop_plan(self);
    disband(self);
    free(self);
}

// input -> a -> output of this size: larger than a, the edge pads.
static void make_pair(member *m, uint32_t input_size, uint32_t output_size) {
    plan_begin(&m->made, HOX_READOUT_SUM);
    plan_add_node(&m->made, 1, input_size, input_size, HOX_ACTIVATION_IDENTITY);
    plan_add_node(&m->made, 2, 5, 5, HOX_ACTIVATION_RELU);
    plan_add_edge(&m->made, 0);
    plan_add_node(&m->made, 1, output_size, output_size, HOX_ACTIVATION_IDENTITY);
    plan_add_edge(&m->made, 1);
    name_edges(m, 100);
}

Test(share, keeps_maps_of_other_margins_apart) {
    population *self = calloc(1, sizeof *self);
    make_pair(&self->members[0], 6, 4);
    make_pair(&self->members[1], 6, 7); // a has a margin of 1
    gather(self, 2);
    cr_assert_arr_eq(self->members[0].hashes + 2, self->members[1].hashes + 2,
                     2 * sizeof(uint64_t));
    cr_expect_eq(ample_steps(self), 4);
    disband(self);

    make_pair(&self->members[0], 6, 4);
    make_pair(&self->members[1], 6, 4);
    self->members[0].made.padding_h[0] = self->members[1].made.padding_h[0] = 1;
    self->members[1].made.padding_w[0] = 2; // the input's own margins, 1 x 0 and 1 x 2
    self->members[0].made.kernel_h[0] = self->members[1].made.kernel_h[0] = 4;
    self->members[1].made.kernel_w[0] = 6;
    gather(self, 2);
    cr_expect_eq(ample_steps(self), 6);
    disband(self);
    free(self);
}

// An input with a margin is copied once for both.
Test(share, copies_the_image_once) {
    population *self = calloc(1, sizeof *self);
    make_pair(&self->members[0], 3, 4); // 3 -> 5 pads
    copy_member(&self->members[1], &self->members[0]);
    self->members[1].names[0] = 999;
    gather(self, 2);
    cr_expect_eq(ample_steps(self), 1 + 2 + 2);
    disband(self);
    free(self);
}

Test(share, frees_null) {
    share_plan_free(NULL);
}

// ---- at random ----

static void rename_edge(member *m, test_random *random) {
    m->names[random_below(random, m->made.plan.edge_count)] = random_next(random);
}

static void change_activation(member *m, test_random *random) {
    m->made.activation[1 + random_below(random, m->made.plan.node_count - 1)] =
        random_below(random, HOX_ACTIVATION_COUNT);
}

// A wider kernel with wider padding: the same sizes, and maybe another margin for the source.
static void widen(member *m, test_random *random) {
    const uint32_t e = random_below(random, m->made.plan.edge_count);
    m->made.kernel_h[e] += 2;
    m->made.padding_h[e]++;
    m->names[e] = random_next(random);
}

// A new output behind the old one, which reads some more.
static void append_output(member *m, test_random *random) {
    random_plan *p = &m->made;
    const uint32_t output = p->plan.node_count - 1;
    if (p->plan.node_count == RANDOM_PLAN_NODES) return;
    plan_add_node(p, 1 + random_below(random, 3), 2, 3, HOX_ACTIVATION_TANH);
    for (uint32_t source = 0; source <= output; source++) {
        if (source < output && random_below(random, 2)) continue;
        m->names[p->plan.edge_count] = random_next(random);
        plan_add_edge(p, source);
    }
}

// A second node that computes what an earlier one does, and an output that reads it.
static void repeat_node(member *m, test_random *random) {
    random_plan *p = &m->made;
    if (p->plan.node_count + 2 > RANDOM_PLAN_NODES) return;
    const uint32_t like = 1 + random_below(random, p->plan.node_count - 1);
    const uint32_t output = p->plan.node_count - 1, again = p->plan.node_count;
    plan_add_node(p, p->channels[like], p->height[like], p->width[like], p->activation[like]);
    for (uint32_t k = p->edge_begin[like]; k < p->edge_begin[like + 1]; k++) {
        const uint32_t e = p->plan.edge_count;
        plan_add_edge(p, p->source[k]);
        p->kernel_h[e] = p->kernel_h[k], p->kernel_w[e] = p->kernel_w[k];
        p->stride_h[e] = p->stride_h[k], p->stride_w[e] = p->stride_w[k];
        p->padding_h[e] = p->padding_h[k], p->padding_w[e] = p->padding_w[k];
        m->names[e] = m->names[k];
    }
    plan_add_node(p, 1, 1, 1, HOX_ACTIVATION_IDENTITY);
    const uint32_t sources[] = {output, again};
    for (size_t i = 0; i < 2; i++) {
        m->names[p->plan.edge_count] = random_next(random);
        plan_add_edge(p, sources[i]);
    }
}

typedef void change(member *m, test_random *random);
static change *const changes[] = {rename_edge, rename_edge,   change_activation,
                                  widen,       append_output, repeat_node};

// Up to three ancestors; all others are copies of earlier ones, most of them changed.
static population *random_population(uint64_t seed, bool repeats_nodes) {
    test_random random = {seed};
    population *self = calloc(1, sizeof *self);
    cr_assert_not_null(self);
    const uint32_t ancestors = 1 + random_below(&random, 3);
    const uint32_t count = ancestors + random_below(&random, MOST_JOBS - ancestors + 1);
    for (uint32_t i = 0; i < count; i++) {
        member *m = &self->members[i];
        if (i < ancestors) {
            random_plan_make(&m->made, random_next(&random));
            name_edges(m, random_next(&random));
            continue;
        }
        copy_member(m, &self->members[random_below(&random, i)]);
        const uint32_t kinds = sizeof changes / sizeof *changes - !repeats_nodes;
        for (uint32_t k = random_below(&random, 3); k > 0; k--)
            changes[random_below(&random, kinds)](m, &random);
    }
    gather(self, count);
    return self;
}

static void shuffle(population *self, test_random *random) {
    for (uint32_t i = self->count; i > 1; i--) {
        const uint32_t k = random_below(random, i);
        hox_job *const job = self->jobs[i - 1];
        self->jobs[i - 1] = self->jobs[k];
        self->jobs[k] = job;
    }
}

static size_t all_steps(const population *self) {
    size_t count = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        const cpu_program *p = self->members[i].runner->program;
        count += p->node_count - (cpu_program_copies_input(p) ? 0 : 1);
    }
    return count;
}

Test(share, needs_one_step_a_value_with_ample_memory) {
    size_t all = 0, needed = 0;
    for (uint64_t seed = 0; seed < POPULATIONS; seed++) {
        population *self = random_population(seed, false);
        needed += ample_steps(self);
        all += all_steps(self);
        disband(self);
        free(self);
    }
    cr_expect_lt(needed, all * 3 / 4, "the populations share much");
}

Test(share, always_reads_what_a_node_needs) {
    size_t tight = 0, ample = 0, all = 0;
    for (uint64_t seed = 1000; seed < 1000 + POPULATIONS; seed++) {
        population *self = random_population(seed, true);
        test_random random = {~seed};
        const size_t least = steps_with(self, self->room), most = all_steps(self);
        ample += least;
        all += most;
        for (int i = 0; i < 12; i++) {
            const size_t extra = i == 0 ? 0 : random_below(&random, 2U << i) * self->largest_arena;
            const size_t size = self->largest_arena + extra / 16;
            shuffle(self, &random);
            const size_t count = steps_with(self, size < self->room ? size : self->room);
            cr_assert_geq(count, least);
            cr_assert_leq(count, most);
            if (i == 0) tight += count;
        }
        disband(self);
        free(self);
    }
    cr_expect(ample < tight && tight < all, "%zu, %zu, %zu steps", ample, tight, all);
}

Test(share, does_not_care_for_the_order_of_jobs) {
    for (uint64_t seed = 2000; seed < 2000 + POPULATIONS / 4; seed++) {
        population *self = random_population(seed, true);
        test_random random = {~seed};
        const size_t size = self->largest_arena * (1 + random_below(&random, 4));
        const size_t first = steps_with(self, size < self->room ? size : self->room);
        for (int i = 0; i < 5; i++) {
            shuffle(self, &random);
            cr_assert_eq(steps_with(self, size < self->room ? size : self->room), first);
        }
        disband(self);
        free(self);
    }
}

// One genome in many jobs, of one runner.
Test(share, computes_a_runner_that_stands_in_many_jobs_once) {
    population *self = two_chains(RANDOM_PLAN_EDGES);
    hox_job jobs[MOST_JOBS];
    for (uint32_t i = 0; i < MOST_JOBS; i++) {
        jobs[i] = self->members[0].job;
        self->jobs[i] = &jobs[i];
    }
    self->count = MOST_JOBS;
    cr_expect_eq(steps_with(self, self->room), 3);
    cr_expect_geq(steps_with(self, self->largest_arena), 3);
    self->count = 2;
    disband(self);
    free(self);
}

Test(share, keeps_nothing_when_memory_is_refused) {
    population *self = random_population(1, true);
    make_plan(self, self->room);
    const uint64_t reserve_count = self->host.reserve_count;
    cr_assert_gt(reserve_count, 0);
    cr_assert_eq(self->host.live_bytes, self->plan->bytes);
    drop_plan(self);
    for (uint64_t n = 1; n <= reserve_count; n++) {
        host_double_init(&self->host);
        self->host.fail_at_reserve = n;
        hox_error error = HOX_ERROR_INIT;
        share_plan *plan = (share_plan *)self;
        cr_expect_eq(share_plan_make(&self->host.host, self->jobs, self->count, self->memory,
                                     self->room, &plan, &error),
                     HOX_OUT_OF_DEVICE_MEMORY);
        cr_expect_null(plan);
        cr_expect_gt(error.bytes_requested, 0);
        cr_expect_eq(self->host.live_bytes, 0);
    }
    disband(self);
    free(self);
}
