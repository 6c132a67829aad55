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

static const struct {
    const cpu_kernels *kernels;
    int (*is_there)(void);
} sets[] = {
#if defined(__x86_64__)
    {&cpu_kernels_avx512, has_avx512},
    {&cpu_kernels_avx2, has_avx2},
#endif
    {&cpu_kernels_portable, has_portable},
};

hox_status cpu_kernels_choose(const cpu_kernels **chosen, hox_error *error) {
    const char *wanted = secure_getenv("HOX_CPU");
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (wanted && *wanted && strcmp(wanted, sets[i].kernels->name) != 0) continue;
        *chosen = sets[i].kernels;
        if (sets[i].is_there()) return HOX_OK;
        if (wanted && *wanted) break;
    }
    return hox_error_set(error, HOX_UNSUPPORTED,
                         "HOX_CPU=%.40s: this processor has not got it; there are avx512, avx2 and "
                         "portable",
                         wanted);
}
