// train.c - steps of training on a genome: forward, binary cross-entropy, backward, as fast as a
// runtime does them on each of so many lanes; or the gradient of one batch, for whoever compares.
#include "require.h"

#include "base/benchmark.h"
#include "base/clock.h"
#include "base/fma_probe.h"
#include "io/genome_json.h"
#include "plan/value_hash.h"
#include "plugin_host/catalog.h"
#include "plugin_host/instance.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 128, BATCHES = 8, IMAGES = BATCH * BATCHES, MOST_KERNEL = 64 };
enum { ROUNDS = 5, MOST_LANES = 256, PROBE_MS = 100 };

// ---- what is trained, and with what ----

typedef struct trained {
    genome *genome;
    plan plan;
    plan_weights weights;
    catalog plugins;
    instance runtime; // leads into this struct: do not move it
    const hox_runtime_api *api;
    hox_runtime *opened;
    hox_samples *samples;
} trained;

static void load_genome(trained *t, const char *path) {
    hox_error error = HOX_ERROR_INIT;
    succeed(genome_json_load(path, 0, MOST_KERNEL, NULL, &t->genome, &error), &error);
    succeed(plan_init(&t->plan, t->genome, &error), &error);
    require(t->plan.has_path, "no path from input to output");
    succeed(plan_weights_init(&t->weights, &t->plan, t->genome, &error), &error);
}

static void open_runtime(trained *t, const char *name, uint32_t lanes) {
    hox_error error = HOX_ERROR_INIT;
    const hox_plugin *plugin;
    const char *path;
    hox_runtime_caps caps = {.struct_size = sizeof caps};
    succeed(catalog_init(&t->plugins, NULL, 0, &error), &error);
    succeed(catalog_open(&t->plugins, HOX_KIND_RUNTIME, name, ".", NULL, &plugin, &path, &error),
            &error);
    succeed(instance_init(&t->runtime, plugin, path, NULL, &error), &error);
    t->api = plugin->runtime;
    succeed(
        t->api->open(&t->runtime.services.host, 0, lanes, t->runtime.options, &t->opened, &error),
        &error);
    t->api->caps(t->opened, &caps);
    require(caps.flags & HOX_RUNTIME_TRAINS, "this runtime does not train");
}

static void make_samples(trained *t) {
    hox_error error = HOX_ERROR_INIT;
    const map_size size = genome_find_node(t->genome, GENOME_INPUT)->size;
    const size_t count = (size_t)IMAGES * size.channels * size.height * size.width;
    float *pixels = malloc(count * sizeof *pixels);
    require(pixels != NULL, "out of memory");
    benchmark_pixels(pixels, count);
    succeed(t->api->samples_create(t->opened, IMAGES, size.channels, size.height, size.width,
                                   &t->samples, &error),
            &error);
    succeed(t->api->samples_write(t->samples, 0, IMAGES, pixels, &error), &error);
    free(pixels);
}

static void trained_deinit(trained *t) {
    t->api->samples_destroy(t->samples);
    t->api->close(t->opened);
    instance_deinit(&t->runtime);
    catalog_deinit(&t->plugins);
    plan_weights_deinit(&t->weights);
    plan_deinit(&t->plan);
    genome_destroy(t->genome);
}

// ---- a lane ----

typedef struct lane {
    const trained *trained;
    uint32_t index;
    hox_runner *runner;
    float *gradient;
    double loss;                       // mean over the last batch
    double seconds, images_per_second; // to run for; found
} lane;

static void lane_init(lane *l, const trained *t, uint32_t index) {
    hox_error error = HOX_ERROR_INIT;
    const hox_prepare_options options = {.struct_size = sizeof options,
                                         .capacity = BATCH,
                                         .precision = HOX_PRECISION_FP32,
                                         .purpose = HOX_PURPOSE_TRAIN};
    *l = (lane){.trained = t, .index = index};
    succeed(t->api->prepare(t->opened, index, &t->plan.view, &options, &l->runner, &error), &error);
    l->gradient = calloc(t->plan.view.weight_count, sizeof *l->gradient);
    require(l->gradient != NULL, "out of memory");
}

static void lane_deinit(lane *l) {
    l->trained->api->release(l->runner);
    free(l->gradient);
}

// Every second image is a one.
static double entropy(double logit, uint64_t image, float *dlogit) {
    const double target = (double)(image % 2);
    *dlogit = (float)((1.0 / (1.0 + exp(-logit)) - target) / BATCH);
    return (fmax(logit, 0.0) - logit * target + log1p(exp(-fabs(logit)))) / BATCH;
}

