// eager.c - runtime "eager": node by node, edge by edge, in fp32. Plain and right: on the CPU the
// judge of all other runtimes (on_cpu.c), on NVIDIA GPUs with our own kernels (on_cuda.c).
#include "options.h"

#include "cuda/options.h"
#include "runtime/either.h"

#include <hox/plugin.h>

static const hox_field fields[] = {CUDA_PIN_MEMORY(eager_options)};

HOX_RUNTIME_PLUGIN(&runtime_on_either, .name = "eager", .version = "1.1.0", .licence = "Apache-2.0",
                   HOX_OPTIONS(eager_options, fields),
                   .summary = "CPU and NVIDIA GPUs, node by node; on the CPU in reference order, "
                              "the judge of the others");
