// evaluation_fixture.c - see evaluation_fixture.h.
#include "evaluation_fixture.h"

#include "genome/mutate.h"
#include "plugin_fixture.h"
#include "random_plan.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const map_size random_size = {3, 12, 12}, random_output = {3, 1, 1};

static void must(hox_status status, const hox_error *error) {
    if (status == HOX_OK) return;
    fprintf(stderr, "evaluation_fixture: %s\n", error->message);
    abort();
}

// ---- an evaluation ----

static hox_status (*real_reserve)(const hox_host *, const char *, uint64_t, hox_error *);

static hox_status count_reserve(const hox_host *host, const char *device, uint64_t bytes,
                                hox_error *error) {
    engine *self = (engine *)((char *)host - offsetof(engine, runtime.services.host));
    const uint64_t call = atomic_fetch_add(&self->reserve_count, 1) + 1,
                   bad = self->fail_at_reserve;
    if (bad > 0 && (call == bad || (call > bad && self->fails_for_good)))
        return hox_error_set(error, HOX_OUT_OF_DEVICE_MEMORY, "refused by the test");
    return real_reserve(host, device, bytes, error);
}

const hox_plugin *hungry_plugin(void) {
    void *library = dlopen(HOX_TEST_PLUGIN_DIR "/runtime_hungry.so", RTLD_NOW | RTLD_LOCAL);
    const hox_plugin *plugin = library ? dlsym(library, HOX_PLUGIN_SYMBOL) : NULL;
    if (plugin) return plugin;
    fprintf(stderr, "evaluation_fixture: %s\n", dlerror());
    abort();
}

void engine_init(engine *self, const hox_plugin *runtime, const hox_plugin *fitness) {
    hox_error error = HOX_ERROR_INIT;
    *self = (engine){.config = {.device = "cpu",
                                .eval_batch_size = 45000,
                                .eval_batch_size_min = 1,
                                .batch_size = 1,
                                .gpu_memory_fraction = 0.85,
                                .vram_usage_threshold = 0.72,
                                .vram_recovery_generations = 8,
                                .cache_val_on_gpu = 1,
                                .cache_refinement_train_on_gpu = 1,
                                .cache_refinement_test_on_gpu = 1,
                                .cuda_empty_cache_interval = 50}};
    must(instance_init(&self->runtime, runtime, "", NULL, &error), &error);
    must(instance_init(&self->fitness, fitness, "", NULL, &error), &error);
    free(self->runtime.options);
    self->runtime.options = plugin_options(runtime);
    real_reserve = self->runtime.services.host.reserve;
    self->runtime.services.host.reserve = count_reserve;
}

hungry_options *engine_hungry(engine *self) {
    return self->runtime.options;
}

static void hear(void *context, const memory_event *event) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; // lanes speak at once
    engine *self = context;
    pthread_mutex_lock(&mutex);
    if (self->event_count < ENGINE_EVENTS) self->events[self->event_count++] = *event;
    pthread_mutex_unlock(&mutex);
}

hox_status engine_open(engine *self, int64_t lanes, int64_t batch_size, hox_error *error) {
    self->config.fitness_eval_parallel = lanes;
    self->config.eval_batch_size = batch_size;
    const evaluation_setup setup = {.config = &self->config,
                                    .runtime = &self->runtime,
                                    .fitness = &self->fitness,
                                    .log = self->log,
                                    .listener = {hear, self}};
    return evaluation_create(&setup, &self->evaluation, error);
}

static hox_status read_images(void *context, uint64_t first, uint64_t count,
                              image_consumer *consume, void *consumer, hox_error *error) {
    engine *self = context;
    const evaluation_split *s = &self->split;
    const size_t image_size = (size_t)s->channels * s->height * s->width;
    self->images_read += count;
    return consume(consumer, first, count, self->images + first * image_size, error);
}

void engine_load(engine *self, map_size size, uint64_t count, const float *images,
                 const uint8_t *labels) {
    self->images = images;
    self->split = (evaluation_split){.read = read_images,
                                     .reader = self,
                                     .count = count,
                                     .channels = size.channels,
                                     .height = size.height,
                                     .width = size.width,
                                     .labels = labels};
}

