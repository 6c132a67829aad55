#include "base/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static char text[128];

static void add(int is_there, const char *name) {
    const size_t used = strlen(text);
    if (is_there) snprintf(text + used, sizeof text - used, " %s", name);
}

static void describe(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    snprintf(text, sizeof text, "x86-64");
    add(__builtin_cpu_supports("avx2"), "avx2");
    add(__builtin_cpu_supports("fma"), "fma");
    add(__builtin_cpu_supports("avx512f"), "avx512f");
    add(__builtin_cpu_supports("avx512vl"), "avx512vl");
    add(__builtin_cpu_supports("avx512bf16"), "avx512bf16");
#else
    snprintf(text, sizeof text, "portable");
    (void)add;
#endif
}

const char *cpu_instruction_set(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, describe);
    return text;
}

uint32_t cpu_core_count(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    return (uint32_t)CPU_COUNT(&allowed);
}
