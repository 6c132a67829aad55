#include "cuda/chunk_runtime.h"

#include "cuda/convolution.h"
#include "cuda/samples.h"
#include "runtime/either.h"
#include "runtime/limits.h"
#include "runtime/memory.h"
#include "runtime/places.h"

// ---- life ----

void chunk_close(hox_runtime *runtime) {
    if (!runtime) return;
    const hox_host *host = runtime->engine.host;
    cuda_engine_deinit(&runtime->engine);
    block_return(host, runtime, sizeof *runtime);
}

hox_status chunk_open(const hox_host *host, uint32_t device, uint32_t lane_count, bool is_pinned,
                      bool records, hox_runtime **runtime, hox_error *error) {
    *runtime = NULL;
    void *block;
    HOX_TRY(block_take(host, sizeof **runtime, &block, error));
    hox_runtime *opened = block;
    opened->half = &runtime_on_cuda;
    opened->records = records;
    atomic_init(&opened->is_told, false);
    const hox_status status =
        cuda_engine_init(&opened->engine, host, device, lane_count, is_pinned, error);
    if (status == HOX_OK)
        *runtime = opened;
    else
        chunk_close(opened);
    return status;
}

void chunk_caps(const hox_runtime *runtime, hox_runtime_caps *caps) {
    (void)runtime;
    limits_caps(caps);
}

hox_status chunk_check_plan(const hox_runtime *runtime, const hox_plan *plan, uint32_t precision,
                            hox_error *error) {
    (void)runtime;
    return limits_check_plan(plan, precision, error);
}

hox_status chunk_memory(const hox_runtime *runtime, hox_memory *memory, hox_error *error) {
    return cuda_engine_memory((cuda_engine *)&runtime->engine, memory, error);
}

uint64_t chunk_trim(hox_runtime *runtime, uint64_t bytes) {
    return cuda_engine_trim(&runtime->engine, bytes);
}

hox_status chunk_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                uint32_t height, uint32_t width, hox_samples **samples,
                                hox_error *error) {
    return cuda_samples_create(&runtime->engine, CUDA_IMAGES, count, channels, height, width,
                               samples, error);
}

// ---- sizes ----

// Of one image, in floats: each node's map, where it lies among the others, and all of them in
// turn.
typedef struct map_layout {
    size_t *sizes, *places; // per node
    size_t arena_size;
    void *block;
    size_t bytes;
} map_layout;

static hox_status lay_out_maps(const hox_host *host, const hox_plan *plan, map_layout *l,
                               hox_error *error) {
    l->bytes = 2 * plan->node_count * sizeof *l->sizes;
    HOX_TRY(block_take(host, l->bytes, &l->block, error));
    l->sizes = l->block;
    l->places = l->sizes + plan->node_count;
    for (uint32_t i = 0; i < plan->node_count; i++)
        l->sizes[i] = size_times(plan->node_channels[i],
                                 size_times(plan->node_height[i], plan->node_width[i]));
    l->arena_size = places_find(1, plan->node_count, l->sizes, plan->node_last_use, l->places);
    return HOX_OK;
}

static void drop_layout(const hox_host *host, map_layout *l) {
    block_return(host, l->block, l->bytes);
}

// What an image takes: its maps and its logit.
static size_t image_bytes(const map_layout *l) {
    return size_times(size_plus(l->arena_size, 1), sizeof(float));
}

enum { BOUNDARY = CUDA_IMAGES * sizeof(float) }; // bytes, that each part of the block begins on

// The chunk and the weights.
static size_t head_bytes(const hox_plan *plan) {
    const size_t bytes = size_times(plan->weight_count, sizeof(float));
    return size_plus(BOUNDARY, size_plus(bytes, BOUNDARY - 1) / BOUNDARY * BOUNDARY);
}

