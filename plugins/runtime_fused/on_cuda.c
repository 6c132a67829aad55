// on_cuda.c - fused on an NVIDIA GPU: one kernel takes each few images through all genomes of a
// call, step by step from a list in the device's memory; maps stay in shared memory as far as they
// fit, and only logits are written.
#include "listing.h"
#include "options.h"

#include "cuda/samples.h"
#include "runtime/either.h"
#include "runtime/job.h"
#include "runtime/limits.h"
#include "runtime/memory.h"

#include <stdbool.h>
#include <string.h>

enum {
    MOST_JOBS = 32,
    KEPT_FLOATS = 32 << 10, // of scratch a block of threads, for maps that wait for another genome
    TAPE_BYTES = 4 << 20    // a call whose lists and weights take more is made in parts
};

// What a lane holds, as large as its runners need it.
typedef struct lane_need {
    uint64_t tape_bytes; // steps, and weights behind them; as much on the host
    uint64_t logit_bytes, scratch_bytes;
} lane_need;

typedef struct fused_lane {
    uint32_t runner_count;
    lane_need need;
    void *tape;        // on the host
    cuda_block *block; // the tape, logits, scratch
} fused_lane;

struct hox_runtime {
    const hox_runtime_api *half;
    cuda_engine engine;
    uint64_t shared_floats; // of a block of threads
    uint32_t most_blocks;   // of threads: so many are on the device at once
    uint32_t lane_count;
    fused_lane *lanes;
};

struct hox_runner {
    const hox_runtime_api *half;
    hox_runtime *runtime;
    size_t bytes; // of this block, with the program behind the struct
    job_capacity capacity;
    tile_program *program;
};

// Life -----------------------------------------------------------------------------------------

static void fused_close(hox_runtime *runtime) {
    if (!runtime) return;
    const hox_host *host = runtime->engine.host;
    block_return(host, runtime->lanes, runtime->lane_count * sizeof *runtime->lanes);
    cuda_engine_deinit(&runtime->engine);
    block_return(host, runtime, sizeof *runtime);
}

// So much shared memory that a processor holds CUDA_TILE_BLOCKS blocks.
static hox_status find_room(hox_runtime *r, hox_error *error) {
    enum { RESERVED = 1024 }; // bytes of a block's shared memory that the driver keeps
    uint32_t of_block, of_processor, processors;
    const struct {
        CUdevice_attribute attribute;
        uint32_t *value;
    } rows[] = {{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &of_block},
                {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &of_processor},
                {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &processors}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        HOX_TRY(cuda_device_attribute(&r->engine.device, rows[i].attribute, rows[i].value, error));
    uint32_t bytes = of_processor / CUDA_TILE_BLOCKS - RESERVED;
    if (bytes > of_block) bytes = of_block;
    r->shared_floats = bytes / (CUDA_TILE * sizeof(float)) * CUDA_TILE;
    r->most_blocks = processors * CUDA_TILE_BLOCKS;
    return HOX_OK;
}

static uint32_t shared_bytes(const hox_runtime *r) {
    return (uint32_t)(r->shared_floats * sizeof(float));
}

static hox_status allow_shared(hox_runtime *r, hox_error *error) {
    HOX_TRY(cuda_device_enter(&r->engine.device, error));
    const hox_status status =
        cuda_allow_shared(&r->engine.module, CUDA_KERNEL_run_genomes, shared_bytes(r), error);
    cuda_device_leave(&r->engine.device);
    return status;
}

static hox_status make_lanes(hox_runtime *r, uint32_t count, hox_error *error) {
    void *lanes;
    HOX_TRY(block_take(r->engine.host, count * sizeof *r->lanes, &lanes, error));
    memset(lanes, 0, count * sizeof *r->lanes);
    r->lanes = lanes;
    r->lane_count = count;
    return HOX_OK;
}

static hox_status fused_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                             const void *options, hox_runtime **runtime, hox_error *error) {
    *runtime = NULL;
    const fused_options *chosen = options;
    void *block;
    HOX_TRY(block_take(host, sizeof **runtime, &block, error));
    hox_runtime *opened = block;
    *opened = (hox_runtime){.half = &runtime_on_cuda};
    hox_status status = cuda_engine_init(&opened->engine, host, device, lane_count,
                                         !chosen || chosen->pin_memory, error);
    if (status == HOX_OK) status = find_room(opened, error);
    if (status == HOX_OK) status = allow_shared(opened, error);
    if (status == HOX_OK) status = make_lanes(opened, lane_count, error);
    if (status == HOX_OK)
        *runtime = opened;
    else
        fused_close(opened);
    return status;
}

