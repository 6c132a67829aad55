// graph.c - runtime "graph": planned once into static buffers, and replayed. On the CPU a list of
// steps (on_cpu.c), on NVIDIA GPUs a CUDA graph (on_cuda.c).
#include "options.h"

#include "cuda/options.h"
#include "runtime/either.h"

#include <hox/plugin.h>

static const hox_field fields[] = {CUDA_PIN_MEMORY(graph_options)};

HOX_RUNTIME_PLUGIN(&runtime_on_either, .name = "graph", .version = "1.1.0", .licence = "Apache-2.0",
                   HOX_OPTIONS(graph_options, fields),
                   .summary = "CPU and NVIDIA GPUs, planned once into one arena and replayed");
