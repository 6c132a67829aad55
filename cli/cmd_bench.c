// cmd_bench.c - hox bench: how fast runtimes evaluate genomes, beside the processor's own peak.
#include "command.h"
#include "opening.h"
#include "result.h"

#include "base/array.h"
#include "base/benchmark.h"
#include "base/clock.h"
#include "base/fma_probe.h"
#include "config/field.h"
#include "evaluation/evaluation.h"
#include "plan/plan.h"
#include "plugin_host/catalog.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 101, MOST_RUNTIMES = 16, PROBE_MS = 100 };

// ---- logits, by way of a fitness that keeps them ----

static hox_status keep_logits(const void *options, const hox_predictions *p,
                              const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)facts, (void)error;
    float *const *logits = options;
    memcpy(*logits, p->logits, p->count * sizeof **logits);
    *fitness = 0.0;
    return HOX_OK;
}

static const hox_fitness_api keeper_api = {.struct_size = sizeof keeper_api, .score = keep_logits};
static const hox_plugin keeper = {.struct_size = sizeof keeper,
                                  .name = "keeper",
                                  .kind = HOX_KIND_FITNESS,
                                  .options_size = sizeof(float *),
                                  .fitness = &keeper_api};

// ---- a contender ----

typedef struct contender {
    const char *name;
    instance runtime, fitness; // lead into this struct: do not move it
    evaluation *evaluation;
    evaluation_split split;
    float *logits;
    double seconds[MOST_ROUNDS];
} contender;

// What is measured, and on what.
typedef struct bench {
    terminal *terminal;
    catalog plugins;
    evaluation_config config;
    arena memory; // texts of config
    int64_t images, rounds;
    genome *genome;
    map_size size;
    uint64_t flops; // an image
    float *pixels;
    uint8_t *labels;
    contender *contenders;
    size_t contender_count;
    double peak[MOST_ROUNDS]; // GFLOP/s of the processor; 0 = nobody runs on it
} bench;

static hox_status read_pixels(void *context, uint64_t first, uint64_t count,
                              image_consumer *consume, void *consumer, hox_error *error) {
    const bench *b = context;
    const size_t image = (size_t)b->size.channels * b->size.height * b->size.width;
    return consume(consumer, first, count, b->pixels + first * image, error);
}

static hox_status open_contender(bench *b, contender *c, const char *name, hox_error *error) {
    const hox_plugin *plugin;
    const char *path;
    c->name = name;
    HOX_TRY(catalog_open(&b->plugins, HOX_KIND_RUNTIME, name, ".", &b->terminal->log, &plugin,
                         &path, error));
    HOX_TRY(instance_init(&c->runtime, plugin, path, &b->terminal->log, error));
    HOX_TRY(instance_init(&c->fitness, &keeper, "", NULL, error));
    c->logits = array_create((size_t)b->images, sizeof *c->logits, error);
    if (!c->logits) return HOX_OUT_OF_HOST_MEMORY;
    c->fitness.options = &c->logits;
    c->split = (evaluation_split){.read = read_pixels,
                                  .reader = b,
                                  .count = (uint64_t)b->images,
                                  .channels = b->size.channels,
                                  .height = b->size.height,
                                  .width = b->size.width,
                                  .labels = b->labels};
    const evaluation_setup setup = {.config = &b->config,
                                    .runtime = &c->runtime,
                                    .fitness = &c->fitness,
                                    .log = &b->terminal->log};
    return evaluation_create(&setup, &c->evaluation, error);
}

static void close_contender(contender *c) {
    evaluation_destroy(c->evaluation);
    c->fitness.options = NULL; // our own
    instance_deinit(&c->runtime);
    instance_deinit(&c->fitness);
    free(c->logits);
}

// The peak is the processor's; other devices have theirs.
static bool is_on_cpu(const contender *c) {
    return evaluation_device(c->evaluation)->kind == HOX_DEVICE_CPU;
}

static hox_status run_once(bench *b, contender *c, double *seconds, hox_error *error) {
    const genome *const genomes[] = {b->genome};
    evaluation_result result;
    const uint64_t start = clock_ns();
    HOX_TRY(evaluation_score(c->evaluation, genomes, 1, &c->split, &result, error));
    *seconds = clock_seconds_since(start);
    if (result.reason == EVALUATION_OK) return HOX_OK;
    return hox_error_set(error, result.error.status, "runtime %s: %s", c->name,
                         result.error.message);
}

// All are held against the first, as closely as fp32 in another order allows.
static hox_status compare(const bench *b, const contender *c, hox_error *error) {
    const contender *first = &b->contenders[0];
    float scale = 1.0F;
    for (int64_t i = 0; i < b->images; i++)
        scale = fmaxf(scale, fabsf(first->logits[i]));
    for (int64_t i = 0; i < b->images; i++)
        if (!(fabsf(c->logits[i] - first->logits[i]) <= 1e-3F * scale))
            return hox_error_set(
                error, HOX_INTERNAL, "image %lld: runtime %s finds %g, %s finds %g: not timed",
                (long long)i, c->name, (double)c->logits[i], first->name, (double)first->logits[i]);
    return HOX_OK;
}