uint64_t engine_deinit(engine *self) {
    evaluation_destroy(self->evaluation);
    const uint64_t left = engine_used(self);
    instance_deinit(&self->runtime);
    instance_deinit(&self->fitness);
    return left;
}

void engine_start(engine *self, const hox_plugin *runtime, const hox_plugin *fitness, int64_t lanes,
                  int64_t batch_size, map_size size, uint64_t count, const float *images,
                  const uint8_t *labels) {
    hox_error error = HOX_ERROR_INIT;
    engine_init(self, runtime, fitness);
    must(engine_open(self, lanes, batch_size, &error), &error);
    engine_load(self, size, count, images, labels);
}

void engine_score(engine *self, genome *const *genomes, size_t count, evaluation_result *results) {
    hox_error error = HOX_ERROR_INIT;
    must(evaluation_score(self->evaluation, (const genome *const *)genomes, count, &self->split,
                          results, &error),
         &error);
}

void engine_end_generation(engine *self, const evaluation_result *results, size_t count) {
    hox_error error = HOX_ERROR_INIT;
    must(evaluation_end_generation(self->evaluation, results, count, &error), &error);
}

uint64_t engine_used(const engine *self) {
    return ledger_used(self->runtime.services.ledger, "cpu");
}

size_t engine_count(const engine *self, uint32_t why) {
    size_t count = 0;
    for (size_t i = 0; i < self->event_count; i++)
        count += self->events[i].why == why;
    return count;
}

const memory_event *engine_last(const engine *self, uint32_t why) {
    for (size_t i = self->event_count; i-- > 0;)
        if (self->events[i].why == why) return &self->events[i];
    fprintf(stderr, "evaluation_fixture: no event %s\n", memory_why_names[why]);
    abort();
}

// ---- genomes ----

genome *line_genome(map_size input, map_size output, const float *values) {
    hox_error error = HOX_ERROR_INIT;
    genome *g = genome_create(HOX_READOUT_SUM, &error);
    must(error.status, &error);
    must(genome_add_node(g, (genome_node){.id = GENOME_INPUT, .size = input}, &error), &error);
    must(genome_add_node(g, (genome_node){.id = GENOME_OUTPUT, .size = output}, &error), &error);
    genome_edge edge = {.innovation = 1,
                        .from = GENOME_INPUT,
                        .to = GENOME_OUTPUT,
                        .geometry = geometry_between(input, output, &(genome_config){0}),
                        .is_enabled = true};
    edge.kernel = kernel_create(input, output, edge.geometry, &error);
    must(error.status, &error);
    if (values)
        memcpy(edge.kernel->values, values, kernel_value_count(edge.kernel) * sizeof *values);
    must(genome_add_edge(g, edge, &error), &error);
    return g;
}

static void add_node(genome *g, uint32_t id, map_size size) {
    hox_error error = HOX_ERROR_INIT;
    const genome_node node = {.id = id,
                              .activation = id > GENOME_OUTPUT ? HOX_ACTIVATION_TANH
                                                               : HOX_ACTIVATION_IDENTITY,
                              .size = size};
    must(genome_add_node(g, node, &error), &error);
}

genome *chain_genome(map_size size, uint32_t node_count, uint64_t seed) {
    hox_error error = HOX_ERROR_INIT;
    rng random = rng_stream(seed, 0, 0, RNG_PURPOSE_WEIGHTS);
    genome *g = genome_create(HOX_READOUT_SUM, &error);
    must(error.status, &error);
    g->id = seed;
    for (uint32_t id = 0; id < node_count; id++)
        add_node(g, id, size);
    genome_edge edge = {.from = GENOME_INPUT,
                        .geometry = geometry_between(size, size, &(genome_config){0}),
                        .is_enabled = true};
    for (edge.innovation = 1; edge.innovation < node_count; edge.innovation++) {
        const bool is_last = edge.innovation + 1 == node_count;
        edge.to = is_last ? GENOME_OUTPUT : (uint32_t)edge.innovation + 1;
        edge.kernel = kernel_draw(size, size, edge.geometry, 1, &random, &error);
        must(error.status, &error);
        must(genome_add_edge(g, edge, &error), &error);
        edge.from = edge.to;
    }
    return g;
}

