// serve.c - measures a runtime on the GPU as it is told to, line by line, so that whoever asks can
// put other contenders' rounds between ours. Says "ready", then answers a line each:
//   load TOPOLOGY.json IMAGES BATCH LANES GENOMES -> loaded MFLOP LOGIT ...
//       so many genomes a lane, with weights of their own where the file has none; the first 16
//       logits of the first, after a warm run of as many genomes as one call takes
//   run -> SECONDS      every lane runs all images, BATCH at once, through all its genomes
// The images are those that hox bench makes up; they stay on the GPU from load to load.
#include "base/clock.h"
#include "commands.h"
#include "gpu.h"
#include "loaded.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LANES = 2, MOST_GENOMES = 128, LOGITS_SHOWN = 16 };

typedef struct server {
    opened_device gpu;
    loaded genomes[MOST_GENOMES]; // the same on each lane
    uint32_t genome_count, lane_count;
    hox_samples *samples;
    uint64_t count, batch, sample_count;
    device_genome work[MOST_LANES][MOST_GENOMES];
} server;

typedef struct lane_work {
    server *server;
    uint32_t lane, genome_count;
} lane_work;

static void unload(server *s) {
    for (uint32_t lane = 0; lane < s->lane_count; lane++) {
        s->gpu.api->release(s->work[lane][0].runner);
        free(s->work[lane][0].logits);
    }
    for (uint32_t g = 0; g < s->genome_count; g++)
        loaded_drop(&s->genomes[g]);
    s->lane_count = s->genome_count = 0;
}

static void make_samples(server *s) {
    if (s->samples && s->sample_count == s->count) return;
    const hox_plan *first = &s->genomes[0].plan.view;
    s->gpu.api->samples_destroy(s->samples);
    const size_t values = s->count * image_values(first);
    float *images = must_allocate(values, sizeof *images);
    for (size_t i = 0; i < values; i++)
        images[i] = (float)((uint32_t)(i * 2654435761U) >> 8) / 8388608.0F - 1.0F;
    s->samples = device_samples(&s->gpu, first, images, s->count);
    s->sample_count = s->count;
    free(images);
}

static void *run_lane(void *context) {
    const lane_work *w = context;
    server *s = w->server;
    // Each time other numbers, so the weights travel, as for a genome that is new.
    static _Atomic uint64_t version = 1;
    for (uint32_t g = 0; g < w->genome_count; g++)
        s->work[w->lane][g].weights.version = ++version;
    device_run(&s->gpu, w->lane, s->work[w->lane], w->genome_count, s->samples, s->count, s->batch);
    return NULL;
}

static double run(server *s, uint32_t genome_count) {
    pthread_t threads[MOST_LANES];
    lane_work work[MOST_LANES];
    const uint64_t start = clock_ns();
    for (uint32_t i = 0; i < s->lane_count; i++) {
        work[i] = (lane_work){s, i, genome_count};
        if (i > 0) must_be(pthread_create(&threads[i], NULL, run_lane, &work[i]) == 0, "no thread");
    }
    run_lane(&work[0]);
    for (uint32_t i = 1; i < s->lane_count; i++)
        pthread_join(threads[i], NULL);
    return clock_seconds_since(start);
}

// One runner does for all genomes of a lane, for they have one structure.
static void make_lane(server *s, uint32_t lane) {
    hox_runner *runner = device_runner(&s->gpu, lane, &s->genomes[0].plan.view, s->batch);
    float *logits = must_allocate(s->count * s->genome_count, sizeof *logits);
    for (uint32_t g = 0; g < s->genome_count; g++)
        s->work[lane][g] =
            (device_genome){runner, s->genomes[g].weights.view, logits + g * s->count};
}

static void load(server *s, const char *path, uint64_t count, uint64_t batch, uint32_t lanes,
                 uint32_t genomes) {
    must_be(lanes >= 1 && lanes <= MOST_LANES && genomes >= 1 && genomes <= MOST_GENOMES &&
                count > 0 && batch > 0,
            "load: bad numbers");
    unload(s);
    for (uint32_t g = 0; g < genomes; g++)
        loaded_read(&s->genomes[g], path, 7 + g);
    s->genome_count = genomes;
    s->count = count;
    s->batch = batch < count ? batch : count;
    make_samples(s);
    for (uint32_t i = 0; i < lanes; i++)
        make_lane(s, i);
    s->lane_count = lanes;
    run(s, genomes < s->gpu.caps.max_group ? genomes : s->gpu.caps.max_group);
    printf("loaded %.6f", (double)s->genomes[0].plan.view.flops_per_sample * 1e-6);
    for (uint64_t i = 0; i < LOGITS_SHOWN && i < count; i++)
        printf(" %.9g", (double)s->work[0][0].logits[i]);
    puts("");
}

int cmd_serve(int count, char **words) {
    static server s; // stays where it is
    char line[4096], path[4096];
    unsigned long long images, batch;
    unsigned lanes, genomes;
    must_be(count == 1, "serve RUNTIME");
    if (!device_open_gpu(&s.gpu, words[0], MOST_LANES)) return EXIT_NO_GPU;
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "load %4095s %llu %llu %u %u", path, &images, &batch, &lanes, &genomes) ==
            5)
            load(&s, path, images, batch, lanes, genomes);
        else
            printf("%.9f\n", run(&s, s.genome_count));
        fflush(stdout);
    }
    unload(&s);
    s.gpu.api->samples_destroy(s.samples);
    device_close(&s.gpu);
    return 0;
}
