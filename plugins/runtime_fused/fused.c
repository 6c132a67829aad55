// fused.c - runtime "fused": whole genomes, and whole populations, on a few images at a time, so
// that maps stay near the arithmetic; what genomes compute alike is computed once. On the CPU
// (on_cpu.c), and on NVIDIA GPUs as one kernel (on_cuda.c).
#include "options.h"

#include "cuda/options.h"
#include "runtime/either.h"

#include <hox/plugin.h>

static const hox_field fields[] = {CUDA_PIN_MEMORY(fused_options)};

HOX_RUNTIME_PLUGIN(&runtime_on_either, .name = "fused", .version = "1.1.0", .licence = "Apache-2.0",
                   HOX_OPTIONS(fused_options, fields),
                   .summary = "CPU and NVIDIA GPUs, whole genomes on a few images at a time; what "
                              "genomes share is done once");