// Images first .. first + BATCH - 1, from a gradient of zero.
static void run_step(lane *l, uint64_t first) {
    const trained *t = l->trained;
    hox_error error = HOX_ERROR_INIT;
    uint64_t indices[BATCH];
    float logits[BATCH], dlogits[BATCH];
    for (uint64_t i = 0; i < BATCH; i++)
        indices[i] = first + i;
    memset(l->gradient, 0, t->plan.view.weight_count * sizeof *l->gradient);
    succeed(t->api->train_forward(l->runner, &t->weights.view, t->samples, indices, BATCH, logits,
                                  &error),
            &error);
    l->loss = 0.0;
    for (size_t i = 0; i < BATCH; i++)
        l->loss += entropy((double)logits[i], indices[i], &dlogits[i]);
    succeed(t->api->train_backward(l->runner, dlogits, l->gradient, &error), &error);
}

static void *run_lane(void *argument) {
    lane *l = argument;
    uint64_t steps = 0;
    const uint64_t start = clock_ns();
    do
        run_step(l, (l->index + steps++) % BATCHES * BATCH);
    while (clock_seconds_since(start) < l->seconds);
    l->images_per_second = (double)(steps * BATCH) / clock_seconds_since(start);
    return NULL;
}

// Sum over the lanes, each on its own thread.
static double run_round(lane *lanes, uint32_t count, double seconds) {
    pthread_t threads[MOST_LANES];
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        lanes[i].seconds = seconds;
        require(pthread_create(&threads[i], NULL, run_lane, &lanes[i]) == 0, "no thread");
    }
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        sum += lanes[i].images_per_second;
    }
    return sum;
}

// ---- numbers ----

static json_t *measure(lane *lanes, uint32_t count, double seconds) {
    double speeds[ROUNDS], peaks[ROUNDS];
    run_round(lanes, count, 0.0); // warm
    for (int i = 0; i < ROUNDS; i++) {
        peaks[i] = fma_probe_gflops(count, PROBE_MS);
        speeds[i] = run_round(lanes, count, seconds / ROUNDS);
    }
    return json_pack("{s:f, s:f}", "images_per_second", benchmark_median(speeds, ROUNDS),
                     "peak_gflops", benchmark_median(peaks, ROUNDS));
}

static json_t *edge_json(const trained *t, uint32_t edge, const float *gradient) {
    const hox_plan *p = &t->plan.view;
    const uint64_t begin = p->edge_weight_offset[edge];
    const uint64_t end =
        edge + 1 < p->edge_count ? p->edge_weight_offset[edge + 1] : p->weight_count;
    json_t *values = json_array();
    for (uint64_t i = begin; i < end; i++)
        json_array_append_new(values, json_real((double)gradient[i]));
    const genome_edge *of = &t->genome->edges[t->plan.edge_index[edge]];
    return json_pack("{s:I, s:o}", "innovation", (json_int_t)of->innovation, "gradient", values);
}

// Of the mean loss over the first batch, edges in the plan's order: kernel, then bias.
static json_t *gradient_json(lane *l) {
    json_t *edges = json_array();
    run_step(l, 0);
    for (uint32_t e = 0; e < l->trained->plan.view.edge_count; e++)
        json_array_append_new(edges, edge_json(l->trained, e, l->gradient));
    return json_pack("{s:f, s:o}", "loss", l->loss, "edges", edges);
}

static void print_json(json_t *result) {
    json_dumpf(result, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(result);
}

int main(int argc, char **argv) {
    trained t = {0};
    lane *lanes;
    if (argc < 5 || argc > 6 || (argc == 6 && strcmp(argv[5], "--gradient") != 0)) {
        fprintf(stderr, "usage: bench_train RUNTIME LANES GENOME.json SECONDS [--gradient]\n");
        return 2;
    }
    const uint32_t count = (uint32_t)strtoul(argv[2], NULL, 10);
    const double seconds = strtod(argv[4], NULL);
    require(count >= 1 && count <= MOST_LANES && seconds >= 0.0, "bad LANES or SECONDS");
    load_genome(&t, argv[3]);
    open_runtime(&t, argv[1], count);
    make_samples(&t);
    lanes = calloc(count, sizeof *lanes);
    require(lanes != NULL, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        lane_init(&lanes[i], &t, i);
    print_json(argc == 6 ? gradient_json(&lanes[0]) : measure(lanes, count, seconds));
    for (uint32_t i = 0; i < count; i++)
        lane_deinit(&lanes[i]);
    free(lanes);
    trained_deinit(&t);
    return 0;
}
