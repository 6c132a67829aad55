// choose.c - which instruction set the kernels use.
#include "cpu/kernels.h"

#include <stdlib.h>
#include <string.h>

static int has_portable(void) {
    return 1;
}

#if defined(__x86_64__)
static int has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
}

static int has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

const cpu_kernel_set cpu_kernel_sets[] = {
#if defined(__x86_64__)
    {&cpu_kernels_avx512, has_avx512},
    {&cpu_kernels_avx2, has_avx2},
#endif
    {&cpu_kernels_portable, has_portable},
};
const size_t cpu_kernel_set_count = sizeof cpu_kernel_sets / sizeof *cpu_kernel_sets;

hox_status cpu_kernels_choose(const cpu_kernels **chosen, hox_error *error) {
    const char *wanted = secure_getenv("HOX_CPU");
    for (size_t i = 0; i < cpu_kernel_set_count; i++) {
        if (wanted && *wanted && strcmp(wanted, cpu_kernel_sets[i].kernels->name) != 0) continue;
        *chosen = cpu_kernel_sets[i].kernels;
        if (cpu_kernel_sets[i].is_there()) return HOX_OK;
        if (wanted && *wanted) break;
    }
    return hox_error_set(error, HOX_UNSUPPORTED,
                         "HOX_CPU=%.40s: this processor has not got it; there are avx512, avx2 and "
                         "portable",
                         wanted);
}
