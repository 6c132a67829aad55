// on_cuda.c - eager on an NVIDIA GPU: all images of a job at once, node by node, edge by edge; the
// kernels sum a pixel in the order of the definition, whatever the batch.
#include "options.h"

#include "cuda/convolution.h"
#include "cuda/samples.h"
#include "runtime/either.h"
#include "runtime/job.h"
#include "runtime/limits.h"
#include "runtime/memory.h"

#include <stdbool.h>

struct hox_runtime {
    const hox_runtime_api *half;
    cuda_engine engine;
};

typedef struct runner_edge {
    cuda_kernel kernel;
    uint32_t source;        // node
    cuda_convolution shape; // but for first and count, and the source where it is the image
} runner_edge;

typedef struct runner_node {
    uint32_t edge_begin, edge_end;
    uint32_t curve;       // HOX_ACTIVATION_* that takes a kernel of its own, else IDENTITY
    uint64_t value_count; // of one image
    CUdeviceptr map;      // of all images; 0 for the input: its map are the samples
} runner_node;

// Its block on the device holds the weights, the logits and the maps of all nodes but the input.
struct hox_runner {
    const hox_runtime_api *half;
    cuda_engine *engine;
    size_t bytes; // of this block, with nodes and edges behind the struct
    job_capacity capacity;
    uint32_t readout, node_count;
    runner_node *nodes;
    runner_edge *edges;
    cuda_block *block;
    CUdeviceptr weights, logits;
    bool has_weights; // those of the version lie on the device
    uint64_t weights_version;
};

// Life -----------------------------------------------------------------------------------------

static void eager_close(hox_runtime *runtime) {
    if (!runtime) return;
    const hox_host *host = runtime->engine.host;
    cuda_engine_deinit(&runtime->engine);
    block_return(host, runtime, sizeof *runtime);
}

static hox_status eager_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                             const void *options, hox_runtime **runtime, hox_error *error) {
    *runtime = NULL;
    const eager_options *chosen = options;
    void *block;
    HOX_TRY(block_take(host, sizeof **runtime, &block, error));
    hox_runtime *opened = block;
    opened->half = &runtime_on_cuda;
    const hox_status status = cuda_engine_init(&opened->engine, host, device, lane_count,
                                               !chosen || chosen->pin_memory, error);
    if (status == HOX_OK)
        *runtime = opened;
    else
        eager_close(opened);
    return status;
}

static void eager_caps(const hox_runtime *runtime, hox_runtime_caps *caps) {
    (void)runtime;
    limits_caps(caps);
}

static hox_status eager_check_plan(const hox_runtime *runtime, const hox_plan *plan,
                                   uint32_t precision, hox_error *error) {
    (void)runtime;
    return limits_check_plan(plan, precision, error);
}

static hox_status eager_memory(const hox_runtime *runtime, hox_memory *memory, hox_error *error) {
    return cuda_engine_memory((cuda_engine *)&runtime->engine, memory, error);
}

static uint64_t eager_trim(hox_runtime *runtime, uint64_t bytes) {
    return cuda_engine_trim(&runtime->engine, bytes);
}

static hox_status eager_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                       uint32_t height, uint32_t width, hox_samples **samples,
                                       hox_error *error) {
    return cuda_samples_create(&runtime->engine, count, channels, height, width, samples, error);
}

// Sizes ----------------------------------------------------------------------------------------

static size_t node_value_count(const hox_plan *plan, uint32_t node) {
    return size_times(plan->node_channels[node],
                      size_times(plan->node_height[node], plan->node_width[node]));
}

// What an image takes: its maps and its logit.
static size_t image_bytes(const hox_plan *plan) {
    size_t values = 1;
    for (uint32_t i = 1; i < plan->node_count; i++)
        values = size_plus(values, node_value_count(plan, i));
    return size_times(values, sizeof(float));
}

// Weights, to the boundary that maps begin on.
static size_t weight_bytes(const hox_plan *plan) {
    enum { BOUNDARY = CUDA_IMAGES * sizeof(float) };
    const size_t bytes = size_times(plan->weight_count, sizeof(float));
    return size_plus(bytes, BOUNDARY - 1) / BOUNDARY * BOUNDARY;
}

// Whole blocks of images: up to 31 more than the capacity.
static hox_status eager_estimate(const hox_runtime *runtime, const hox_plan *plan,
                                 uint32_t precision, hox_estimate *estimate, hox_error *error) {
    HOX_TRY(eager_check_plan(runtime, plan, precision, error));
    const size_t each = image_bytes(plan);
    *estimate = (hox_estimate){.struct_size = sizeof *estimate,
                               .fixed_bytes =
                                   size_plus(weight_bytes(plan), size_times(CUDA_IMAGES - 1, each)),
                               .bytes_per_sample = each};
    return HOX_OK;
}

