// on_cpu.c - fused on the CPU: whole genomes, and whole populations, per block of 16 images, so
// that maps stay in the cache; what genomes compute alike is computed once for a block.
#include "share.h"

#include "cpu/device.h"
#include "cpu/float_mode.h"
#include "runtime/either.h"
#include "runtime/limits.h"

// Kept maps beside those of one genome: with them a lane stays within the second-level cache.
enum { MOST_JOBS = 64, KEPT_FLOATS = 192 << 10 };

static hox_status fused_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                             const void *options, hox_runtime **runtime, hox_error *error) {
    (void)options;
    return cpu_block_open(&runtime_on_cpu, host, device, lane_count, HOX_PURPOSE_TRAIN, KEPT_FLOATS,
                          runtime, error);
}

static hox_status fused_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                                    hox_error *error) {
    HOX_TRY(cpu_block_device_info(host, device, info, error));
    info->flags = HOX_RUNTIME_TRAINS;
    return HOX_OK;
}

static void fused_caps(const hox_runtime *runtime, hox_runtime_caps *caps) {
    (void)runtime;
    limits_caps(caps);
    caps->flags |= HOX_RUNTIME_SHARES_VALUES | HOX_RUNTIME_TRAINS;
    caps->batch_multiple = CPU_BLOCK;
    caps->max_group = MOST_JOBS;
}

static void run_steps(const cpu_kernels *kernels, const share_plan *plan, size_t begin, size_t end,
                      const float *images) {
    for (size_t i = begin; i < end; i++) {
        const share_step *s = &plan->steps[i];
        if (s->node->edge_count == 0) {
            cpu_copy_input(s->node, images, s->target);
            continue;
        }
        cpu_clear_margins(s->node, s->target);
        kernels->compute(s->node, s->weights, s->maps, s->target);
    }
}

// All genomes on one block. scratch: room for the readout.
static void run_block(const hox_runtime *runtime, const share_plan *plan, uint64_t block,
                      float *scratch) {
    size_t begin = 0;
    for (uint32_t j = 0; j < plan->job_count; j++) {
        const share_job *s = &plan->jobs[j];
        const cpu_program *p = s->job->runner->program;
        const float *images = cpu_samples_block(s->job->samples, block);
        float logits[CPU_BLOCK];
        if (!cpu_program_copies_input(p)) s->maps[0] = images;
        run_steps(runtime->kernels, plan, begin, s->step_end, images);
        begin = s->step_end;
        cpu_block_read_out(p->readout, &p->nodes[p->node_count - 1], s->maps[p->node_count - 1],
                           scratch, logits);
        cpu_block_deliver(s->job, block, logits);
    }
}

// Jobs that fit their runners, to the front of fit; their number.
static uint32_t choose_fit(hox_job *const *jobs, uint32_t job_count, uint32_t lane, hox_job **fit) {
    uint32_t count = 0;
    for (uint32_t j = 0; j < job_count; j++) {
        jobs[j]->status =
            job_check(jobs[j], lane, &jobs[j]->runner->capacity, &jobs[j]->samples->set);
        if (jobs[j]->status == HOX_OK) fit[count++] = jobs[j];
    }
    return count;
}

static hox_status fused_evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                                 uint32_t job_count, hox_error *error) {
    hox_job *fit[MOST_JOBS];
    if (job_count > MOST_JOBS)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "%u jobs, fused takes %d", job_count,
                             MOST_JOBS);
    const uint32_t fit_count = choose_fit(jobs, job_count, lane, fit);
    if (fit_count == 0) return HOX_OK;
    const cpu_lane *own = &runtime->lanes[lane];
    share_plan *plan;
    HOX_TRY(
        share_plan_make(runtime->host, fit, fit_count, own->memory, own->map_size, &plan, error));
    const hox_job *first = fit[0];
    const uint64_t end = (first->first + first->count + CPU_BLOCK - 1) / CPU_BLOCK;
    const uint32_t mode = float_mode_flush();
    for (uint64_t block = first->first / CPU_BLOCK; block < end; block++)
        run_block(runtime, plan, block, own->memory + own->map_size);
    float_mode_restore(mode);
    share_plan_free(plan);
    return HOX_OK;
}

const hox_runtime_api runtime_on_cpu = {
    .struct_size = sizeof runtime_on_cpu,
    .device_count = cpu_device_count,
    .device_info = fused_device_info,
    .open = fused_open,
    .close = cpu_block_close,
    .caps = fused_caps,
    .check_plan = cpu_block_check_plan,
    .samples_create = cpu_block_samples_create,
    .samples_write = cpu_samples_write,
    .samples_destroy = cpu_samples_destroy,
    .prepare = cpu_block_prepare,
    .release = cpu_block_release,
    .evaluate = fused_evaluate,
    .estimate = cpu_block_estimate,
    .train_forward = cpu_block_train_forward,
    .train_backward = cpu_block_train_backward,
};
