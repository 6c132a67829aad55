// population.c - whole generations on real images: the population a run has reached, or 128 genomes
// of the given topologies, on so many CIFAR-10 images, by runtimes on so many lanes in turn.
#include "require.h"

#include "base/benchmark.h"
#include "base/clock.h"
#include "base/fma_probe.h"
#include "config/field.h"
#include "evaluation/evaluation.h"
#include "experiment/checkpoint.h"
#include "io/genome_json.h"
#include "plan/value_hash.h"
#include "plugin_host/catalog.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { GENOMES = 128, MOST_CONTENDERS = 8, ROUNDS = 5, PROBE_MS = 200, MOST_KERNEL = 64 };
enum { CHANNELS = 3, SIDE = 32, PIXELS = CHANNELS * SIDE * SIDE, RECORD = 1 + PIXELS };

// ---- images ----

typedef struct data {
    size_t count;
    float *pixels;
    uint8_t *labels; // airplanes against the rest
} data;

// The file's images, again and again.
static data data_load(const char *path, size_t count) {
    data d = {count, malloc(count * PIXELS * sizeof *d.pixels), malloc(count)};
    FILE *file = fopen(path, "rb");
    require(file != NULL, "cannot open the images");
    require(d.pixels && d.labels, "out of memory");
    for (size_t i = 0; i < count; i++) {
        uint8_t record[RECORD];
        if (fread(record, RECORD, 1, file) != 1) {
            rewind(file);
            require(i > 0 && fread(record, RECORD, 1, file) == 1, "no records of CIFAR-10");
        }
        d.labels[i] = record[0] == 0;
        for (size_t p = 0; p < PIXELS; p++)
            d.pixels[i * PIXELS + p] = (float)record[1 + p] / 255.0F;
    }
    fclose(file);
    return d;
}

static hox_status read_images(void *context, uint64_t first, uint64_t count,
                              image_consumer *consume, void *consumer, hox_error *error) {
    const data *d = context;
    return consume(consumer, first, count, d->pixels + first * PIXELS, error);
}

// ---- genomes ----

typedef struct genome_list {
    const genome **items;
    size_t count;
} genome_list;

static genome_list list_create(size_t count) {
    genome_list list = {calloc(count, sizeof *list.items), count};
    require(list.items != NULL, "out of memory");
    return list;
}

static genome_list load_run(const char *folder) {
    hox_error error = HOX_ERROR_INIT;
    run_state run;
    evolution_state evolved;
    char checkpoint[PATH_MAX];
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", folder);
    succeed(checkpoint_load(checkpoint, UINT64_MAX, UINT64_MAX, NULL, &run, &evolved, &error),
            &error);
    genome_list list = list_create(evolved.population.count);
    for (size_t i = 0; i < list.count; i++)
        list.items[i] = evolved.population.items[i].genome;
    printf("the population of generation %u of %s\n", evolved.generation, folder);
    return list; // its memory is the process's
}

static genome_list load_topologies(char **paths, size_t path_count) {
    hox_error error = HOX_ERROR_INIT;
    genome_list list = list_create(GENOMES);
    for (size_t i = 0; i < list.count; i++) {
        genome *drawn;
        succeed(genome_json_load(paths[i % path_count], i, MOST_KERNEL, NULL, &drawn, &error),
                &error);
        list.items[i] = drawn;
    }
    printf("%zu genomes of %zu topologies\n", list.count, path_count);
    return list;
}

// ---- what they cost ----

typedef struct named_work {
    uint64_t name[2]; // of what a node computes
    double flops;     // an image
} named_work;

static int compare_names(const void *a, const void *b) {
    return memcmp(((const named_work *)a)->name, ((const named_work *)b)->name,
                  sizeof((const named_work *)a)->name);
}

static double node_flops(const hox_plan *p, uint32_t node) {
    double sum = 0.0;
    for (uint32_t e = p->node_edge_begin[node]; e < p->node_edge_begin[node + 1]; e++)
        sum += 2.0 * p->node_channels[p->edge_source[e]] * p->node_channels[node] *
               p->edge_kernel_h[e] * p->edge_kernel_w[e] * p->node_height[node] *
               p->node_width[node];
    return sum;
}

