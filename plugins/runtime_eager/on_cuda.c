// on_cuda.c - eager on an NVIDIA GPU: all images of a job at once, node by node, edge by edge; the
// kernels sum a pixel in the order of the definition, whatever the batch.
#include "options.h"

#include "cuda/chunk_runtime.h"
#include "cuda/samples.h"
#include "runtime/either.h"

static hox_status eager_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                             const void *options, hox_runtime **runtime, hox_error *error) {
    const eager_options *chosen = options;
    return chunk_open(host, device, lane_count, !chosen || chosen->pin_memory, false, runtime,
                      error);
}

const hox_runtime_api runtime_on_cuda = {CHUNK_RUNTIME_API, .open = eager_open};