static void fused_caps(const hox_runtime *runtime, hox_runtime_caps *caps) {
    (void)runtime;
    limits_caps(caps);
    caps->flags |= HOX_RUNTIME_SHARES_VALUES;
    caps->batch_multiple = CUDA_TILE;
    caps->max_group = MOST_JOBS;
}

static hox_status fused_check_plan(const hox_runtime *runtime, const hox_plan *plan,
                                   uint32_t precision, hox_error *error) {
    (void)runtime;
    HOX_TRY(limits_check_plan(plan, precision, error));
    return tile_program_check(plan, error);
}

static hox_status fused_memory(const hox_runtime *runtime, hox_memory *memory, hox_error *error) {
    return cuda_engine_memory((cuda_engine *)&runtime->engine, memory, error);
}

static uint64_t fused_trim(hox_runtime *runtime, uint64_t bytes) {
    return cuda_engine_trim(&runtime->engine, bytes);
}

static hox_status fused_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                       uint32_t height, uint32_t width, hox_samples **samples,
                                       hox_error *error) {
    return cuda_samples_create(&runtime->engine, CUDA_TILE, count, channels, height, width, samples,
                               error);
}

// Sizes ----------------------------------------------------------------------------------------

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t step_bytes(uint64_t step_count) {
    return (step_count * sizeof(cuda_step) + 15) / 16 * 16;
}

// Of one genome, all of it computed.
static uint64_t tape_bytes(const tile_program *p) {
    return step_bytes(p->step_count) + p->weight_floats * sizeof(float);
}

// Blocks of threads for so many images, wherever in a tile they begin.
static uint64_t blocks_for(const hox_runtime *r, uint64_t images) {
    return smaller(r->most_blocks, (images + CUDA_TILE - 1) / CUDA_TILE + 1);
}

// Scratch a block of threads, for a genome that takes so many floats of memory.
static uint64_t scratch_floats(const hox_runtime *r, uint64_t memory) {
    return KEPT_FLOATS + (memory > r->shared_floats ? memory - r->shared_floats : 0);
}

static hox_status find_need(const hox_runtime *r, const tile_program *program, uint64_t images,
                            lane_need *need, hox_error *error) {
    uint64_t memory;
    HOX_TRY(listing_measure(r->engine.host, program, r->shared_floats, &memory, error));
    const uint64_t tape = tape_bytes(program);
    *need = (lane_need){
        .tape_bytes = larger(tape, smaller(size_times(MOST_JOBS, tape), TAPE_BYTES)),
        .logit_bytes = MOST_JOBS * images * sizeof(float),
        .scratch_bytes = size_times(blocks_for(r, images),
                                    size_times(scratch_floats(r, memory), sizeof(float)))};
    return HOX_OK;
}

static uint64_t sum_of(const lane_need *n) {
    return size_plus(n->tape_bytes, size_plus(n->logit_bytes, n->scratch_bytes));
}

// A bound: what a lane holds for one runner is there for the next one too.
static hox_status fused_estimate(const hox_runtime *runtime, const hox_plan *plan,
                                 uint32_t precision, hox_estimate *estimate, hox_error *error) {
    void *block;
    lane_need need;
    const hox_host *host = runtime->engine.host;
    HOX_TRY(fused_check_plan(runtime, plan, precision, error));
    HOX_TRY(block_take(host, tile_program_bytes(plan), &block, error));
    const hox_status status =
        find_need(runtime, tile_program_make(block, plan), UINT32_MAX, &need, error);
    block_return(host, block, tile_program_bytes(plan));
    if (status != HOX_OK) return status;
    *estimate = (hox_estimate){.struct_size = sizeof *estimate,
                               .fixed_bytes = size_plus(need.tape_bytes, need.scratch_bytes),
                               .bytes_per_sample = MOST_JOBS * sizeof(float)};
    return HOX_OK;
}

// Runners --------------------------------------------------------------------------------------

static void give_lane(hox_runtime *r, fused_lane *lane) {
    cuda_pool_give(&r->engine.pool, lane->block);
    block_return(r->engine.host, lane->tape, lane->need.tape_bytes);
    lane->block = NULL;
    lane->tape = NULL;
    lane->need = (lane_need){0};
}