// FLOPs of the direct form, an image, over all genomes; distinct: each node's map once.
static double count_flops(const genome_list *list, double *distinct) {
    hox_error error = HOX_ERROR_INIT;
    named_work *work = NULL;
    size_t count = 0;
    double sum = 0.0;
    for (size_t i = 0; i < list->count; i++) {
        plan p;
        plan_weights weights;
        succeed(plan_init(&p, list->items[i], &error), &error);
        if (p.has_path) {
            succeed(plan_weights_init(&weights, &p, list->items[i], &error), &error);
            work = realloc(work, (count + p.view.node_count) * sizeof *work);
            require(work != NULL, "out of memory");
            for (uint32_t n = 1; n < p.view.node_count; n++, count++) {
                memcpy(work[count].name, weights.view.node_value_hash + (size_t)2 * n,
                       sizeof work->name);
                work[count].flops = node_flops(&p.view, n);
                sum += work[count].flops;
            }
            plan_weights_deinit(&weights);
        }
        plan_deinit(&p);
    }
    qsort(work, count, sizeof *work, compare_names);
    *distinct = 0.0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || compare_names(&work[i], &work[i - 1]) != 0) *distinct += work[i].flops;
    free(work);
    return sum;
}

// ---- contenders ----

typedef struct contender {
    char name[32];
    uint32_t lanes;
    instance runtime, fitness;
    evaluation *evaluation;
    evaluation_split split;
    evaluation_result *results;
    double seconds[ROUNDS], share[ROUNDS], speed[ROUNDS]; // share of the peak, speed over the first
} contender;

static void open_plugin(catalog *plugins, uint32_t kind, const char *name, instance *i) {
    hox_error error = HOX_ERROR_INIT;
    const hox_plugin *plugin;
    const char *path;
    succeed(catalog_open(plugins, kind, name, ".", NULL, &plugin, &path, &error), &error);
    succeed(instance_init(i, plugin, path, NULL, &error), &error);
}

// word: RUNTIME:LANES.
static void open_contender(contender *c, const char *word, catalog *plugins, data *d,
                           size_t genome_count) {
    hox_error error = HOX_ERROR_INIT;
    arena memory = {0};
    problem_list problems = {0};
    evaluation_config config = {0};
    const field_reader reader = {.memory = &memory, .problems = &problems};
    const field_section section = {"", FIELD_TABLE(evaluation_fields, evaluation_field_count),
                                   &config, false};
    require(sscanf(word, "%31[^:]:%u", c->name, &c->lanes) == 2, "expected RUNTIME:LANES");
    succeed(field_set_defaults(&section, 1, &reader, &error), &error);
    config.fitness_eval_parallel = c->lanes;
    c->split = (evaluation_split){.read = read_images,
                                  .reader = d,
                                  .count = d->count,
                                  .channels = CHANNELS,
                                  .height = SIDE,
                                  .width = SIDE,
                                  .labels = d->labels};
    open_plugin(plugins, HOX_KIND_RUNTIME, c->name, &c->runtime);
    open_plugin(plugins, HOX_KIND_FITNESS, "logloss", &c->fitness);
    const evaluation_setup setup = {
        .config = &config, .runtime = &c->runtime, .fitness = &c->fitness};
    succeed(evaluation_create(&setup, &c->evaluation, &error), &error);
    c->results = calloc(genome_count, sizeof *c->results);
    require(c->results != NULL, "out of memory");
    arena_deinit(&memory);
}

static double score(contender *c, const genome_list *list) {
    hox_error error = HOX_ERROR_INIT;
    const uint64_t start = clock_ns();
    succeed(
        evaluation_score(c->evaluation, list->items, list->count, &c->split, c->results, &error),
        &error);
    return clock_seconds_since(start);
}

// Logits in another order of summing differ in the last places, and so does log loss.
static void compare(const contender *a, const contender *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const evaluation_result *left = &a->results[i], *right = &b->results[i];
        require(right->reason == EVALUATION_OK, right->error.message);
        const double off = left->fitness - right->fitness;
        require(off * off <= 1e-8 * (1.0 + left->fitness * left->fitness), "fitness differs");
    }
}

