// on_cpu.c - graph on the CPU: the plan once turned into a list of steps over one arena, replayed
// for each block of 16 images. Weights are read where the genome has them, so a replay never sees
// old ones.
#include "cpu/block_runtime.h"
#include "cpu/device.h"
#include "cpu/float_mode.h"
#include "runtime/either.h"
#include "runtime/limits.h"

static hox_status graph_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                             const void *options, hox_runtime **runtime, hox_error *error) {
    (void)options;
    return cpu_block_open(&runtime_on_cpu, host, device, lane_count, HOX_PURPOSE_INFER, 0, runtime,
                          error);
}

static void graph_caps(const hox_runtime *runtime, hox_runtime_caps *caps) {
    (void)runtime;
    limits_caps(caps);
    caps->batch_multiple = CPU_BLOCK;
}

// The image of the next block, where the steps look for it.
static void set_image(const cpu_program *p, const float *image, float *memory) {
    if (cpu_program_copies_input(p))
        cpu_copy_input(&p->nodes[0], image, memory + p->places[0]);
    else
        p->maps[0] = image;
}

static void replay(const cpu_program *p, const cpu_kernels *kernels, const float *weights,
                   float *memory) {
    for (uint32_t i = 1; i < p->node_count; i++) {
        float *map = memory + p->places[i];
        cpu_clear_margins(&p->nodes[i], map);
        kernels->compute(&p->nodes[i], weights, p->maps, map);
    }
}

static void run_job(const hox_runtime *runtime, const hox_job *job, const cpu_lane *own) {
    float *memory = own->memory;
    const cpu_program *p = job->runner->program;
    const cpu_node *output = &p->nodes[p->node_count - 1];
    for (uint32_t i = 0; i < p->node_count; i++)
        p->maps[i] = memory + p->places[i];
    const uint64_t end = (job->first + job->count + CPU_BLOCK - 1) / CPU_BLOCK;
    const uint32_t mode = float_mode_flush();
    for (uint64_t block = job->first / CPU_BLOCK; block < end; block++) {
        float logits[CPU_BLOCK];
        set_image(p, cpu_samples_block(job->samples, block), memory);
        replay(p, runtime->kernels, job->weights->values, memory);
        cpu_block_read_out(p->readout, output, p->maps[p->node_count - 1], memory + p->arena_size,
                           logits);
        cpu_block_deliver(job, block, logits);
    }
    float_mode_restore(mode);
}

static hox_status graph_evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                                 uint32_t job_count, hox_error *error) {
    if (job_count > 1)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "%u jobs, graph takes 1", job_count);
    jobs[0]->status = job_check(jobs[0], lane, &jobs[0]->runner->capacity, &jobs[0]->samples->set);
    if (jobs[0]->status == HOX_OK) run_job(runtime, jobs[0], &runtime->lanes[lane]);
    return HOX_OK;
}

const hox_runtime_api runtime_on_cpu = {
    .struct_size = sizeof runtime_on_cpu,
    .device_count = cpu_device_count,
    .device_info = cpu_block_device_info,
    .open = graph_open,
    .close = cpu_block_close,
    .caps = graph_caps,
    .check_plan = cpu_block_check_plan,
    .samples_create = cpu_block_samples_create,
    .samples_write = cpu_samples_write,
    .samples_destroy = cpu_samples_destroy,
    .prepare = cpu_block_prepare,
    .release = cpu_block_release,
    .evaluate = graph_evaluate,
    .estimate = cpu_block_estimate,
};