static hox_status take_lane(hox_runtime *r, fused_lane *lane, hox_error *error) {
    HOX_TRY(block_take(r->engine.host, lane->need.tape_bytes, &lane->tape, error));
    hox_status status = cuda_device_enter(&r->engine.device, error);
    if (status == HOX_OK) {
        status = cuda_pool_take(&r->engine.pool, sum_of(&lane->need), &lane->block, error);
        cuda_device_leave(&r->engine.device);
    }
    if (status != HOX_OK) block_return(r->engine.host, lane->tape, lane->need.tape_bytes);
    return status;
}

static hox_status grow_lane(hox_runtime *r, fused_lane *lane, const lane_need *need,
                            hox_error *error) {
    fused_lane grown = {
        .runner_count = lane->runner_count,
        .need = {.tape_bytes = larger(lane->need.tape_bytes, need->tape_bytes),
                 .logit_bytes = larger(lane->need.logit_bytes, need->logit_bytes),
                 .scratch_bytes = larger(lane->need.scratch_bytes, need->scratch_bytes)}};
    if (memcmp(&grown.need, &lane->need, sizeof grown.need) == 0) return HOX_OK;
    HOX_TRY(take_lane(r, &grown, error));
    give_lane(r, lane);
    *lane = grown;
    return HOX_OK;
}

static hox_status fused_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                                const hox_prepare_options *options, hox_runner **runner,
                                hox_error *error) {
    *runner = NULL;
    const hox_host *host = runtime->engine.host;
    job_capacity capacity;
    lane_need need;
    void *block;
    HOX_TRY(job_check_prepare(lane, runtime->lane_count, HOX_PURPOSE_INFER, plan, options,
                              &capacity, error));
    HOX_TRY(tile_program_check(plan, error));
    const size_t bytes = sizeof **runner + tile_program_bytes(plan);
    HOX_TRY(block_take(host, bytes, &block, error));
    hox_runner *made = block;
    *made = (hox_runner){
        .half = &runtime_on_cuda, .runtime = runtime, .bytes = bytes, .capacity = capacity};
    made->program = tile_program_make(made + 1, plan);
    hox_status status = find_need(runtime, made->program, capacity.images, &need, error);
    if (status == HOX_OK) status = grow_lane(runtime, &runtime->lanes[lane], &need, error);
    if (status != HOX_OK) {
        block_return(host, block, bytes);
        return status;
    }
    runtime->lanes[lane].runner_count++;
    *runner = made;
    return HOX_OK;
}

static void fused_release(hox_runner *runner) {
    if (!runner) return;
    hox_runtime *r = runner->runtime;
    fused_lane *lane = &r->lanes[runner->capacity.lane];
    if (--lane->runner_count == 0) give_lane(r, lane);
    block_return(r->engine.host, runner, runner->bytes);
}

// Evaluation -----------------------------------------------------------------------------------

// A part of a call, on a lane.
typedef struct part {
    hox_runtime *runtime;
    cuda_lane *stream;
    fused_lane *lane;
    hox_job **jobs;
    listing_genome genomes[MOST_JOBS];
    uint32_t count;
    uint64_t tape_steps; // room for so many bytes of steps
} part;

// As many jobs as the tape holds; at least one.
static void choose_jobs(part *p, hox_job **jobs, uint32_t count) {
    uint64_t steps = 0, weights = 0;
    p->jobs = jobs;
    for (p->count = 0; p->count < count; p->count++) {
        const tile_program *program = jobs[p->count]->runner->program;
        steps += program->step_count;
        weights += program->weight_floats * sizeof(float);
        if (p->count > 0 && step_bytes(steps) + weights > p->lane->need.tape_bytes) break;
        p->genomes[p->count] = (listing_genome){program, jobs[p->count]->weights, p->count};
        p->tape_steps = step_bytes(steps);
    }
}