// Right first, then in turn.
static hox_status measure(bench *b, hox_error *error) {
    double warm;
    uint32_t lanes = 0; // of the first one on the processor
    for (size_t i = 0; i < b->contender_count; i++) {
        HOX_TRY(run_once(b, &b->contenders[i], &warm, error));
        HOX_TRY(compare(b, &b->contenders[i], error));
        if (lanes == 0 && is_on_cpu(&b->contenders[i]))
            lanes = evaluation_lane_count(b->contenders[i].evaluation);
    }
    for (int64_t round = 0; round < b->rounds; round++) {
        b->peak[round] = lanes > 0 ? fma_probe_gflops(lanes, PROBE_MS) : 0.0;
        for (size_t i = 0; i < b->contender_count; i++)
            HOX_TRY(run_once(b, &b->contenders[i], &b->contenders[i].seconds[round], error));
    }
    return HOX_OK;
}

// ---- numbers ----

static json_t *contender_json(const bench *b, const contender *c) {
    double gflops[MOST_ROUNDS], share[MOST_ROUNDS], ratio[MOST_ROUNDS];
    const double work = (double)b->flops * (double)b->images * 1e-9;
    for (int64_t i = 0; i < b->rounds; i++) {
        gflops[i] = work / c->seconds[i];
        share[i] = b->peak[i] > 0.0 ? gflops[i] / b->peak[i] : 0.0;
        ratio[i] = b->contenders[0].seconds[i] / c->seconds[i];
    }
    json_t *logits = json_array(); // the first, for whoever compares
    for (int i = 0; i < 16; i++)
        json_array_append_new(logits, json_real((double)c->logits[i]));
    json_t *share_of_peak =
        is_on_cpu(c) ? json_real(benchmark_median(share, (size_t)b->rounds)) : json_null();
    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:o, s:f, s:o}", "runtime", c->name, "device",
                     evaluation_device(c->evaluation)->address, "seconds",
                     benchmark_median(c->seconds, (size_t)b->rounds), "images_per_second",
                     (double)b->images / benchmark_median(c->seconds, (size_t)b->rounds), "gflops",
                     benchmark_median(gflops, (size_t)b->rounds), "share_of_peak", share_of_peak,
                     "speed_over_first", benchmark_median(ratio, (size_t)b->rounds), "logits",
                     logits);
}

static json_t *genome_json(const bench *b, const char *path) {
    json_t *list = json_array();
    for (size_t i = 0; i < b->contender_count; i++)
        json_array_append_new(list, contender_json(b, &b->contenders[i]));
    const double peak = benchmark_median(b->peak, (size_t)b->rounds);
    return json_pack("{s:s, s:f, s:o, s:o}", "genome", path, "mflop_per_image",
                     (double)b->flops * 1e-6, "peak_gflops",
                     peak > 0.0 ? json_real(peak) : json_null(), "runtimes", list);
}

static double number_at(const json_t *json, const char *key) {
    return json_number_value(json_object_get(json, key));
}

static void print_contender(const json_t *row) {
    const json_t *share = json_object_get(row, "share_of_peak");
    printf("  %-12s  %-8s  %10.0f  %8.1f  ", json_string_value(json_object_get(row, "runtime")),
           json_string_value(json_object_get(row, "device")), number_at(row, "images_per_second"),
           number_at(row, "gflops"));
    if (json_is_null(share))
        printf("       -");
    else
        printf("%6.1f %%", 100.0 * json_number_value(share));
    printf("  %6.2f\n", number_at(row, "speed_over_first"));
}

static void print_genome(const json_t *result) {
    size_t i;
    json_t *row;
    printf("%s: %.2f MFLOP an image", json_string_value(json_object_get(result, "genome")),
           number_at(result, "mflop_per_image"));
    if (json_is_null(json_object_get(result, "peak_gflops")))
        puts("");
    else
        printf("; multiply-adds alone run at %.1f GFLOP/s\n", number_at(result, "peak_gflops"));
    puts("  runtime       device      images/s   GFLOP/s   of peak   speed");
    json_array_foreach(json_object_get(result, "runtimes"), i, row) {
        print_contender(row);
    }
}

// ---- setting up ----

static hox_status draw_pixels(bench *b, hox_error *error) {
    const size_t count = (size_t)b->images * b->size.channels * b->size.height * b->size.width;
    free(b->pixels);
    b->pixels = array_create(count, sizeof *b->pixels, error);
    if (!b->pixels) return HOX_OUT_OF_HOST_MEMORY;
    benchmark_pixels(b->pixels, count);
    return HOX_OK;
}

