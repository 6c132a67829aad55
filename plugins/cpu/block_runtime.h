// block_runtime.h - what the runtimes share that compute a whole genome on a block of 16 images at
// a time: opening, programs as runners, a lane's memory. They differ in evaluate.
#pragma once

#include "cpu/program.h"
#include "cpu/samples.h"
#include "cpu/trainer.h"

// A lane's memory, for the largest of its runners so far, while it has any: maps in turn, those
// that are kept, and room to sort an output map.
typedef struct cpu_lane {
    uint32_t runner_count; // for inference
    float *memory;
    size_t map_size, output_size; // floats: maps and kept maps; behind them the room to sort
} cpu_lane;

struct hox_runtime {
    const hox_runtime_api *half; // the CPU's, of its plugin
    const hox_host *host;
    const cpu_kernels *kernels;
    size_t bytes; // of this block
    uint32_t lane_count;
    uint32_t last_purpose; // of HOX_PURPOSE_*, that it prepares for
    size_t kept_size;      // floats a lane has beside one genome's maps
    cpu_lane lanes[];
};

// For inference a program, for training a trainer.
struct hox_runner {
    const hox_runtime_api *half;
    hox_runtime *runtime;
    job_capacity capacity;
    cpu_program *program; // behind this struct, in its block
    cpu_trainer *trainer;
    size_t bytes;
};

// As in hox_runtime_api.
hox_status cpu_block_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                                 hox_error *error);
// kept_size: floats. half: what its objects begin with (runtime/either.h); NULL
// where the plugin is for the CPU alone.
hox_status cpu_block_open(const hox_runtime_api *half, const hox_host *host, uint32_t device,
                          uint32_t lane_count, uint32_t last_purpose, size_t kept_size,
                          hox_runtime **runtime, hox_error *error) HOX_MUST_CHECK;
void cpu_block_close(hox_runtime *runtime);
hox_status cpu_block_check_plan(const hox_runtime *runtime, const hox_plan *plan,
                                uint32_t precision, hox_error *error);
hox_status cpu_block_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                    uint32_t height, uint32_t width, hox_samples **samples,
                                    hox_error *error);
hox_status cpu_block_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                             const hox_prepare_options *options, hox_runner **runner,
                             hox_error *error);
void cpu_block_release(hox_runner *runner);
hox_status cpu_block_train_forward(hox_runner *runner, const hox_weights *weights,
                                   const hox_samples *samples, const uint64_t *indices,
                                   uint64_t count, float *logits, hox_error *error);
hox_status cpu_block_train_backward(hox_runner *runner, const float *dlogits, float *gradient,
                                    hox_error *error);
hox_status cpu_block_estimate(const hox_runtime *runtime, const hox_plan *plan, uint32_t precision,
                              hox_estimate *estimate, hox_error *error);

// Logits of a block from the output's map. scratch: twice as many floats as the map of one image
// has.
void cpu_block_read_out(uint32_t readout, const cpu_node *output, const float *map, float *scratch,
                        float logits[CPU_BLOCK]);

// Those of the block's logits that the job wants, to their place. block: of the samples.
void cpu_block_deliver(const hox_job *job, uint64_t block, const float logits[CPU_BLOCK]);
