// captures.c - runner after runner of runtime graph, each recorded, replayed once and released,
// must leave no memory behind, the device's or the host's.
#include "commands.h"
#include "gpu.h"
#include "loaded.h"
#include "random_plan.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_TOPOLOGIES = 16, IMAGES = 4, CAPACITIES = 8, MARKS = 10, KIB = 1 << 10 };
// Bytes that the host's memory may stray: pages that malloc keeps, and what lies in them.
static const int64_t page_growth = 4096 * KIB, heap_growth = 512 * KIB;

// Bytes in use.
typedef struct footprint {
    int64_t device, pool; // of the device: by anybody; by the pool
    int64_t host, heap;   // of this process: all; by way of malloc
} footprint;

static int64_t resident_bytes(void) {
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    must_be(file && fscanf(file, "%*s %lld", &pages) == 1, "no word about resident memory");
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static footprint take_footprint(const opened_device *gpu) {
    hox_error error = HOX_ERROR_INIT;
    hox_memory m = {.struct_size = sizeof m};
    must(gpu->api->memory(gpu->runtime, &m, &error), &error);
    must_be(m.in_use_bytes <= m.peak_bytes, "more is in use than ever was");
    return (footprint){(int64_t)(m.total_bytes - m.free_bytes),
                       (int64_t)(m.in_use_bytes + m.cached_bytes), resident_bytes(),
                       (int64_t)mallinfo2().uordblks};
}

typedef struct subjects {
    loaded genomes[MOST_TOPOLOGIES];
    uint32_t count;
    hox_samples *samples;
} subjects;

// Each topology with each capacity in turn.
static void capture(const opened_device *gpu, const subjects *s, uint64_t number) {
    float logits[IMAGES];
    const loaded *l = &s->genomes[number % s->count];
    const uint64_t capacity = IMAGES + 61 * (number / s->count % CAPACITIES);
    hox_runner *runner = device_runner(gpu, 0, &l->plan.view, capacity);
    const device_genome one = {runner, l->weights.view, logits};
    device_run(gpu, 0, &one, 1, s->samples, IMAGES, IMAGES);
    gpu->api->release(runner);
}

static void load(const opened_device *gpu, subjects *s, char **paths) {
    for (uint32_t i = 0; i < s->count; i++)
        loaded_read(&s->genomes[i], paths[i], 7);
    const hox_plan *first = &s->genomes[0].plan.view;
    float *images = must_allocate(IMAGES * image_values(first), sizeof *images);
    random_images(3, IMAGES * image_values(first), images);
    s->samples = device_samples(gpu, first, images, IMAGES);
    free(images);
}

// From the first mark on, by which each topology has had each capacity.
static bool has_grown(const footprint *marks) {
    const footprint *first = &marks[1], *last = &marks[MARKS];
    bool is_grown = false;
    const struct {
        const char *what;
        int64_t growth, allowed;
    } rows[] = {{"the device's memory", last->device - first->device, 0},
                {"the pool", last->pool - first->pool, 0},
                {"the host's memory", last->host - first->host, page_growth},
                {"the host's heap", last->heap - first->heap, heap_growth}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].growth <= rows[i].allowed) continue;
        printf("WRONG: %s has grown by %" PRId64 " KiB\n", rows[i].what, rows[i].growth / KIB);
        is_grown = true;
    }
    return is_grown;
}

int cmd_captures(int count, char **words) {
    static opened_device gpu; // stays where it is
    static subjects s;
    footprint marks[MARKS + 1];
    must_be(count > 1 && count - 1 <= MOST_TOPOLOGIES, "captures COUNT TOPOLOGY.json ...");
    s.count = (uint32_t)count - 1;
    const uint64_t each = strtoull(words[0], NULL, 10) / MARKS;
    must_be(each >= (uint64_t)s.count * CAPACITIES, "COUNT: at least 80 for each topology");
    if (!device_open_gpu(&gpu, "graph", 1)) return EXIT_NO_GPU;
    load(&gpu, &s, words + 1);
    for (int mark = 0; mark <= MARKS; mark++) {
        marks[mark] = take_footprint(&gpu);
        printf("%4" PRIu64 " recorded: used on the device %" PRId64 " KiB, by the pool %" PRId64
               " KiB, on the host %" PRId64 " KiB, by malloc %" PRId64 " KiB\n",
               mark * each, marks[mark].device / KIB, marks[mark].pool / KIB,
               marks[mark].host / KIB, marks[mark].heap / KIB);
        for (uint64_t i = 0; mark < MARKS && i < each; i++)
            capture(&gpu, &s, i);
    }
    const bool is_grown = has_grown(marks);
    gpu.api->samples_destroy(s.samples);
    for (uint32_t i = 0; i < s.count; i++)
        loaded_drop(&s.genomes[i]);
    device_close(&gpu);
    return is_grown ? 1 : 0;
}