static cuda_genomes shape_launch(const part *p) {
    const hox_job *job = p->jobs[0];
    const CUdeviceptr tape = p->lane->block->address, logits = tape + p->lane->need.tape_bytes;
    const uint64_t end = (job->first + job->count + CUDA_TILE - 1) / CUDA_TILE;
    cuda_genomes g = {.steps = (const cuda_step *)(uintptr_t)tape,
                      .weights = cuda_floats(tape + p->tape_steps),
                      .samples = cuda_floats(job->samples->block->address),
                      .logits = cuda_floats(logits),
                      .scratch = cuda_floats(logits + p->lane->need.logit_bytes),
                      .first = job->first,
                      .count = job->count,
                      .first_tile = job->first / CUDA_TILE,
                      .pixels = job->samples->pixels};
    g.tile_count = (uint32_t)(end - g.first_tile);
    return g;
}

// Steps and weights to the device.
static hox_status upload_tape(const part *p, const listing *l, cuda_genomes *g, hox_error *error) {
    const CUdeviceptr tape = p->lane->block->address;
    cuda_step *steps = p->lane->tape;
    float *weights = (float *)((char *)p->lane->tape + p->tape_steps);
    uint64_t weight_floats;
    listing_write(l, steps, &g->step_count, weights, &weight_floats);
    HOX_TRY(cuda_lane_upload(p->stream, tape, steps, g->step_count * sizeof *steps, error));
    return cuda_lane_upload(p->stream, tape + p->tape_steps, weights,
                            weight_floats * sizeof *weights, error);
}

static hox_status launch(const part *p, const listing *l, cuda_genomes *g, uint64_t blocks,
                         hox_error *error) {
    const hox_runtime *r = p->runtime;
    const cuda_grid grid = {
        .block_count = blocks, .threads = CUDA_TILE_THREADS, .shared_bytes = shared_bytes(r)};
    HOX_TRY(upload_tape(p, l, g, error));
    return cuda_launch_grid(&r->engine.module, p->stream->stream, CUDA_KERNEL_run_genomes, grid, g,
                            error);
}

static hox_status run_part(part *p, hox_error *error) {
    const hox_runtime *r = p->runtime;
    listing *l;
    cuda_genomes g = shape_launch(p);
    const uint64_t blocks = smaller(g.tile_count, r->most_blocks);
    // Scratch for whole pixels.
    g.scratch_floats =
        p->lane->need.scratch_bytes / blocks / (CUDA_TILE * sizeof(float)) * CUDA_TILE;
    HOX_TRY(listing_make(r->engine.host, p->genomes, p->count, r->shared_floats,
                         r->shared_floats + g.scratch_floats, &l, error));
    hox_status status = launch(p, l, &g, blocks, error);
    for (uint32_t i = 0; i < p->count && status == HOX_OK; i++) {
        const hox_job *job = p->jobs[p->genomes[i].job];
        const CUdeviceptr logits = (CUdeviceptr)(uintptr_t)(g.logits + i * g.count);
        status = cuda_lane_download(p->stream, job->logits, logits, g.count * sizeof *job->logits,
                                    error);
    }
    listing_free(l);
    return status;
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
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "%u jobs, fused takes %d on a GPU",
                             job_count, MOST_JOBS);
    const uint32_t fit_count = choose_fit(jobs, job_count, lane, fit);
    if (fit_count == 0) return HOX_OK;
    part p = {
        .runtime = runtime, .stream = &runtime->engine.lanes[lane], .lane = &runtime->lanes[lane]};
    HOX_TRY(cuda_device_enter(&runtime->engine.device, error));
    hox_error why = HOX_ERROR_INIT;
    hox_status status = HOX_OK;
    for (uint32_t done = 0; done < fit_count && status == HOX_OK; done += p.count) {
        choose_jobs(&p, fit + done, fit_count - done);
        status = run_part(&p, &why);
    }
    if (status != HOX_OK) status = hox_error_pass(error, cuda_lane_settle(p.stream, status), &why);
    cuda_device_leave(&runtime->engine.device);
    return status;
}

const hox_runtime_api runtime_on_cuda = {
    .struct_size = sizeof runtime_on_cuda,
    .device_count = cuda_device_count,
    .device_info = cuda_device_info,
    .open = fused_open,
    .close = fused_close,
    .caps = fused_caps,
    .check_plan = fused_check_plan,
    .samples_create = fused_samples_create,
    .samples_write = cuda_samples_write,
    .samples_destroy = cuda_samples_destroy,
    .prepare = fused_prepare,
    .release = fused_release,
    .evaluate = fused_evaluate,
    .memory = fused_memory,
    .trim = fused_trim,
    .estimate = fused_estimate,
};