static hox_status look_at_genome(bench *b, hox_error *error) {
    plan p;
    HOX_TRY(plan_init(&p, b->genome, error));
    b->flops = p.view.flops_per_sample;
    plan_deinit(&p);
    b->size = genome_find_node(b->genome, GENOME_INPUT)->size;
    return draw_pixels(b, error);
}

static hox_status bench_genome(bench *b, const option_values *names, hox_error *error) {
    static const char *const usual[] = {"eager", "graph", "fused"};
    const char *const *list = names->count > 0 ? names->items : usual;
    const size_t count = names->count > 0 ? names->count : sizeof usual / sizeof *usual;
    HOX_TRY(look_at_genome(b, error));
    b->contenders = array_create(count, sizeof *b->contenders, error);
    if (!b->contenders) return HOX_OUT_OF_HOST_MEMORY;
    for (b->contender_count = 0; b->contender_count < count;) {
        const size_t i = b->contender_count++;
        HOX_TRY(open_contender(b, &b->contenders[i], list[i], error));
    }
    return measure(b, error);
}

static void close_contenders(bench *b) {
    for (size_t i = 0; i < b->contender_count; i++)
        close_contender(&b->contenders[i]);
    free(b->contenders);
    b->contenders = NULL;
    b->contender_count = 0;
}

// A whole number of an option, or its default.
static int read_number(const command_line *line, const char *name, int64_t least, int64_t most,
                       int64_t fallback, int64_t *value, terminal *t) {
    const char *text = command_line_value(line, name);
    char *end;
    *value = fallback;
    if (!text) return EXIT_OK;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (*text && !*end && errno == 0 && *value >= least && *value <= most) return EXIT_OK;
    terminal_error(t, "--%s %s: expected a whole number from %lld to %lld", name, text,
                   (long long)least, (long long)most);
    return EXIT_USAGE;
}

static int bench_init(bench *b, const command_line *line, terminal *t) {
    *b = (bench){.terminal = t};
    hox_error error = HOX_ERROR_INIT;
    problem_list problems = {0};
    const field_reader reader = {.memory = &b->memory, .problems = &problems};
    const field_section section = {"", FIELD_TABLE(evaluation_fields, evaluation_field_count),
                                   &b->config, false};
    const option_values *paths = command_line_values(line, "plugin-path");
    if (command_line_values(line, "runtime")->count > MOST_RUNTIMES) {
        terminal_error(t, "more than %d runtimes", MOST_RUNTIMES);
        return EXIT_USAGE;
    }
    hox_status status = field_set_defaults(&section, 1, &reader, &error);
    if (status == HOX_OK) status = catalog_init(&b->plugins, paths->items, paths->count, &error);
    if (status != HOX_OK) terminal_error(t, "%s", error.message);
    int code = command_exit_code(status, false);
    if (code == EXIT_OK) code = read_number(line, "images", 16, 1 << 20, 1024, &b->images, t);
    if (code == EXIT_OK)
        code = read_number(line, "batch", 1, 1 << 20, 128, &b->config.eval_batch_size, t);
    if (code == EXIT_OK)
        code = read_number(line, "lanes", 1, 1024, 0, &b->config.fitness_eval_parallel, t);
    if (code == EXIT_OK) code = read_number(line, "rounds", 1, MOST_ROUNDS, 7, &b->rounds, t);
    if (code == EXIT_OK && !(b->labels = array_create((size_t)b->images, 1, NULL)))
        code = EXIT_DEVICE;
    return code;
}

static void bench_deinit(bench *b) {
    close_contenders(b);
    catalog_deinit(&b->plugins);
    arena_deinit(&b->memory);
    free(b->pixels);
    free(b->labels);
}

static int bench_word(bench *b, const command_line *line, const char *word, json_t *results) {
    opening o;
    hox_error error = HOX_ERROR_INIT;
    const int code = opening_open(&o, word, b->terminal);
    if (code != EXIT_OK) return code;
    b->genome = o.genome;
    const hox_status status = bench_genome(b, command_line_values(line, "runtime"), &error);
    if (status != HOX_OK) {
        terminal_error(b->terminal, "%s: %s", word, error.message);
    } else {
        json_array_append_new(results, genome_json(b, word));
        if (!command_line_has(line, "json"))
            print_genome(json_array_get(results, json_array_size(results) - 1));
    }
    close_contenders(b);
    opening_close(&o);
    return command_exit_code(status, true);
}

int cmd_bench(const command_line *line, terminal *t) {
    bench b;
    json_t *results = json_array();
    int code = bench_init(&b, line, t);
    for (size_t i = 0; i < line->words.count && code == EXIT_OK; i++)
        code = bench_word(&b, line, line->words.items[i], results);
    if (code == EXIT_OK && command_line_has(line, "json"))
        code = result_print(json_incref(results));
    json_decref(results);
    bench_deinit(&b);
    return code;
}