static void mutate_often(genome **g, int times, innovation_table *innovations) {
    static const mutation_config rates = {.weights = 1,
                                          .weights_edge = 0.5,
                                          .weights_step = 0.1,
                                          .weights_replace = 0.5,
                                          .add_edge = 0.3,
                                          .add_node = 0.3,
                                          .remove_edge = 0.05,
                                          .toggle_edge = 0.05,
                                          .resize_node = 0.15,
                                          .channels = 0.1,
                                          .activation = 0.05,
                                          .add_edge_scale = 1,
                                          .tries = 20};
    static const genome_config limits = {.max_nodes = 12,
                                         .max_edges = 30,
                                         .max_kernel = 32,
                                         .allowed_channels = {.count = 2, .values = {3, 8}},
                                         .hidden_activation = HOX_ACTIVATION_TANH};
    rng unused;
    const mutation_context context = {&rates, &limits, innovations, &unused};
    for (int i = 0; i < times; i++) {
        hox_error error = HOX_ERROR_INIT;
        mutation_record record;
        must(mutate(g, &context, rng_stream(1, (uint32_t)i, 0, RNG_PURPOSE_WEIGHTS),
                    rng_stream(1, (uint32_t)i, 0, RNG_PURPOSE_STRUCTURE), &record, &error),
             &error);
    }
}

void random_genomes(genome *genomes[RANDOM_GENOMES]) {
    hox_error error = HOX_ERROR_INIT;
    innovation_table *innovations = innovation_table_create(&error);
    must(error.status, &error);
    uint64_t first;
    must(innovation_of_edge(innovations, GENOME_INPUT, GENOME_OUTPUT, &first, &error), &error);
    for (int i = 0; i < RANDOM_GENOMES; i++) {
        genomes[i] = line_genome(random_size, random_output, NULL);
        mutate_often(&genomes[i], 1 + 4 * i, innovations);
        genomes[i]->id = (uint64_t)i + 1;
    }
    genome *last = genomes[RANDOM_GENOMES - 1];
    for (size_t i = 0; i < last->edge_count; i++)
        if (last->edges[i].to == GENOME_OUTPUT) last->edges[i].is_enabled = false;
    innovation_table_destroy(innovations);
}

void destroy_genomes(genome *const *genomes, size_t count) {
    for (size_t i = 0; i < count; i++)
        genome_destroy(genomes[i]);
}

void init_random(engine *self, const hox_plugin *runtime) {
    static float images[RANDOM_IMAGES * 3 * 12 * 12];
    static uint8_t labels[RANDOM_IMAGES];
    random_images(1, sizeof images / sizeof *images, images);
    for (size_t i = 0; i < RANDOM_IMAGES; i++)
        labels[i] = images[i] > 0.6F;
    engine_init(self, runtime, plugin_load("fitness_balanced_accuracy"));
    engine_load(self, random_size, RANDOM_IMAGES, images, labels);
}

void start_random(engine *self, int64_t lanes, int64_t batch_size) {
    hox_error error = HOX_ERROR_INIT;
    init_random(self, plugin_load("runtime_eager"));
    must(engine_open(self, lanes, batch_size, &error), &error);
}

bool result_equals(const evaluation_result *a, const evaluation_result *b) {
    return a->reason == b->reason && memcmp(&a->fitness, &b->fitness, sizeof a->fitness) == 0 &&
           memcmp(&a->metrics, &b->metrics, sizeof a->metrics) == 0 &&
           memcmp(&a->facts, &b->facts, sizeof a->facts) == 0 &&
           memcmp(a->structure_hash, b->structure_hash, sizeof a->structure_hash) == 0 &&
           a->bytes_per_sample == b->bytes_per_sample && a->error.status == b->error.status &&
           strcmp(a->error.message, b->error.message) == 0;
}
