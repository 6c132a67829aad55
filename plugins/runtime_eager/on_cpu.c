// on_cpu.c - eager on the CPU: one image at a time, in the order of the definition.
#include "activation.h"
#include "convolution.h"

#include "cpu/device.h"
#include "cpu/readout.h"
#include "runtime/either.h"
#include "runtime/job.h"
#include "runtime/limits.h"
#include "runtime/memory.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_GROUP = 16, SCORE = 1, GRADIENT_BLOCK = 16 };

struct hox_runtime {
    const hox_runtime_api *half;
    const hox_host *host;
    uint32_t lane_count;
};

struct hox_samples {
    const hox_runtime_api *half;
    const hox_host *host;
    size_t bytes; // of this block
    job_images set;
    size_t image_size; // floats
    float images[];
};

typedef struct runner_node {
    uint32_t activation;
    uint32_t edge_begin, edge_end;
    size_t value_count;
    float *map;   // NULL for the input: its map is the image
    float *sums;  // for training, else NULL: the map before its activation
    float *delta; // and the loss's derivatives, by the map and then by the sums
} runner_node;

typedef struct runner_edge {
    convolution shape;
    uint32_t source;
    uint64_t weight_offset;
} runner_edge;

// The images whose gradient is asked for: their maps are computed anew on the way back.
typedef struct runner_batch {
    const float *weights;
    const hox_samples *samples;
    uint64_t count; // 0 = no forward yet
    uint64_t *indices;
} runner_batch;

// One block: this struct, nodes, edges, and the maps of one image; for training also room for a
// batch, the gradient of 16 images, and sums and deltas.
struct hox_runner {
    const hox_runtime_api *half;
    const hox_host *host;
    size_t bytes;
    job_capacity capacity;
    uint32_t readout;
    uint32_t node_count;
    runner_node *nodes;
    runner_edge *edges;
    float *scratch; // as large as the output's map
    runner_batch batch;
    double *gradient; // of one block of images, weight_count values: rounded once
};

static hox_status eager_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                                    hox_error *error) {
    (void)host;
    HOX_TRY(cpu_describe_device(device, "", SCORE, info, error));
    info->flags = HOX_RUNTIME_TRAINS;
    return HOX_OK;
}

static hox_status eager_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                             const void *options, hox_runtime **runtime, hox_error *error) {
    (void)options;
    *runtime = NULL;
    HOX_TRY(cpu_check_device(device, error));
    void *block;
    HOX_TRY(block_take(host, sizeof **runtime, &block, error));
    *runtime = block;
    **runtime = (hox_runtime){.half = &runtime_on_cpu, .host = host, .lane_count = lane_count};
    return HOX_OK;
}

static void eager_close(hox_runtime *runtime) {
    if (runtime) block_return(runtime->host, runtime, sizeof *runtime);
}

// What it can do -----------------------------------------------------------------------------

static void eager_caps(const hox_runtime *runtime, hox_runtime_caps *caps) {
    (void)runtime;
    limits_caps(caps);
    caps->flags |= HOX_RUNTIME_TRAINS;
    caps->max_group = MAX_GROUP;
}

static hox_status eager_check_plan(const hox_runtime *runtime, const hox_plan *plan,
                                   uint32_t precision, hox_error *error) {
    (void)runtime;
    return limits_check_plan(plan, precision, error);
}

// Samples: images as they come -----------------------------------------------------------------

static hox_status eager_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                       uint32_t height, uint32_t width, hox_samples **samples,
                                       hox_error *error) {
    *samples = NULL;
    const size_t image_size = size_times(channels, size_times(height, width));
    const size_t bytes = size_plus(
        sizeof **samples, size_times(count, size_times(image_size, sizeof *(*samples)->images)));
    void *block;
    HOX_TRY(block_take(runtime->host, bytes, &block, error));
    *samples = block;
    **samples = (hox_samples){
        .half = &runtime_on_cpu,
        .host = runtime->host,
        .bytes = bytes,
        .set = {count, channels, height, width},
        .image_size = image_size,
    };
    return HOX_OK;
}

static hox_status eager_samples_write(hox_samples *samples, uint64_t first, uint64_t count,
                                      const float *images, hox_error *error) {
    HOX_TRY(job_check_range(&samples->set, first, count, error));
    memcpy(samples->images + first * samples->image_size, images,
           count * samples->image_size * sizeof *images);
    return HOX_OK;
}

static void eager_samples_destroy(hox_samples *samples) {
    if (samples) block_return(samples->host, samples, samples->bytes);
}

