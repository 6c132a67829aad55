// gpu.c - see gpu.h.
#include "gpu.h"

#include "plugin_fixture.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_GROUP = 64 }; // genomes in one call, where a runtime takes more

void must_be(bool is_true, const char *what) {
    if (is_true) return;
    fprintf(stderr, "gpu_check: %s\n", what);
    exit(1);
}

void must(hox_status status, const hox_error *error) {
    must_be(status == HOX_OK, error->message);
}

void *must_allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    must_be(memory != NULL, "out of memory");
    return memory;
}

// ---- devices ----

const char *const gpu_runtimes[GPU_RUNTIMES] = {"eager", "graph", "fused"};

static void begin(opened_device *d, const char *runtime) {
    char file[40];
    snprintf(file, sizeof file, "runtime_%s", runtime);
    const hox_plugin *plugin = plugin_load(file);
    *d =
        (opened_device){.name = runtime, .api = plugin->runtime, .options = plugin_options(plugin)};
    host_double_init(&d->host);
    d->host.budget_bytes = UINT64_MAX;
}

static void open_device(opened_device *d, uint32_t device, uint32_t lane_count) {
    hox_error error = HOX_ERROR_INIT;
    must(d->api->open(&d->host.host, device, lane_count, d->options, &d->runtime, &error), &error);
    d->api->caps(d->runtime, &d->caps);
    d->host.last_log[0] = '\0';
}

void device_open_cpu(opened_device *d) {
    begin(d, gpu_runtimes[0]);
    open_device(d, 0, 1);
}

bool device_open_gpu(opened_device *d, const char *runtime, uint32_t lane_count) {
    hox_error error = HOX_ERROR_INIT;
    uint32_t count;
    begin(d, runtime);
    must(d->api->device_count(&d->host.host, &count, &error), &error);
    for (uint32_t i = 0; i < count; i++) {
        must(d->api->device_info(&d->host.host, i, &d->info, &error), &error);
        if (d->info.kind != HOX_DEVICE_CUDA) continue;
        open_device(d, i, lane_count);
        return true;
    }
    printf("no GPU: %s\n", d->host.last_log);
    free(d->options);
    return false;
}

void device_close(opened_device *d) {
    if (!d->runtime) return;
    d->api->close(d->runtime);
    free(d->options);
    must_be(d->host.live_bytes == 0, "bytes stay in the ledger");
    must_be(d->host.last_log[0] == '\0', d->host.last_log);
    *d = (opened_device){0};
}

// ---- images through a runner ----

size_t image_values(const hox_plan *plan) {
    return (size_t)plan->node_channels[0] * plan->node_height[0] * plan->node_width[0];
}

hox_samples *device_samples(const opened_device *d, const hox_plan *plan, const float *images,
                            uint64_t count) {
    hox_error error = HOX_ERROR_INIT;
    hox_samples *samples;
    must(d->api->samples_create(d->runtime, count, plan->node_channels[0], plan->node_height[0],
                                plan->node_width[0], &samples, &error),
         &error);
    must(d->api->samples_write(samples, 0, count, images, &error), &error);
    return samples;
}

hox_runner *device_runner(const opened_device *d, uint32_t lane, const hox_plan *plan,
                          uint64_t capacity) {
    hox_error error = HOX_ERROR_INIT;
    hox_runner *runner;
    const hox_prepare_options options = {.struct_size = sizeof options,
                                         .capacity = (uint32_t)capacity,
                                         .precision = HOX_PRECISION_FP32,
                                         .purpose = HOX_PURPOSE_INFER};
    must(d->api->check_plan(d->runtime, plan, HOX_PRECISION_FP32, &error), &error);
    must(d->api->prepare(d->runtime, lane, plan, &options, &runner, &error), &error);
    return runner;
}

// One call: a group of genomes over images first .. first + count.
static void run_group(const opened_device *d, uint32_t lane, const device_genome *genomes,
                      uint32_t genome_count, const hox_samples *samples, uint64_t first,
                      uint64_t count) {
    hox_error error = HOX_ERROR_INIT;
    hox_job jobs[MOST_GROUP], *list[MOST_GROUP] = {0};
    for (uint32_t g = 0; g < genome_count; g++) {
        jobs[g] = (hox_job){.struct_size = sizeof *jobs,
                            .runner = genomes[g].runner,
                            .weights = &genomes[g].weights,
                            .samples = samples,
                            .first = first,
                            .count = count,
                            .logits = genomes[g].logits + first,
                            .error = &error};
        list[g] = &jobs[g];
    }
    must(d->api->evaluate(d->runtime, lane, list, genome_count, &error), &error);
    for (uint32_t g = 0; g < genome_count; g++)
        must(jobs[g].status, &error);
}

void device_run(const opened_device *d, uint32_t lane, const device_genome *genomes, size_t count,
                const hox_samples *samples, uint64_t image_count, uint64_t at_once) {
    const size_t most = d->caps.max_group < MOST_GROUP ? d->caps.max_group : MOST_GROUP;
    for (uint64_t first = 0; first < image_count; first += at_once) {
        const uint64_t left = image_count - first, images = left < at_once ? left : at_once;
        for (size_t g = 0; g < count; g += most)
            run_group(d, lane, genomes + g, (uint32_t)(count - g < most ? count - g : most),
                      samples, first, images);
    }
}
