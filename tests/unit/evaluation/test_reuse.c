// test_reuse.c - what stays on the device from one call to the next: runners, the split, the pool.
#include "evaluation_fixture.h"
#include "plugin_fixture.h"
#include "watch.h"

#include <criterion/criterion.h>

static const map_size image_size = {3, 12, 12};
enum { BATCH = 16, CHUNKS = 4 }; // 50 images: 16, 16, 16, 2

// M_sample of a chain: floor(nodes * 3 * 12 * 12 * 4 * 27 / 20)
enum { BYTES_3 = 6998, BYTES_5 = 11664 };

static void open(engine *self, int64_t lanes) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(engine_open(self, lanes, BATCH, &error), HOX_OK, "%s", error.message);
}

// ---- runners ----

enum { STRUCTURES = 4, POPULATION = 16, GENERATIONS = 3 };

// Children differ from their parents in weights alone.
static void breed(genome *population[POPULATION], uint64_t generation) {
    for (uint64_t i = 0; i < POPULATION; i++)
        population[i] =
            chain_genome(image_size, 2 + (uint32_t)i % STRUCTURES, 1 + generation * POPULATION + i);
}

static void run_generation(engine *self, uint64_t generation) {
    genome *population[POPULATION];
    evaluation_result results[POPULATION];
    breed(population, generation);
    engine_score(self, population, POPULATION, results);
    engine_end_generation(self, results, POPULATION);
    for (size_t i = 0; i < POPULATION; i++)
        cr_expect_eq(results[i].reason, EVALUATION_OK, "%s", results[i].error.message);
    destroy_genomes(population, POPULATION);
}

Test(reuse, children_that_differ_in_weights_prepare_nothing) {
    engine self;
    init_random(&self, watch_plugin(hungry_plugin()));
    open(&self, 1);
    for (uint64_t generation = 0; generation < GENERATIONS; generation++) {
        run_generation(&self, generation);
        const runner_statistics *told = &engine_last(&self, MEMORY_GENERATION)->runners;
        const uint64_t fresh = generation == 0 ? STRUCTURES : 0;
        cr_expect_eq(told->prepares, fresh, "generation %d", (int)generation);
        cr_expect_eq(told->hits, POPULATION * CHUNKS - fresh, "generation %d", (int)generation);
        cr_expect_eq(told->evictions, 0, "generation %d", (int)generation);
    }
    cr_expect_eq(watched.prepare_count, STRUCTURES);
    cr_expect_eq(watched.jobs, GENERATIONS * POPULATION * CHUNKS);
    cr_expect_eq(engine_deinit(&self), 0);
}

Test(reuse, a_smaller_split_prepares_nothing) {
    static const uint64_t counts[] = {10, 30}; // one chunk, and two
    engine self;
    genome *population[POPULATION];
    evaluation_result results[POPULATION];
    init_random(&self, watch_plugin(hungry_plugin()));
    open(&self, 1);
    breed(population, 0);
    engine_score(&self, population, POPULATION, results);
    cr_expect_eq(watched.prepare_count, STRUCTURES);
    for (size_t i = 0; i < 2; i++) {
        evaluation_split smaller = self.split;
        smaller.count = counts[i];
        smaller.samples = NULL;
        smaller.next = NULL;
        cr_assert_eq(evaluation_score(self.evaluation, (const genome *const *)population,
                                      POPULATION, &smaller, results, NULL),
                     HOX_OK);
        cr_expect_eq(results[0].reason, EVALUATION_OK);
        cr_expect_eq(watched.prepare_count, STRUCTURES, "%d images", (int)counts[i]);
        evaluation_drop_split(self.evaluation, &smaller);
    }
    destroy_genomes(population, POPULATION);
    cr_expect_eq(engine_deinit(&self), 0);
}

// Here in groups of 16.
Test(reuse, each_lane_prepares_a_structure_at_most_once) {
    for (int64_t lanes = 1; lanes <= 3; lanes++) {
        engine self;
        uint64_t prepares = 0;
        init_random(&self, plugin_load("runtime_eager"));
        open(&self, lanes);
        for (uint64_t generation = 0; generation < GENERATIONS; generation++) {
            run_generation(&self, generation);
            prepares += engine_last(&self, MEMORY_GENERATION)->runners.prepares;
        }
        cr_expect_geq(prepares, STRUCTURES);
        cr_expect_leq(prepares, STRUCTURES * (uint64_t)lanes, "%d lanes", (int)lanes);
        cr_expect_eq(engine_deinit(&self), 0);
    }
}