// Whole blocks of images: up to 31 more than the capacity.
hox_status chunk_estimate(const hox_runtime *runtime, const hox_plan *plan, uint32_t precision,
                          hox_estimate *estimate, hox_error *error) {
    map_layout layout;
    HOX_TRY(chunk_check_plan(runtime, plan, precision, error));
    HOX_TRY(lay_out_maps(runtime->engine.host, plan, &layout, error));
    const size_t each = image_bytes(&layout);
    drop_layout(runtime->engine.host, &layout);
    *estimate = (hox_estimate){.struct_size = sizeof *estimate,
                               .fixed_bytes =
                                   size_plus(head_bytes(plan), size_times(CUDA_IMAGES - 1, each)),
                               .bytes_per_sample = each};
    return HOX_OK;
}

// ---- a runner's structure ----

// What the activation makes of values below 0, where that is all it does. False: it is a curve.
static bool find_slope(uint32_t activation, float *slope) {
    *slope = activation == HOX_ACTIVATION_RELU         ? 0.0F
             : activation == HOX_ACTIVATION_LEAKY_RELU ? 0.01F
                                                       : 1.0F;
    return activation <= HOX_ACTIVATION_LEAKY_RELU;
}

static chunk_edge make_edge(const hox_runner *runner, const hox_plan *plan, uint32_t i,
                            uint32_t target) {
    const uint32_t source = plan->edge_source[i];
    chunk_edge edge = {
        .shape = {.chunk = (const cuda_chunk *)cuda_floats(runner->chunk),
                  .source = cuda_floats(runner->nodes[source].map),
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
    chunk_node *node = &runner->nodes[i];
    node->edge_begin = plan->node_edge_begin[i];
    node->edge_end = plan->node_edge_begin[i + 1];
    for (uint32_t e = node->edge_begin; e < node->edge_end; e++)
        runner->edges[e] = make_edge(runner, plan, e, i);
    cuda_convolution *last = &runner->edges[node->edge_end - 1].shape;
    const bool is_bend = find_slope(plan->node_activation[i], &last->slope);
    node->curve = is_bend ? HOX_ACTIVATION_IDENTITY : plan->node_activation[i];
}

// Lays out the device's block and copies the structure.
static void fill_runner(hox_runner *runner, const hox_plan *plan, const map_layout *layout) {
    const uint64_t images = cuda_round_up(runner->capacity.images);
    runner->nodes = (chunk_node *)(runner + 1);
    runner->edges = (chunk_edge *)(runner->nodes + plan->node_count);
    runner->chunk = runner->block->address;
    runner->weights = runner->chunk + BOUNDARY;
    runner->logits = runner->chunk + head_bytes(plan);
    const CUdeviceptr maps = runner->logits + images * sizeof(float);
    for (uint32_t i = 0; i < plan->node_count; i++)
        runner->nodes[i] =
            (chunk_node){.value_count = layout->sizes[i],
                         .map = i == 0 ? 0 : maps + images * layout->places[i] * sizeof(float)};
    for (uint32_t i = 1; i < plan->node_count; i++)
        make_node(runner, plan, i);
}

// ---- kernels ----

static uint64_t blocks_for(uint64_t threads) {
    return (threads + CUDA_THREADS - 1) / CUDA_THREADS;
}

static hox_status launch_node(const hox_runner *runner, const chunk_node *node, uint32_t images,
                              CUstream stream, hox_error *error) {
    const cuda_module *module = &runner->runtime->engine.module;
    for (uint32_t e = node->edge_begin; e < node->edge_end; e++) {
        const chunk_edge *edge = &runner->edges[e];
        cuda_convolution shape = edge->shape;
        shape.most = images;
        HOX_TRY(cuda_launch(module, stream, edge->kernel,
                            cuda_convolution_blocks(edge->kernel, &shape), &shape, error));
    }
    if (node->curve == HOX_ACTIVATION_IDENTITY) return HOX_OK;
    const cuda_activation activation = {.map = cuda_floats(node->map),
                                        .value_count = cuda_round_up(images) * node->value_count,
                                        .kind = node->curve};
    return cuda_launch(module, stream, CUDA_KERNEL_activate, blocks_for(activation.value_count),
                       &activation, error);
}

// For so many images, of which the chunk has as many or fewer.
static hox_status launch_all(const hox_runner *runner, uint32_t images, CUstream stream,
                             hox_error *error) {
    for (uint32_t i = 1; i < runner->node_count; i++)
        HOX_TRY(launch_node(runner, &runner->nodes[i], images, stream, error));
    const chunk_node *output = &runner->nodes[runner->node_count - 1];
    const cuda_readout readout = {.chunk = (const cuda_chunk *)cuda_floats(runner->chunk),
                                  .map = cuda_floats(output->map),
                                  .logits = cuda_floats(runner->logits),
                                  .value_count = (uint32_t)output->value_count,
                                  .kind = runner->readout};
    return cuda_launch(&runner->runtime->engine.module, stream, CUDA_KERNEL_read_out,
                       blocks_for(images), &readout, error);
}

// ---- recording ----

// The graph of what follows in the stream until it is ended, which it is in any case.
static hox_status capture(const hox_runner *runner, CUstream stream, CUgraph *graph,
                          hox_error *error) {
    const cuda_driver *driver = &runner->runtime->engine.device.driver;
    static const char what[] = "recording kernels";
    *graph = NULL;
    HOX_TRY(cuda_check(driver,
                       driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                       what, error));
    const hox_status status = launch_all(runner, runner->capacity.images, stream, error);
    CUresult ended = driver->cuStreamEndCapture(stream, graph);
    if (cuda_is_worth_another(ended)) ended = driver->cuStreamEndCapture(stream, graph);
    return status == HOX_OK ? cuda_check(driver, ended, what, error) : status;
}

static hox_status record(hox_runner *runner, CUstream stream, hox_error *error) {
    const cuda_driver *driver = &runner->runtime->engine.device.driver;
    CUgraph graph;
    hox_status status = capture(runner, stream, &graph, error);
    if (status == HOX_OK)
        status =
            cuda_check(driver, driver->cuGraphInstantiateWithFlags(&runner->recorded, graph, 0),
                       "making a recording ready", error);
    if (status != HOX_OK) runner->recorded = NULL;
    if (graph) CUDA_GIVE_BACK(driver->cuGraphDestroy(graph));
    return status;
}

static void tell_once(hox_runtime *runtime, const hox_error *why) {
    char line[HOX_ERROR_MESSAGE_SIZE + 80];
    if (atomic_exchange(&runtime->is_told, true)) return;
    snprintf(line, sizeof line, "%s; kernels are launched one by one, with the same results",
             why->message);
    runtime->engine.host->log(runtime->engine.host, HOX_LOG_WARNING, line);
}

// What cannot be recorded is launched, unless the device is lost.
static hox_status try_to_record(hox_runner *runner, hox_error *error) {
    hox_error why = HOX_ERROR_INIT;
    hox_runtime *runtime = runner->runtime;
    if (!runtime->records) return HOX_OK;
    const hox_status status =
        record(runner, runtime->engine.lanes[runner->capacity.lane].stream, &why);
    if (status == HOX_DEVICE_LOST) return hox_error_pass(error, status, &why);
    if (status != HOX_OK) tell_once(runtime, &why);
    return HOX_OK;
}

// ---- runners ----

// The device's side. The context is current.
static hox_status equip(hox_runner *runner, const hox_plan *plan, const map_layout *layout,
                        hox_error *error) {
    cuda_pool *pool = &runner->runtime->engine.pool;
    const size_t maps = size_times(cuda_round_up(runner->capacity.images), image_bytes(layout));
    HOX_TRY(cuda_pool_take(pool, size_plus(head_bytes(plan), maps), &runner->block, error));
    fill_runner(runner, plan, layout);
    const hox_status status = try_to_record(runner, error);
    if (status != HOX_OK) cuda_pool_give(pool, runner->block);
    return status;
}

static hox_status make_runner(hox_runtime *runtime, const hox_plan *plan,
                              const job_capacity *capacity, const map_layout *layout,
                              hox_runner **runner, hox_error *error) {
    const hox_host *host = runtime->engine.host;
    const size_t bytes = sizeof **runner + plan->node_count * sizeof(chunk_node) +
                         plan->edge_count * sizeof(chunk_edge);
    void *block;
    HOX_TRY(block_take(host, bytes, &block, error));
    hox_runner *made = block;
    *made = (hox_runner){.half = &runtime_on_cuda,
                         .runtime = runtime,
                         .bytes = bytes,
                         .capacity = *capacity,
                         .readout = plan->readout,
                         .node_count = plan->node_count};
    hox_status status = cuda_device_enter(&runtime->engine.device, error);
    if (status == HOX_OK) {
        status = equip(made, plan, layout, error);
        cuda_device_leave(&runtime->engine.device);
    }
    if (status == HOX_OK)
        *runner = made;
    else
        block_return(host, block, bytes);
    return status;
}

hox_status chunk_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                         const hox_prepare_options *options, hox_runner **runner,
                         hox_error *error) {
    *runner = NULL;
    job_capacity capacity;
    map_layout layout;
    HOX_TRY(job_check_prepare(lane, runtime->engine.lane_count, HOX_PURPOSE_INFER, plan, options,
                              &capacity, error));
    HOX_TRY(lay_out_maps(runtime->engine.host, plan, &layout, error));
    const hox_status status = make_runner(runtime, plan, &capacity, &layout, runner, error);
    drop_layout(runtime->engine.host, &layout);
    return status;
}

static void drop_recording(const hox_runner *runner) {
    const cuda_device *device = &runner->runtime->engine.device;
    const bool has_entered = cuda_device_enter(device, NULL) == HOX_OK;
    CUDA_GIVE_BACK(device->driver.cuGraphExecDestroy(runner->recorded));
    if (has_entered) cuda_device_leave(device);
}

void chunk_release(hox_runner *runner) {
    if (!runner) return;
    if (runner->recorded) drop_recording(runner);
    cuda_pool_give(&runner->runtime->engine.pool, runner->block);
    block_return(runner->runtime->engine.host, runner, runner->bytes);
}

// ---- evaluation ----

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

static hox_status run_kernels(const hox_runner *runner, uint32_t images, CUstream stream,
                              hox_error *error) {
    const cuda_driver *driver = &runner->runtime->engine.device.driver;
    if (!runner->recorded) return launch_all(runner, images, stream, error);
    return cuda_check(driver, driver->cuGraphLaunch(runner->recorded, stream), "replaying kernels",
                      error);
}

static hox_status run_job(const hox_job *job, cuda_lane *lane, hox_error *error) {
    hox_runner *runner = job->runner;
    const cuda_chunk chunk = {.images = cuda_floats(job->samples->block->address),
                              .first = job->first,
                              .count = (uint32_t)job->count};
    HOX_TRY(upload_weights(runner, lane, job->weights, error));
    HOX_TRY(cuda_lane_upload(lane, runner->chunk, &chunk, sizeof chunk, error));
    HOX_TRY(run_kernels(runner, chunk.count, lane->stream, error));
    return cuda_lane_download(lane, job->logits, runner->logits, job->count * sizeof *job->logits,
                              error);
}

hox_status chunk_evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                          uint32_t job_count, hox_error *error) {
    cuda_engine *e = &runtime->engine;
    if (job_count > 1)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "%u jobs, a GPU takes 1", job_count);
    hox_job *job = jobs[0];
    job->status = job_check(job, lane, &job->runner->capacity, &job->samples->set);
    if (job->status != HOX_OK) return HOX_OK;
    HOX_TRY(cuda_device_enter(&e->device, error));
    hox_error why = HOX_ERROR_INIT;
    hox_status status = run_job(job, &e->lanes[lane], &why);
    if (status != HOX_OK) {
        status = hox_error_pass(error, cuda_lane_settle(&e->lanes[lane], status), &why);
        job->runner->has_weights = false;
    }
    cuda_device_leave(&e->device);
    return status;
}