// Runners --------------------------------------------------------------------------------------

// What the activation makes of values below 0, where that is all it does. False: it is a curve.
static bool find_slope(uint32_t activation, float *slope) {
    *slope = activation == HOX_ACTIVATION_RELU         ? 0.0F
             : activation == HOX_ACTIVATION_LEAKY_RELU ? 0.01F
                                                       : 1.0F;
    return activation <= HOX_ACTIVATION_LEAKY_RELU;
}

static runner_edge make_edge(const hox_runner *runner, const hox_plan *plan, uint32_t i,
                             uint32_t target) {
    const uint32_t source = plan->edge_source[i];
    runner_edge edge = {
        .source = source,
        .shape = {.source = cuda_floats(runner->nodes[source].map),
                  .weights = cuda_floats(runner->weights) + plan->edge_weight_offset[i],
                  .target = cuda_floats(runner->nodes[target].map),
                  .source_channels = plan->node_channels[source],
                  .source_height = plan->node_height[source],
                  .source_width = plan->node_width[source],
                  .target_channels = plan->node_channels[target],
                  .target_height = plan->node_height[target],
                  .target_width = plan->node_width[target],
                  .kernel_h = plan->edge_kernel_h[i],
                  .kernel_w = plan->edge_kernel_w[i],
                  .stride_h = plan->edge_stride_h[i],
                  .stride_w = plan->edge_stride_w[i],
                  .padding_h = plan->edge_padding_h[i],
                  .padding_w = plan->edge_padding_w[i],
                  .is_first = i == plan->node_edge_begin[target],
                  .slope = 1}};
    edge.kernel = cuda_convolution_choose(&edge.shape);
    return edge;
}

static void make_node(hox_runner *runner, const hox_plan *plan, uint32_t i) {
    runner_node *node = &runner->nodes[i];
    node->edge_begin = plan->node_edge_begin[i];
    node->edge_end = plan->node_edge_begin[i + 1];
    for (uint32_t e = node->edge_begin; e < node->edge_end; e++)
        runner->edges[e] = make_edge(runner, plan, e, i);
    cuda_convolution *last = &runner->edges[node->edge_end - 1].shape;
    const bool is_bend = find_slope(plan->node_activation[i], &last->slope);
    node->curve = is_bend ? HOX_ACTIVATION_IDENTITY : plan->node_activation[i];
}

// Lays out the device's block and copies the structure.
static void fill_runner(hox_runner *runner, const hox_plan *plan) {
    const uint64_t images = cuda_round_up(runner->capacity.images);
    CUdeviceptr next = runner->block->address;
    runner->nodes = (runner_node *)(runner + 1);
    runner->edges = (runner_edge *)(runner->nodes + plan->node_count);
    runner->weights = next;
    next += weight_bytes(plan);
    runner->logits = next;
    next += images * sizeof(float);
    for (uint32_t i = 0; i < plan->node_count; i++) {
        runner->nodes[i] = (runner_node){.value_count = node_value_count(plan, i)};
        if (i == 0) continue;
        runner->nodes[i].map = next;
        next += images * runner->nodes[i].value_count * sizeof(float);
    }
    for (uint32_t i = 1; i < plan->node_count; i++)
        make_node(runner, plan, i);
}

static hox_status take_block(hox_runner *runner, const hox_plan *plan, hox_error *error) {
    cuda_engine *e = runner->engine;
    const size_t maps = size_times(cuda_round_up(runner->capacity.images), image_bytes(plan));
    HOX_TRY(cuda_device_enter(&e->device, error));
    const hox_status status =
        cuda_pool_take(&e->pool, size_plus(weight_bytes(plan), maps), &runner->block, error);
    cuda_device_leave(&e->device);
    return status;
}

static hox_status eager_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                                const hox_prepare_options *options, hox_runner **runner,
                                hox_error *error) {
    *runner = NULL;
    const hox_host *host = runtime->engine.host;
    job_capacity capacity;
    HOX_TRY(job_check_prepare(lane, runtime->engine.lane_count, HOX_PURPOSE_INFER, plan, options,
                              &capacity, error));
    const size_t bytes = sizeof **runner + plan->node_count * sizeof(runner_node) +
                         plan->edge_count * sizeof(runner_edge);
    void *block;
    HOX_TRY(block_take(host, bytes, &block, error));
    hox_runner *made = block;
    *made = (hox_runner){.half = &runtime_on_cuda,
                         .engine = &runtime->engine,
                         .bytes = bytes,
                         .capacity = capacity,
                         .readout = plan->readout,
                         .node_count = plan->node_count};
    const hox_status status = take_block(made, plan, error);
    if (status != HOX_OK) {
        block_return(host, block, bytes);
        return status;
    }
    fill_runner(made, plan);
    *runner = made;
    return HOX_OK;
}

