// serve.c - measures on the GPU what it is told to, line by line, so that whoever asks can put
// other contenders' rounds between ours. Answers a line each:
//   load TOPOLOGY.json IMAGES BATCH LANES -> loaded MFLOP LOGIT ...   the first 16; one warm run
//   run -> SECONDS      every lane runs all images, BATCH at once, through weights of its own
// The images are those that hox bench makes up; they stay on the GPU from load to load.
#include "base/clock.h"
#include "commands.h"
#include "gpu.h"
#include "io/genome_json.h"
#include "plan/value_hash.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_LANES = 8, LOGITS_SHOWN = 16 };

typedef struct server {
    opened_device gpu;
    genome *genome;
    plan plan;
    plan_weights weights;
    hox_samples *samples;
    uint64_t count, batch, sample_count;
    uint32_t lanes;
    hox_runner *runners[MOST_LANES];
    float *logits[MOST_LANES];
} server;

typedef struct lane_work {
    const server *server;
    uint32_t lane;
} lane_work;

static void unload(server *s) {
    for (uint32_t i = 0; i < s->lanes; i++) {
        s->gpu.api->release(s->runners[i]);
        free(s->logits[i]);
    }
    if (s->lanes > 0) {
        plan_weights_deinit(&s->weights);
        plan_deinit(&s->plan);
        genome_destroy(s->genome);
    }
    s->lanes = 0;
}

static void make_samples(server *s) {
    if (s->samples && s->sample_count == s->count) return;
    s->gpu.api->samples_destroy(s->samples);
    const size_t values = s->count * image_values(&s->plan.view);
    float *images = must_allocate(values, sizeof *images);
    for (size_t i = 0; i < values; i++)
        images[i] = (float)((uint32_t)(i * 2654435761U) >> 8) / 8388608.0F - 1.0F;
    s->samples = device_samples(&s->gpu, &s->plan.view, images, s->count);
    s->sample_count = s->count;
    free(images);
}

static void *run_lane(void *context) {
    const lane_work *w = context;
    const server *s = w->server;
    // Each time other numbers, so the weights travel, as for a genome that is new.
    static _Atomic uint64_t version = 1;
    hox_weights weights = s->weights.view;
    weights.version = ++version;
    device_run(&s->gpu, w->lane, s->runners[w->lane], &weights, s->samples, s->count, s->batch,
               s->logits[w->lane]);
    return NULL;
}

static double run(const server *s) {
    pthread_t threads[MOST_LANES];
    lane_work work[MOST_LANES];
    const uint64_t start = clock_ns();
    for (uint32_t i = 0; i < s->lanes; i++) {
        work[i] = (lane_work){s, i};
        if (i > 0) must_be(pthread_create(&threads[i], NULL, run_lane, &work[i]) == 0, "no thread");
    }
    run_lane(&work[0]);
    for (uint32_t i = 1; i < s->lanes; i++)
        pthread_join(threads[i], NULL);
    return clock_seconds_since(start);
}

static void load(server *s, const char *path, uint64_t count, uint64_t batch, uint32_t lanes) {
    hox_error error = HOX_ERROR_INIT;
    must_be(lanes >= 1 && lanes <= MOST_LANES && count > 0 && batch > 0, "load: bad numbers");
    unload(s);
    must(genome_json_load(path, 7, LARGEST_KERNEL, NULL, &s->genome, &error), &error);
    must(plan_init(&s->plan, s->genome, &error), &error);
    must(plan_weights_init(&s->weights, &s->plan, s->genome, &error), &error);
    s->count = count;
    s->batch = batch < count ? batch : count;
    s->lanes = lanes;
    make_samples(s);
    for (uint32_t i = 0; i < lanes; i++) {
        s->runners[i] = device_runner(&s->gpu, i, &s->plan.view, s->batch);
        s->logits[i] = must_allocate(count, sizeof(float));
    }
    run(s);
    printf("loaded %.6f", (double)s->plan.view.flops_per_sample * 1e-6);
    for (uint64_t i = 0; i < LOGITS_SHOWN && i < count; i++)
        printf(" %.9g", (double)s->logits[0][i]);
    puts("");
}

int cmd_serve(int count, char **words) {
    static server s; // stays where it is
    char line[4096], path[4096];
    unsigned long long images, batch, lanes;
    (void)count, (void)words;
    if (!device_open_gpu(&s.gpu, MOST_LANES)) return EXIT_NO_GPU;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "load %4095s %llu %llu %llu", path, &images, &batch, &lanes) == 4)
            load(&s, path, images, batch, (uint32_t)lanes);
        else
            printf("%.9f\n", run(&s));
        fflush(stdout);
    }
    unload(&s);
    s.gpu.api->samples_destroy(s.samples);
    device_close(&s.gpu);
    return 0;
}
