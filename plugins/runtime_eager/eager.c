// eager.c - runtime "eager": one image at a time, node by node, edge by edge, in fp32 and in the
// order of the definition. Plain and right: the judge of all other runtimes.
#include "activation.h"
#include "convolution.h"

#include "cpu/device.h"
#include "cpu/job.h"
#include "cpu/memory.h"
#include "cpu/readout.h"

#include <hox/plugin.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GROUP = 16, SCORE = 1 };

struct hox_runtime {
    const hox_host *host;
    uint32_t lane_count;
};

struct hox_samples {
    const hox_host *host;
    size_t bytes; // of this block
    cpu_images set;
    size_t image_size; // floats
    float images[];
};

typedef struct runner_node {
    uint32_t activation;
    uint32_t edge_begin, edge_end;
    size_t value_count;
    float *map; // NULL for the input: its map is the image
} runner_node;

typedef struct runner_edge {
    convolution shape;
    uint32_t source;
    uint64_t weight_offset;
} runner_edge;

// One block: this struct, nodes, edges, and the maps of one image.
struct hox_runner {
    const hox_host *host;
    size_t bytes;
    cpu_capacity capacity;
    uint32_t readout;
    uint32_t node_count;
    runner_node *nodes;
    runner_edge *edges;
    float *scratch; // as large as the output's map
};

static hox_status eager_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                                    hox_error *error) {
    (void)host;
    return cpu_describe_device(device, "", SCORE, info, error);
}

static hox_status eager_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                             const void *options, hox_runtime **runtime, hox_error *error) {
    (void)options;
    *runtime = NULL;
    HOX_TRY(cpu_check_device(device, error));
    void *block;
    HOX_TRY(cpu_take_block(host, sizeof **runtime, &block, error));
    *runtime = block;
    **runtime = (hox_runtime){.host = host, .lane_count = lane_count};
    return HOX_OK;
}

static void eager_close(hox_runtime *runtime) {
    if (runtime) cpu_return_block(runtime->host, runtime, sizeof *runtime);
}

// What it can do -----------------------------------------------------------------------------

static void eager_caps(const hox_runtime *runtime, hox_runtime_caps *caps) {
    (void)runtime;
    cpu_caps(caps);
    caps->max_group = MAX_GROUP;
}

static hox_status eager_check_plan(const hox_runtime *runtime, const hox_plan *plan,
                                   uint32_t precision, hox_error *error) {
    (void)runtime;
    return cpu_check_plan(plan, precision, error);
}

// Samples: images as they come -----------------------------------------------------------------

static hox_status eager_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                       uint32_t height, uint32_t width, hox_samples **samples,
                                       hox_error *error) {
    *samples = NULL;
    const size_t image_size = cpu_times(channels, cpu_times(height, width));
    const size_t bytes = cpu_plus(
        sizeof **samples, cpu_times(count, cpu_times(image_size, sizeof *(*samples)->images)));
    void *block;
    HOX_TRY(cpu_take_block(runtime->host, bytes, &block, error));
    *samples = block;
    **samples = (hox_samples){
        .host = runtime->host,
        .bytes = bytes,
        .set = {count, channels, height, width},
        .image_size = image_size,
    };
    return HOX_OK;
}

static hox_status eager_samples_write(hox_samples *samples, uint64_t first, uint64_t count,
                                      const float *images, hox_error *error) {
    HOX_TRY(cpu_check_range(&samples->set, first, count, error));
    memcpy(samples->images + first * samples->image_size, images,
           count * samples->image_size * sizeof *images);
    return HOX_OK;
}

static void eager_samples_destroy(hox_samples *samples) {
    if (samples) cpu_return_block(samples->host, samples, samples->bytes);
}

// Runners --------------------------------------------------------------------------------------

static size_t node_value_count(const hox_plan *plan, uint32_t node) {
    return cpu_times(plan->node_channels[node],
                     cpu_times(plan->node_height[node], plan->node_width[node]));
}

// Floats of all maps but the image's, and of the scratch.
static size_t map_value_count(const hox_plan *plan) {
    size_t sum = node_value_count(plan, plan->node_count - 1);
    for (uint32_t i = 1; i < plan->node_count; i++)
        sum = cpu_plus(sum, node_value_count(plan, i));
    return sum;
}

static size_t runner_size(const hox_plan *plan) {
    return cpu_plus(sizeof(hox_runner) + plan->node_count * sizeof(runner_node) +
                        plan->edge_count * sizeof(runner_edge),
                    cpu_times(map_value_count(plan), sizeof(float)));
}

