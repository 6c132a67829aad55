// cpu_runtimes.h - the CPU runtimes of this build, each with each instruction set; rows for the
// suites that hold them against the reference.
#pragma once

#include <stdlib.h>

static const struct {
    const char *file;
    const char *instruction_set; // of the kernels; NULL = it has none to choose
    double tolerance;            // relative, for FP32
} runtimes[] = {
    {"runtime_eager", NULL, 1e-4},       {"runtime_graph", "avx512", 1e-4},
    {"runtime_graph", "avx2", 1e-4},     {"runtime_graph", "portable", 1e-4},
    {"runtime_fused", "avx512", 1e-4},   {"runtime_fused", "avx2", 1e-4},
    {"runtime_fused", "portable", 1e-4},
};
enum { RUNTIMES = sizeof runtimes / sizeof *runtimes };

static inline void cpu_runtimes_choose(size_t row) {
    if (runtimes[row].instruction_set)
        setenv("HOX_CPU", runtimes[row].instruction_set, 1);
    else
        unsetenv("HOX_CPU");
}
