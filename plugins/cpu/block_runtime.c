#include "cpu/block_runtime.h"

#include "cpu/device.h"
#include "cpu/readout.h"
#include "runtime/limits.h"
#include "runtime/memory.h"

#include <string.h>

enum { SCORE = 10 }; // before eager, behind any other device

static size_t lane_bytes(const cpu_lane *lane) {
    return (lane->map_size + lane->output_size) * sizeof(float);
}

hox_status cpu_block_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                                 hox_error *error) {
    (void)host;
    const cpu_kernels *kernels;
    HOX_TRY(cpu_kernels_choose(&kernels, error));
    return cpu_describe_device(device, kernels->name, SCORE, info, error);
}

hox_status cpu_block_open(const hox_runtime_api *half, const hox_host *host, uint32_t device,
                          uint32_t lane_count, uint32_t last_purpose, size_t kept_size,
                          hox_runtime **runtime, hox_error *error) {
    *runtime = NULL;
    const cpu_kernels *kernels;
    HOX_TRY(cpu_check_device(device, error));
    HOX_TRY(cpu_kernels_choose(&kernels, error));
    const size_t bytes = sizeof **runtime + lane_count * sizeof(cpu_lane);
    void *block;
    HOX_TRY(block_take(host, bytes, &block, error));
    memset(block, 0, bytes);
    *runtime = block;
    **runtime = (hox_runtime){.half = half,
                              .host = host,
                              .kernels = kernels,
                              .bytes = bytes,
                              .lane_count = lane_count,
                              .last_purpose = last_purpose,
                              .kept_size = kept_size};
    return HOX_OK;
}

void cpu_block_close(hox_runtime *runtime) {
    if (!runtime) return;
    for (uint32_t i = 0; i < runtime->lane_count; i++)
        block_return(runtime->host, runtime->lanes[i].memory, lane_bytes(&runtime->lanes[i]));
    block_return(runtime->host, runtime, runtime->bytes);
}

hox_status cpu_block_check_plan(const hox_runtime *runtime, const hox_plan *plan,
                                uint32_t precision, hox_error *error) {
    (void)runtime;
    return limits_check_plan(plan, precision, error);
}

hox_status cpu_block_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                    uint32_t height, uint32_t width, hox_samples **samples,
                                    hox_error *error) {
    return cpu_samples_create(runtime->half, runtime->host, count, channels, height, width, samples,
                              error);
}

// ---- runners ----

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static hox_status grow_lane(hox_runtime *runtime, uint32_t lane, const cpu_program *p,
                            hox_error *error) {
    cpu_lane *own = &runtime->lanes[lane];
    cpu_lane grown = {.runner_count = own->runner_count,
                      .map_size = larger(own->map_size, p->arena_size + runtime->kept_size),
                      .output_size = larger(own->output_size, p->nodes[p->node_count - 1].size)};
    if (lane_bytes(&grown) == lane_bytes(own)) return HOX_OK;
    void *block;
    HOX_TRY(block_take(runtime->host, lane_bytes(&grown), &block, error));
    grown.memory = block;
    block_return(runtime->host, own->memory, lane_bytes(own));
    *own = grown;
    return HOX_OK;
}

static hox_status make_program(hox_runner *runner, const hox_plan *plan, hox_error *error) {
    hox_runtime *runtime = runner->runtime;
    const uint32_t lane = runner->capacity.lane;
    runner->program = cpu_program_make(runner + 1, plan);
    HOX_TRY(grow_lane(runtime, lane, runner->program, error));
    runtime->lanes[lane].runner_count++;
    return HOX_OK;
}

hox_status cpu_block_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                             const hox_prepare_options *options, hox_runner **runner,
                             hox_error *error) {
    *runner = NULL;
    job_capacity capacity;
    HOX_TRY(job_check_prepare(lane, runtime->lane_count, runtime->last_purpose, plan, options,
                              &capacity, error));
    const int is_training = capacity.purpose == HOX_PURPOSE_TRAIN;
    const size_t bytes = size_plus(sizeof **runner, is_training ? 0 : cpu_program_bytes(plan));
    void *block;
    HOX_TRY(block_take(runtime->host, bytes, &block, error));
    hox_runner *made = block;
    *made = (hox_runner){
        .half = runtime->half, .runtime = runtime, .capacity = capacity, .bytes = bytes};
    const hox_status status = is_training ? cpu_trainer_create(runtime->host, plan, capacity.images,
                                                               &made->trainer, error)
                                          : make_program(made, plan, error);
    if (status == HOX_OK)
        *runner = made;
    else
        block_return(runtime->host, block, bytes);
    return status;
}

static void leave_lane(hox_runtime *runtime, uint32_t lane) {
    cpu_lane *own = &runtime->lanes[lane];
    if (--own->runner_count > 0) return;
    block_return(runtime->host, own->memory, lane_bytes(own));
    *own = (cpu_lane){0};
}

void cpu_block_release(hox_runner *runner) {
    if (!runner) return;
    cpu_trainer_destroy(runner->trainer);
    if (runner->program) leave_lane(runner->runtime, runner->capacity.lane);
    block_return(runner->runtime->host, runner, runner->bytes);
}

hox_status cpu_block_estimate(const hox_runtime *runtime, const hox_plan *plan, uint32_t precision,
                              hox_estimate *estimate, hox_error *error) {
    HOX_TRY(cpu_block_check_plan(runtime, plan, precision, error));
    *estimate = (hox_estimate){.struct_size = sizeof *estimate,
                               .fixed_bytes = sizeof(hox_runner) + cpu_program_bytes(plan)};
    return HOX_OK;
}

// ---- jobs ----

void cpu_block_read_out(uint32_t readout, const cpu_node *output, const float *map, float *scratch,
                        float logits[CPU_BLOCK]) {
    const size_t pixels = (size_t)output->channels * output->height * output->width;
    for (size_t image = 0; image < CPU_BLOCK; image++) {
        for (size_t i = 0; i < pixels; i++) // an output has no reader, so no margin
            scratch[pixels + i] = map[i * CPU_BLOCK + image];
        logits[image] = readout_logit(readout, scratch + pixels, pixels, scratch);
    }
}

void cpu_block_deliver(const hox_job *job, uint64_t block, const float logits[CPU_BLOCK]) {
    const uint64_t start = block * CPU_BLOCK;
    const uint64_t end = job->first + job->count;
    const uint64_t first = start < job->first ? job->first : start;
    const uint64_t last = start + CPU_BLOCK < end ? start + CPU_BLOCK : end;
    for (uint64_t i = first; i < last; i++)
        job->logits[i - job->first] = logits[i - start];
}

// ---- training ----

hox_status cpu_block_train_forward(hox_runner *runner, const hox_weights *weights,
                                   const hox_samples *samples, const uint64_t *indices,
                                   uint64_t count, float *logits, hox_error *error) {
    HOX_TRY(job_check_training(&runner->capacity, weights, &samples->set, indices, count, error));
    cpu_trainer_forward(runner->trainer, runner->runtime->kernels, weights->values, samples,
                        indices, count, logits);
    return HOX_OK;
}

hox_status cpu_block_train_backward(hox_runner *runner, const float *dlogits, float *gradient,
                                    hox_error *error) {
    if (runner->capacity.purpose != HOX_PURPOSE_TRAIN)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "a runner that does not train");
    return cpu_trainer_backward(runner->trainer, runner->runtime->kernels, dlogits, gradient,
                                error);
}
