// lanes.c - what a second lane is worth, beside what a second core is worth to bare arithmetic:
// genomes of the given topologies on made-up images, probe and lanes in turn.
#include "base/clock.h"
#include "base/cpu.h"
#include "base/fma_probe.h"
#include "config/field.h"
#include "evaluation/evaluation.h"
#include "io/genome_json.h"
#include "plugin_host/catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RUNS = 7,
    COPIES = 8,
    IMAGES = 128,
    SIDE = 32,
    PIXELS = 3 * SIDE * SIDE,
    MOST_LANES = 8,
    PROBE_MS = 500
};

static void require(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "bench_lanes: %s\n", what);
    exit(1);
}

static void succeed(hox_status status, const hox_error *error) {
    require(status == HOX_OK, error->message);
}

// ---- the lanes ----

typedef struct data {
    float *images;
    uint8_t *labels;
} data;

static hox_status read_images(void *context, uint64_t first, uint64_t count,
                              image_consumer *consume, void *consumer, hox_error *error) {
    const data *d = context;
    return consume(consumer, first, count, d->images + first * PIXELS, error);
}

typedef struct engine {
    instance runtime, fitness;
    evaluation *evaluation;
    evaluation_split split;
} engine;

static void open_plugin(catalog *plugins, uint32_t kind, const char *name, instance *i) {
    hox_error error = HOX_ERROR_INIT;
    const hox_plugin *plugin;
    const char *path;
    succeed(catalog_open(plugins, kind, name, ".", NULL, &plugin, &path, &error), &error);
    succeed(instance_init(i, plugin, path, NULL, &error), &error);
}

static void engine_open(engine *e, catalog *plugins, data *d, const char *runtime,
                        uint32_t lane_count) {
    hox_error error = HOX_ERROR_INIT;
    arena memory = {0};
    problem_list problems = {0};
    evaluation_config config = {0};
    const field_reader reader = {.memory = &memory, .problems = &problems};
    const field_section section = {"", FIELD_TABLE(evaluation_fields, evaluation_field_count),
                                   &config, false};
    succeed(field_set_defaults(&section, 1, &reader, &error), &error);
    config.fitness_eval_parallel = lane_count;
    *e = (engine){.split = {.read = read_images,
                            .reader = d,
                            .count = IMAGES,
                            .channels = 3,
                            .height = SIDE,
                            .width = SIDE,
                            .labels = d->labels}};
    open_plugin(plugins, HOX_KIND_RUNTIME, runtime, &e->runtime);
    open_plugin(plugins, HOX_KIND_FITNESS, "logloss", &e->fitness);
    const evaluation_setup setup = {
        .config = &config, .runtime = &e->runtime, .fitness = &e->fitness};
    succeed(evaluation_create(&setup, &e->evaluation, &error), &error);
    arena_deinit(&memory);
}

static void engine_close(engine *e) {
    evaluation_destroy(e->evaluation);
    instance_deinit(&e->runtime);
    instance_deinit(&e->fitness);
}

static double time_lanes(engine *e, genome *const *genomes, size_t count,
                         evaluation_result *results) {
    hox_error error = HOX_ERROR_INIT;
    const uint64_t start = clock_ns();
    succeed(evaluation_score(e->evaluation, (const genome *const *)genomes, count, &e->split,
                             results, &error),
            &error);
    return clock_seconds_since(start);
}

static void compare(const evaluation_result *a, const evaluation_result *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        require(a[i].reason == EVALUATION_OK, a[i].error.message);
        require(memcmp(&a[i].fitness, &b[i].fitness, sizeof a[i].fitness) == 0,
                "lanes change a fitness");
    }
}

static int compare_doubles(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double median(double *values) {
    qsort(values, RUNS, sizeof *values, compare_doubles);
    return values[RUNS / 2];
}

int main(int argc, char **argv) {
    hox_error error = HOX_ERROR_INIT;
    catalog plugins;
    if (argc < 3) {
        fprintf(stderr, "usage: bench_lanes RUNTIME GENOME.json ...\n");
        return 2;
    }
    const uint32_t lanes = cpu_core_count() < MOST_LANES ? cpu_core_count() : MOST_LANES;
    succeed(catalog_init(&plugins, NULL, 0, &error), &error);
    const size_t count = (size_t)(argc - 2) * COPIES;
    genome **genomes = calloc(count, sizeof *genomes);
    evaluation_result *one = calloc(count, sizeof *one), *many = calloc(count, sizeof *many);
    data d = {calloc((size_t)IMAGES * PIXELS, sizeof *d.images), calloc(IMAGES, 1)};
    require(genomes && one && many && d.images && d.labels, "out of memory");
    for (size_t i = 0; i < count; i++)
        succeed(genome_json_load(argv[2 + i / COPIES], i, 64, NULL, &genomes[i], &error), &error);
    srand(1);
    for (size_t i = 0; i < (size_t)IMAGES * PIXELS; i++)
        d.images[i] = (float)rand() / (float)RAND_MAX - 0.5F;
    for (size_t i = 0; i < IMAGES; i++)
        d.labels[i] = i % 2;

    engine single, multiple;
    engine_open(&single, &plugins, &d, argv[1], 1);
    engine_open(&multiple, &plugins, &d, argv[1], lanes);
    time_lanes(&single, genomes, count, one); // both are warm, and right
    time_lanes(&multiple, genomes, count, many);
    compare(one, many, count);

    double probe_gain[RUNS], lane_gain[RUNS], share[RUNS];
    for (int r = 0; r < RUNS; r++) {
        const double probe_one = fma_probe_gflops(1, PROBE_MS);
        const double lane_one = time_lanes(&single, genomes, count, one);
        const double lane_all = time_lanes(&multiple, genomes, count, many);
        const double probe_all = fma_probe_gflops(lanes, PROBE_MS);
        compare(one, many, count);
        probe_gain[r] = probe_all / probe_one;
        lane_gain[r] = lane_one / lane_all;
        share[r] = lane_gain[r] / probe_gain[r];
        printf("run %d: probe %.0f -> %.0f GFLOP/s, lanes %.3f s -> %.3f s, share %.3f\n", r,
               probe_one, probe_all, lane_one, lane_all, share[r]);
    }
    printf(
        "%zu genomes on %d images, runtime %s, %u lanes: probe x %.2f, lanes x %.2f, share of the "
        "probe %.2f (medians of %d)\n",
        count, IMAGES, argv[1], lanes, median(probe_gain), median(lane_gain), median(share), RUNS);

    engine_close(&single);
    engine_close(&multiple);
    for (size_t i = 0; i < count; i++)
        genome_destroy(genomes[i]);
    free(genomes);
    free(one);
    free(many);
    free(d.images);
    free(d.labels);
    catalog_deinit(&plugins);
    return 0;
}