static void measure(contender *contenders, size_t count, const genome_list *list, double gflop,
                    int rounds) {
    for (size_t i = 0; i < count; i++) { // warm, and right
        score(&contenders[i], list);
        compare(&contenders[0], &contenders[i], list->count);
    }
    for (int r = 0; r < rounds; r++)
        for (size_t i = 0; i < count; i++) {
            contender *c = &contenders[i];
            const double before = fma_probe_gflops(c->lanes, PROBE_MS);
            c->seconds[r] = score(c, list);
            const double peak = 0.5 * (before + fma_probe_gflops(c->lanes, PROBE_MS));
            c->share[r] = gflop / c->seconds[r] / peak;
            c->speed[r] = contenders[0].seconds[r] / c->seconds[r];
            compare(&contenders[0], c, list->count);
        }
}

static void print_row(const contender *c, const data *d, const genome_list *list, double gflop,
                      int rounds) {
    const double seconds = benchmark_median(c->seconds, (size_t)rounds);
    printf("| %s | %u | %zu | %zu | %.2f | %.1f | %.1f | %.0f %% | %.2f |\n", c->name, c->lanes,
           list->count, d->count, seconds, gflop / seconds, 31e3 * seconds / gflop,
           100.0 * benchmark_median(c->share, (size_t)rounds),
           benchmark_median(c->speed, (size_t)rounds));
}

// Splits words at commas, in place; their number.
static size_t split_words(char *text, char *words[MOST_CONTENDERS]) {
    size_t count = 0;
    for (char *word = strtok(text, ","); word && count < MOST_CONTENDERS; word = strtok(NULL, ","))
        words[count++] = word;
    return count;
}

int main(int argc, char **argv) {
    hox_error error = HOX_ERROR_INIT;
    catalog plugins;
    struct stat info;
    struct rusage use;
    contender contenders[MOST_CONTENDERS] = {0};
    char *words[MOST_CONTENDERS];
    if (argc < 6) {
        fprintf(stderr, "usage: bench_population CIFAR.bin IMAGES ROUNDS RUNTIME:LANES[,...] "
                        "RUN|TOPOLOGY.json ...\n");
        return 2;
    }
    const int rounds = atoi(argv[3]);
    const size_t images = strtoul(argv[2], NULL, 10);
    require(rounds >= 1 && rounds <= ROUNDS && images >= 1, "bad ROUNDS or IMAGES");
    const bool is_run = stat(argv[5], &info) == 0 && S_ISDIR(info.st_mode);
    const genome_list list =
        is_run ? load_run(argv[5]) : load_topologies(argv + 5, (size_t)argc - 5);
    data d = data_load(argv[1], images);
    double distinct;
    const double flops = count_flops(&list, &distinct), gflop = flops * (double)images * 1e-9;
    printf("%.2f TFLOP; %.2f where each distinct map counts once: 1 / %.2f\n", 1e-3 * gflop,
           1e-12 * distinct * (double)images, flops / distinct);

    succeed(catalog_init(&plugins, NULL, 0, &error), &error);
    const size_t count = split_words(argv[4], words);
    for (size_t i = 0; i < count; i++)
        open_contender(&contenders[i], words[i], &plugins, &d, list.count);
    measure(contenders, count, &list, gflop, rounds);
    puts(
        "| runtime | lanes | genomes | images | s | GFLOP/s | s per 31 TFLOP | of the peak | x the "
        "first |\n|---|---|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < count; i++)
        print_row(&contenders[i], &d, &list, gflop, rounds);
    getrusage(RUSAGE_SELF, &use);
    printf(
        "peak resident memory %.1f MiB, of it images %.1f MiB here and as much in each runtime\n",
        (double)use.ru_maxrss / 1024, (double)images * PIXELS * sizeof(float) / (1 << 20));
    for (size_t i = 0; i < count; i++) {
        evaluation_destroy(contenders[i].evaluation);
        instance_deinit(&contenders[i].runtime);
        instance_deinit(&contenders[i].fitness);
        free(contenders[i].results);
    }
    catalog_deinit(&plugins);
    free(d.pixels);
    free(d.labels);
    return 0;
}
