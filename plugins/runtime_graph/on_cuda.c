// on_cuda.c - graph on an NVIDIA GPU: the kernels of a structure are recorded once for its capacity
// (CUDA graphs) and replayed. Weights and the place of a chunk lie in device memory, where a replay
// finds what is there by then.
#include "options.h"

#include "cuda/chunk_runtime.h"
#include "cuda/samples.h"
#include "runtime/either.h"

static hox_status graph_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                             const void *options, hox_runtime **runtime, hox_error *error) {
    const graph_options *chosen = options;
    return chunk_open(host, device, lane_count, !chosen || chosen->pin_memory, true, runtime,
                      error);
}

const hox_runtime_api runtime_on_cuda = {CHUNK_RUNTIME_API, .open = graph_open};