// Chains of 2 .. 9 nodes: one runner takes n * 37 KB, all together 1.6 MB.
enum { CHAINS = 8, KEPT_BYTES = 400000, ALL_BYTES = 44 * 37325 };

static void breed_chains(genome *chains[CHAINS]) {
    for (uint32_t i = 0; i < CHAINS; i++)
        chains[i] = chain_genome(image_size, 2 + i, 1 + i);
}

static void compare_chains(const evaluation_result *results, const evaluation_result *expected) {
    for (size_t i = 0; i < CHAINS; i++)
        cr_expect(result_equals(&results[i], &expected[i]), "chain %zu", i);
}

Test(reuse, a_population_is_kept_until_its_generation_ends) {
    genome *chains[CHAINS];
    evaluation_result results[2][CHAINS];
    breed_chains(chains);
    for (int32_t keep = 0; keep < 2; keep++) {
        engine self;
        init_random(&self, watch_plugin(hungry_plugin()));
        self.config.gpu_vram_cap_bytes = 100000000;
        self.config.gpu_memory_fraction = KEPT_BYTES / 1e8;
        self.config.vram_usage_threshold = 0;
        self.config.keep_population_on_gpu_within_generation = keep;
        open(&self, 1);
        for (int generation = 0; generation < 2; generation++) {
            const uint64_t before = watched.releases;
            engine_score(&self, chains, CHAINS, results[keep]);
            if (keep)
                cr_expect_eq(watched.releases, before, "in generation %d", generation);
            else
                cr_expect_gt(watched.releases, before, "in generation %d", generation);
            if (keep) cr_expect_eq(watched.runner_count, CHAINS);
            engine_end_generation(&self, results[keep], CHAINS);
            const memory_event *end = engine_last(&self, MEMORY_GENERATION);
            cr_expect_leq(end->runners.bytes, KEPT_BYTES, "after generation %d", generation);
            cr_expect_lt(watched.runner_count, CHAINS);
            if (generation == 0) cr_expect_eq(end->runners.prepares, CHAINS, "each just once");
        }
        cr_expect_eq(self.event_count, 2, "the two ends");
        cr_expect_eq(engine_deinit(&self), 0);
    }
    compare_chains(results[1], results[0]);
    destroy_genomes(chains, CHAINS);
}

Test(reuse, a_population_is_not_kept_where_memory_runs_out) {
    genome *chains[CHAINS];
    evaluation_result expected[CHAINS], results[CHAINS];
    engine self;
    breed_chains(chains);
    start_random(&self, 1, BATCH);
    engine_score(&self, chains, CHAINS, expected);
    cr_expect_eq(engine_deinit(&self), 0);
    init_random(&self, watch_plugin(hungry_plugin()));
    self.config.gpu_vram_cap_bytes = ALL_BYTES * 2 / 3;
    self.config.keep_population_on_gpu_within_generation = 1;
    self.config.vram_usage_threshold = 0;
    open(&self, 1);
    engine_score(&self, chains, CHAINS, results);
    cr_expect_gt(watched.releases, 0);
    cr_expect_gt(engine_count(&self, VRAM_RETRY), 0);
    cr_expect_eq(engine_count(&self, VRAM_SHRUNK), 0);
    cr_expect_eq(evaluation_memory_state(self.evaluation).batch, BATCH);
    compare_chains(results, expected);
    cr_expect_eq(engine_deinit(&self), 0);
    destroy_genomes(chains, CHAINS);
}

// ---- the pool ----

