// runtimes.h - the runtimes of this build, on the CPU with each instruction set, and on a GPU,
// which is the fake driver's; rows for the suites that hold them against the reference.
#pragma once

#include <stdint.h>
#include <stdlib.h>

static const struct {
    const char *file;
    const char *instruction_set; // of the kernels; NULL = it has none to choose
    uint32_t device;             // 0 = the CPU, 1 = the first GPU
    double tolerance;            // relative, for FP32
} runtimes[] = {
    {"runtime_eager", NULL, 0, 1e-4},       {"runtime_graph", "avx512", 0, 1e-4},
    {"runtime_graph", "avx2", 0, 1e-4},     {"runtime_graph", "portable", 0, 1e-4},
    {"runtime_fused", "avx512", 0, 1e-4},   {"runtime_fused", "avx2", 0, 1e-4},
    {"runtime_fused", "portable", 0, 1e-4}, {"runtime_fused", NULL, 1, 1e-4},
    {"runtime_graph", NULL, 1, 1e-4},       {"runtime_eager", NULL, 1, 1e-4},
};
enum { RUNTIMES = sizeof runtimes / sizeof *runtimes };

static inline void runtimes_choose(size_t row) {
    if (runtimes[row].instruction_set)
        setenv("HOX_CPU", runtimes[row].instruction_set, 1);
    else
        unsetenv("HOX_CPU");
}