// Runners --------------------------------------------------------------------------------------

static size_t node_value_count(const hox_plan *plan, uint32_t node) {
    return size_times(plan->node_channels[node],
                      size_times(plan->node_height[node], plan->node_width[node]));
}

// Floats of all maps but the image's.
static size_t map_value_count(const hox_plan *plan) {
    size_t sum = 0;
    for (uint32_t i = 1; i < plan->node_count; i++)
        sum = size_plus(sum, node_value_count(plan, i));
    return sum;
}

static size_t runner_size(const hox_plan *plan) {
    const size_t scratch = node_value_count(plan, plan->node_count - 1);
    return size_plus(sizeof(hox_runner) + plan->node_count * sizeof(runner_node) +
                         plan->edge_count * sizeof(runner_edge),
                     size_times(size_plus(map_value_count(plan), scratch), sizeof(float)));
}

// What a runner for training has beside.
static size_t training_size(const hox_plan *plan, uint32_t capacity) {
    const size_t maps = size_times(2 * sizeof(float), map_value_count(plan));
    return size_plus(size_plus(maps, size_times(plan->weight_count, sizeof(double))),
                     size_times(capacity, sizeof(uint64_t)));
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

static void fill_structure(hox_runner *runner, const hox_plan *plan) {
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const uint32_t begin = plan->node_edge_begin[i], end = plan->node_edge_begin[i + 1];
        runner->nodes[i] = (runner_node){.activation = plan->node_activation[i],
                                         .edge_begin = begin,
                                         .edge_end = end,
                                         .value_count = node_value_count(plan, i)};
        for (uint32_t e = begin; e < end; e++)
            runner->edges[e] = make_edge(plan, e, i);
    }
}

static float *take_floats(float **free_floats, size_t count) {
    float *taken = *free_floats;
    *free_floats += count;
    return taken;
}

// Copies the structure and lays out what lies behind it, wide values first.
static void fill_runner(hox_runner *runner, const hox_plan *plan) {
    const bool trains = runner->capacity.purpose == HOX_PURPOSE_TRAIN;
    runner->nodes = (runner_node *)(runner + 1);
    runner->edges = (runner_edge *)(runner->nodes + plan->node_count);
    fill_structure(runner, plan);
    runner->batch.indices = (uint64_t *)(runner->edges + plan->edge_count);
    runner->gradient = (double *)(runner->batch.indices + (trains ? runner->capacity.images : 0));
    float *floats = (float *)(runner->gradient + (trains ? plan->weight_count : 0));
    for (uint32_t i = 1; i < plan->node_count; i++) {
        runner_node *node = &runner->nodes[i];
        node->map = take_floats(&floats, node->value_count);
        if (!trains) continue;
        node->sums = take_floats(&floats, node->value_count);
        node->delta = take_floats(&floats, node->value_count);
    }
    runner->scratch = floats;
}

static hox_status eager_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                                const hox_prepare_options *options, hox_runner **runner,
                                hox_error *error) {
    *runner = NULL;
    job_capacity capacity;
    HOX_TRY(job_check_prepare(lane, runtime->lane_count, HOX_PURPOSE_TRAIN, plan, options,
                              &capacity, error));
    const bool trains = options->purpose == HOX_PURPOSE_TRAIN;
    const size_t bytes =
        size_plus(runner_size(plan), trains ? training_size(plan, options->capacity) : 0);
    void *block;
    HOX_TRY(block_take(runtime->host, bytes, &block, error));
    *runner = block;
    **runner = (hox_runner){
        .half = &runtime_on_cpu,
        .host = runtime->host,
        .bytes = bytes,
        .capacity = capacity,
        .readout = plan->readout,
        .node_count = plan->node_count,
    };
    fill_runner(*runner, plan);
    return HOX_OK;
}

// For inference a runner holds the maps of one image, whatever its capacity.
static hox_status eager_estimate(const hox_runtime *runtime, const hox_plan *plan,
                                 uint32_t precision, hox_estimate *estimate, hox_error *error) {
    HOX_TRY(eager_check_plan(runtime, plan, precision, error));
    *estimate = (hox_estimate){.struct_size = sizeof *estimate, .fixed_bytes = runner_size(plan)};
    return HOX_OK;
}

static void eager_release(hox_runner *runner) {
    if (runner) block_return(runner->host, runner, runner->bytes);
}

// Evaluation -----------------------------------------------------------------------------------