static runner_edge make_edge(const hox_plan *plan, uint32_t i, uint32_t target) {
    const uint32_t source = plan->edge_source[i];
    return (runner_edge){
        .shape = {.source_channels = plan->node_channels[source],
                  .target_channels = plan->node_channels[target],
                  .rows = {plan->node_height[source], plan->node_height[target],
                           plan->edge_kernel_h[i], plan->edge_stride_h[i], plan->edge_padding_h[i]},
                  .columns = {plan->node_width[source], plan->node_width[target],
                              plan->edge_kernel_w[i], plan->edge_stride_w[i],
                              plan->edge_padding_w[i]}},
        .source = source,
        .weight_offset = plan->edge_weight_offset[i],
    };
}

// Copies the structure and lays out the maps behind it.
static void fill_runner(hox_runner *runner, const hox_plan *plan) {
    runner->nodes = (runner_node *)(runner + 1);
    runner->edges = (runner_edge *)(runner->nodes + plan->node_count);
    float *map = (float *)(runner->edges + plan->edge_count);
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const uint32_t begin = plan->node_edge_begin[i], end = plan->node_edge_begin[i + 1];
        runner->nodes[i] = (runner_node){.activation = plan->node_activation[i],
                                         .edge_begin = begin,
                                         .edge_end = end,
                                         .value_count = node_value_count(plan, i)};
        for (uint32_t e = begin; e < end; e++)
            runner->edges[e] = make_edge(plan, e, i);
        if (i == 0) continue;
        runner->nodes[i].map = map;
        map += runner->nodes[i].value_count;
    }
    runner->scratch = map;
}

static hox_status eager_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                                const hox_prepare_options *options, hox_runner **runner,
                                hox_error *error) {
    *runner = NULL;
    cpu_capacity capacity;
    HOX_TRY(cpu_check_prepare(lane, runtime->lane_count, HOX_PURPOSE_INFER, plan, options,
                              &capacity, error));
    const size_t bytes = runner_size(plan);
    void *block;
    HOX_TRY(cpu_take_block(runtime->host, bytes, &block, error));
    *runner = block;
    **runner = (hox_runner){
        .host = runtime->host,
        .bytes = bytes,
        .capacity = capacity,
        .readout = plan->readout,
        .node_count = plan->node_count,
    };
    fill_runner(*runner, plan);
    return HOX_OK;
}

// A runner holds the maps of one image, whatever its capacity.
static hox_status eager_estimate(const hox_runtime *runtime, const hox_plan *plan,
                                 uint32_t precision, hox_estimate *estimate, hox_error *error) {
    HOX_TRY(eager_check_plan(runtime, plan, precision, error));
    *estimate = (hox_estimate){.struct_size = sizeof *estimate, .fixed_bytes = runner_size(plan)};
    return HOX_OK;
}

static void eager_release(hox_runner *runner) {
    if (runner) cpu_return_block(runner->host, runner, runner->bytes);
}

// Evaluation -----------------------------------------------------------------------------------

static float evaluate_image(const hox_runner *runner, const float *weights, const float *image) {
    for (uint32_t i = 1; i < runner->node_count; i++) {
        const runner_node *node = &runner->nodes[i];
        memset(node->map, 0, node->value_count * sizeof *node->map);
        for (uint32_t e = node->edge_begin; e < node->edge_end; e++) {
            const runner_edge *edge = &runner->edges[e];
            const float *source = edge->source == 0 ? image : runner->nodes[edge->source].map;
            convolution_add(&edge->shape, weights + edge->weight_offset, source, node->map);
        }
        activation_apply(node->activation, node->map, node->value_count);
    }
    const runner_node *output = &runner->nodes[runner->node_count - 1];
    return readout_logit(runner->readout, output->map, output->value_count, runner->scratch);
}

static hox_status eager_evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                                 uint32_t job_count, hox_error *error) {
    (void)runtime;
    if (job_count > MAX_GROUP)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "%u jobs, eager takes %d", job_count,
                             MAX_GROUP);
    for (uint32_t j = 0; j < job_count; j++) {
        hox_job *job = jobs[j];
        job->status = cpu_check_job(job, lane, &job->runner->capacity, &job->samples->set);
        if (job->status != HOX_OK) continue;
        const float *image = job->samples->images + job->first * job->samples->image_size;
        for (uint64_t i = 0; i < job->count; i++, image += job->samples->image_size)
            job->logits[i] = evaluate_image(job->runner, job->weights->values, image);
    }
    return HOX_OK;
}

static const hox_runtime_api api = {
    .struct_size = sizeof api,
    .device_count = cpu_device_count,
    .device_info = eager_device_info,
    .open = eager_open,
    .close = eager_close,
    .caps = eager_caps,
    .check_plan = eager_check_plan,
    .samples_create = eager_samples_create,
    .samples_write = eager_samples_write,
    .samples_destroy = eager_samples_destroy,
    .prepare = eager_prepare,
    .release = eager_release,
    .evaluate = eager_evaluate,
    .estimate = eager_estimate,
};

HOX_RUNTIME_PLUGIN(&api, .name = "eager", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "CPU, node by node in reference order; the judge of the others");
