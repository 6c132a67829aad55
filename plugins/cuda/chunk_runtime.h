// chunk_runtime.h - what the runtimes share that compute a chunk of images node by node, all of it
// at once: eager launches the kernels each time, graph records them once (CUDA graphs) and replays.
#pragma once

#include "cuda/engine.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct chunk_edge {
    cuda_kernel kernel;
    cuda_convolution shape; // but for `most`, which each launch sets
} chunk_edge;

typedef struct chunk_node {
    uint32_t edge_begin, edge_end;
    uint32_t curve;       // HOX_ACTIVATION_* that takes a kernel of its own, else IDENTITY
    uint64_t value_count; // of one image
    CUdeviceptr map;      // of all images; 0 for the input: its map are the samples
} chunk_node;

struct hox_runtime {
    const hox_runtime_api *half; // runtime_on_cuda
    cuda_engine engine;
    bool records;        // a runner's kernels, once
    atomic_bool is_told; // that some could not be recorded
};

// Its block on the device holds the chunk, the weights, the logits, and the maps of all nodes but
// the input, which take their places in turn.
struct hox_runner {
    const hox_runtime_api *half;
    hox_runtime *runtime;
    size_t bytes; // of this block, with arrays behind the struct
    job_capacity capacity;
    uint32_t readout, node_count;
    chunk_node *nodes;
    chunk_edge *edges;
    cuda_block *block;
    CUdeviceptr chunk, weights, logits;
    bool has_weights; // those of the version lie on the device
    uint64_t weights_version;
    CUgraphExec recorded; // for the capacity; NULL: kernels are launched
};

// As in hox_runtime_api.
hox_status chunk_open(const hox_host *host, uint32_t device, uint32_t lane_count, bool is_pinned,
                      bool records, hox_runtime **runtime, hox_error *error);
void chunk_close(hox_runtime *runtime);
void chunk_caps(const hox_runtime *runtime, hox_runtime_caps *caps);
hox_status chunk_check_plan(const hox_runtime *runtime, const hox_plan *plan, uint32_t precision,
                            hox_error *error);
hox_status chunk_memory(const hox_runtime *runtime, hox_memory *memory, hox_error *error);
uint64_t chunk_trim(hox_runtime *runtime, uint64_t bytes);
hox_status chunk_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                uint32_t height, uint32_t width, hox_samples **samples,
                                hox_error *error);
hox_status chunk_estimate(const hox_runtime *runtime, const hox_plan *plan, uint32_t precision,
                          hox_estimate *estimate, hox_error *error);
hox_status chunk_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                         const hox_prepare_options *options, hox_runner **runner, hox_error *error);
void chunk_release(hox_runner *runner);
hox_status chunk_evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                          uint32_t job_count, hox_error *error);

// The rows of a runtime's table, but for open.
#define CHUNK_RUNTIME_API                                                                          \
    .struct_size = sizeof(hox_runtime_api), .device_count = cuda_device_count,                     \
    .device_info = cuda_device_info, .close = chunk_close, .caps = chunk_caps,                     \
    .check_plan = chunk_check_plan, .samples_create = chunk_samples_create,                        \
    .samples_write = cuda_samples_write, .samples_destroy = cuda_samples_destroy,                  \
    .prepare = chunk_prepare, .release = chunk_release, .evaluate = chunk_evaluate,                \
    .memory = chunk_memory, .trim = chunk_trim, .estimate = chunk_estimate