static const float *source_map(const hox_runner *runner, const runner_edge *edge,
                               const float *image) {
    return edge->source == 0 ? image : runner->nodes[edge->source].map;
}

static float evaluate_image(const hox_runner *runner, const float *weights, const float *image) {
    for (uint32_t i = 1; i < runner->node_count; i++) {
        const runner_node *node = &runner->nodes[i];
        memset(node->map, 0, node->value_count * sizeof *node->map);
        for (uint32_t e = node->edge_begin; e < node->edge_end; e++) {
            const runner_edge *edge = &runner->edges[e];
            convolution_add(&edge->shape, weights + edge->weight_offset,
                            source_map(runner, edge, image), node->map);
        }
        if (node->sums) memcpy(node->sums, node->map, node->value_count * sizeof *node->map);
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
        job->status = job_check(job, lane, &job->runner->capacity, &job->samples->set);
        if (job->status != HOX_OK) continue;
        const float *image = job->samples->images + job->first * job->samples->image_size;
        for (uint64_t i = 0; i < job->count; i++, image += job->samples->image_size)
            job->logits[i] = evaluate_image(job->runner, job->weights->values, image);
    }
    return HOX_OK;
}

// Training -------------------------------------------------------------------------------------

static const float *batch_image(const runner_batch *batch, uint64_t i) {
    return batch->samples->images + batch->indices[i] * batch->samples->image_size;
}

static hox_status eager_train_forward(hox_runner *runner, const hox_weights *weights,
                                      const hox_samples *samples, const uint64_t *indices,
                                      uint64_t count, float *logits, hox_error *error) {
    HOX_TRY(job_check_training(&runner->capacity, weights, &samples->set, indices, count, error));
    runner_batch *batch = &runner->batch;
    batch->weights = weights->values;
    batch->samples = samples;
    batch->count = count;
    memcpy(batch->indices, indices, count * sizeof *indices);
    for (uint64_t i = 0; i < count; i++)
        logits[i] = evaluate_image(runner, batch->weights, batch_image(batch, i));
    return HOX_OK;
}

static void backward_node(hox_runner *runner, const runner_node *node, const float *image) {
    activation_backward(node->activation, node->sums, node->delta, node->value_count);
    for (uint32_t e = node->edge_begin; e < node->edge_end; e++) {
        const runner_edge *edge = &runner->edges[e];
        convolution_backward(&edge->shape, runner->batch.weights + edge->weight_offset,
                             source_map(runner, edge, image), node->delta,
                             runner->nodes[edge->source].delta,
                             runner->gradient + edge->weight_offset);
    }
}

// Adds one image's part to the runner's gradient.
static void backward_image(hox_runner *runner, const float *image, float dlogit) {
    evaluate_image(runner, runner->batch.weights, image);
    const uint32_t last = runner->node_count - 1;
    const runner_node *nodes = runner->nodes;
    for (uint32_t i = 1; i < last; i++)
        memset(nodes[i].delta, 0, nodes[i].value_count * sizeof *nodes[i].delta);
    readout_gradient(runner->readout, nodes[last].map, nodes[last].value_count, dlogit,
                     nodes[last].delta, runner->scratch);
    for (uint32_t i = last; i > 0; i--)
        backward_node(runner, &nodes[i], image);
}

// Images begin .. end - 1: one block.
static void backward_block(hox_runner *runner, uint64_t begin, uint64_t end, const float *dlogits,
                           float *gradient) {
    const uint64_t weight_count = runner->capacity.weight_count;
    for (uint64_t i = 0; i < weight_count; i++)
        runner->gradient[i] = 0;
    for (uint64_t i = begin; i < end; i++)
        backward_image(runner, batch_image(&runner->batch, i), dlogits[i]);
    for (uint64_t i = 0; i < weight_count; i++)
        gradient[i] += (float)runner->gradient[i];
}

static hox_status eager_train_backward(hox_runner *runner, const float *dlogits, float *gradient,
                                       hox_error *error) {
    const uint64_t count = runner->batch.count;
    if (count == 0)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "a backward without a forward before it");
    for (uint64_t begin = 0; begin < count; begin += GRADIENT_BLOCK) {
        const uint64_t left = count - begin;
        backward_block(runner, begin, begin + (left < GRADIENT_BLOCK ? left : GRADIENT_BLOCK),
                       dlogits, gradient);
    }
    return HOX_OK;
}

const hox_runtime_api runtime_on_cpu = {
    .struct_size = sizeof runtime_on_cpu,
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
    .train_forward = eager_train_forward,
    .train_backward = eager_train_backward,
};