static void eager_release(hox_runner *runner) {
    if (!runner) return;
    cuda_pool_give(&runner->engine->pool, runner->block);
    block_return(runner->engine->host, runner, runner->bytes);
}

// Evaluation -----------------------------------------------------------------------------------

static hox_status upload_weights(hox_runner *runner, cuda_lane *lane, const hox_weights *weights,
                                 hox_error *error) {
    if (runner->has_weights && runner->weights_version == weights->version) return HOX_OK;
    runner->has_weights = false;
    HOX_TRY(cuda_lane_upload(lane, runner->weights, weights->values,
                             weights->count * sizeof *weights->values, error));
    runner->has_weights = true;
    runner->weights_version = weights->version;
    return HOX_OK;
}

static hox_status run_edge(const hox_runner *runner, const runner_edge *edge, CUstream stream,
                           const hox_job *job, hox_error *error) {
    cuda_convolution shape = edge->shape;
    shape.count = (uint32_t)job->count;
    if (edge->source == 0) {
        shape.source = cuda_floats(job->samples->block->address);
        shape.first = job->first;
    }
    return cuda_launch(&runner->engine->module, stream, edge->kernel,
                       cuda_convolution_blocks(edge->kernel, &shape), &shape, error);
}

static uint64_t blocks_for(uint64_t threads) {
    return (threads + CUDA_THREADS - 1) / CUDA_THREADS;
}

static hox_status run_node(const hox_runner *runner, const runner_node *node, CUstream stream,
                           const hox_job *job, hox_error *error) {
    for (uint32_t e = node->edge_begin; e < node->edge_end; e++)
        HOX_TRY(run_edge(runner, &runner->edges[e], stream, job, error));
    if (node->curve == HOX_ACTIVATION_IDENTITY) return HOX_OK;
    const cuda_activation activation = {.map = cuda_floats(node->map),
                                        .value_count =
                                            cuda_round_up(job->count) * node->value_count,
                                        .kind = node->curve};
    return cuda_launch(&runner->engine->module, stream, CUDA_KERNEL_activate,
                       blocks_for(activation.value_count), &activation, error);
}

static hox_status run_job(const hox_job *job, cuda_lane *lane, hox_error *error) {
    hox_runner *runner = job->runner;
    HOX_TRY(upload_weights(runner, lane, job->weights, error));
    for (uint32_t i = 1; i < runner->node_count; i++)
        HOX_TRY(run_node(runner, &runner->nodes[i], lane->stream, job, error));
    const runner_node *output = &runner->nodes[runner->node_count - 1];
    const cuda_readout readout = {.map = cuda_floats(output->map),
                                  .logits = cuda_floats(runner->logits),
                                  .count = (uint32_t)job->count,
                                  .value_count = (uint32_t)output->value_count,
                                  .kind = runner->readout};
    HOX_TRY(cuda_launch(&runner->engine->module, lane->stream, CUDA_KERNEL_read_out,
                        blocks_for(job->count), &readout, error));
    return cuda_lane_download(lane, job->logits, runner->logits, job->count * sizeof *job->logits,
                              error);
}

static hox_status eager_evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                                 uint32_t job_count, hox_error *error) {
    cuda_engine *e = &runtime->engine;
    if (job_count > 1)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "%u jobs, eager takes 1 on a GPU",
                             job_count);
    hox_job *job = jobs[0];
    job->status = job_check(job, lane, &job->runner->capacity, &job->samples->set);
    if (job->status != HOX_OK) return HOX_OK;
    HOX_TRY(cuda_device_enter(&e->device, error));
    const hox_status status = run_job(job, &e->lanes[lane], error);
    if (status != HOX_OK) {
        cuda_lane_settle(&e->lanes[lane]);
        job->runner->has_weights = false;
    }
    cuda_device_leave(&e->device);
    return status;
}

const hox_runtime_api runtime_on_cuda = {
    .struct_size = sizeof runtime_on_cuda,
    .device_count = cuda_device_count,
    .device_info = cuda_device_info,
    .open = eager_open,
    .close = eager_close,
    .caps = eager_caps,
    .check_plan = eager_check_plan,
    .samples_create = eager_samples_create,
    .samples_write = cuda_samples_write,
    .samples_destroy = cuda_samples_destroy,
    .prepare = eager_prepare,
    .release = eager_release,
    .evaluate = eager_evaluate,
    .memory = eager_memory,
    .trim = eager_trim,
    .estimate = eager_estimate,
};