// A structure of 3 nodes and one of 5 take turns. When a generation ends, the other one's runner
// goes; in the next its block, if the pool still has it, is taken again.
Test(reuse, the_pool_is_trimmed_at_intervals) {
    enum { TURNS = 7, A = BATCH * BYTES_3, B = BATCH * BYTES_5 };
    static const uint64_t cached[2][TURNS] = {{0, A, B, A, B, A, B}, {0, A, 0, A, B, 0, B}};
    genome *const genomes[] = {chain_genome(image_size, 3, 1), chain_genome(image_size, 5, 2)};
    for (int i = 0; i < 2; i++) {
        engine self;
        init_random(&self, watch_plugin(hungry_plugin()));
        engine_hungry(&self)->pool = 1;
        self.config.cuda_empty_cache_interval = 3 * i;
        open(&self, 1);
        for (int turn = 0; turn < TURNS; turn++) {
            evaluation_result result;
            hox_memory memory = {.struct_size = sizeof memory};
            engine_score(&self, &genomes[turn % 2], 1, &result);
            engine_end_generation(&self, &result, 1);
            cr_assert_eq(watched.api->memory(watched.runtime, &memory, NULL), HOX_OK);
            cr_expect_eq(memory.cached_bytes, cached[i][turn], "interval %d, generation %d", 3 * i,
                         turn + 1);
        }
        cr_expect_eq(watched.trims, i * TURNS / 3, "interval %d", 3 * i);
        cr_expect_eq(engine_deinit(&self), 0);
    }
    destroy_genomes(genomes, 2);
}

// ---- the split ----

enum { SPLIT_BYTES = RANDOM_IMAGES * 3 * 12 * 12 * 4, FEW = 3 };

typedef struct placing {
    bool is_hungry;
    int64_t lanes, cap;
    int32_t cache_val_on_gpu;
} placing;

static void score_few(const placing *how, engine *self, evaluation_result results[FEW]) {
    genome *few[FEW];
    for (uint32_t i = 0; i < FEW; i++)
        few[i] = chain_genome(image_size, 2 + i, 1 + i);
    init_random(self, how->is_hungry ? hungry_plugin() : plugin_load("runtime_eager"));
    self->config.gpu_vram_cap_bytes = how->cap;
    self->config.cache_val_on_gpu = how->cache_val_on_gpu;
    self->config.vram_usage_threshold = 0;
    open(self, how->lanes);
    for (int generation = 0; generation < GENERATIONS; generation++) {
        engine_score(self, few, FEW, results);
        engine_end_generation(self, results, FEW);
    }
    destroy_genomes(few, FEW);
}

Test(reuse, a_split_is_kept_where_it_fits_and_else_streamed) {
    static const placing rows[] = {
        {false, 1, 0, 1},     {true, 1, 0, 1},     {true, 2, 0, 1},     {false, 1, 10000000, 1},
        {false, 1, 0, 0},     {true, 1, 0, 0},     {true, 2, 0, 0},     {false, 1, 80000, 1},
        {false, 2, 80000, 1}, {true, 1, 90000, 1}, {true, 2, 90000, 1}, {false, 1, 80000, 0}};
    evaluation_result expected[FEW], results[FEW];
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const placing *how = &rows[row];
        const bool is_tight = how->cap > 0 && how->cap < 100000;
        const bool is_kept = how->cache_val_on_gpu && !is_tight;
        engine self;
        score_few(how, &self, row ? results : expected);
        cr_expect_eq(self.split.samples != NULL, is_kept, "row %zu", row);
        if (is_kept)
            cr_expect_eq(self.images_read, RANDOM_IMAGES, "row %zu", row);
        else
            cr_expect_geq(self.images_read, GENERATIONS * RANDOM_IMAGES, "row %zu", row);
        cr_expect_eq(engine_count(&self, MEMORY_STREAMED), how->cache_val_on_gpu && is_tight,
                     "row %zu", row);
        if (engine_count(&self, MEMORY_STREAMED) > 0) {
            cr_expect_eq(engine_last(&self, MEMORY_STREAMED)->bytes_needed, SPLIT_BYTES);
            cr_expect_eq(engine_last(&self, MEMORY_STREAMED)->reading.total, how->cap);
        }
        for (size_t i = 0; i < FEW && row > 0; i++)
            cr_expect(result_equals(&results[i], &expected[i]), "row %zu, genome %zu", row, i);
        cr_expect_eq(engine_deinit(&self), 0);
    }
    cr_expect_eq(expected[0].reason, EVALUATION_OK);
}
