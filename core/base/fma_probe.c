#include "base/fma_probe.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>

enum { CHAINS = 24, LANES = 16, STEPS = 20000 };
typedef float vector __attribute__((vector_size(LANES * sizeof(float))));

#define EACH(X)                                                                                    \
    X(0)                                                                                           \
    X(1)                                                                                           \
    X(2)                                                                                           \
    X(3)                                                                                           \
    X(4)                                                                                           \
    X(5)                                                                                           \
    X(6)                                                                                           \
    X(7)                                                                                           \
    X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

// Independent chains: as many as hide the latency of one and fit the registers.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
static float
run_chains(uint32_t steps) {
    vector factor = {0}, term = {0};
    factor += 0.999F;
    term += 0.001F;
#define START(i) vector chain##i = term * (float)(i);
    EACH(START)
    for (uint32_t step = 0; step < steps; step++) {
#define STEP(i) chain##i = chain##i * factor + term;
        EACH(STEP)
    }
    float sum = 0.0F;
#define ADD(i) sum += chain##i[0];
    EACH(ADD)
    return sum;
}

typedef struct prober {
    pthread_t thread;
    uint64_t limit_ns;
    double gflops;
    volatile float sum; // so that no step is left out
} prober;

static void *probe(void *argument) {
    prober *p = argument;
    const uint64_t start = clock_ns();
    uint64_t rounds = 0;
    do {
        p->sum = run_chains(STEPS);
        rounds++;
    } while (clock_ns() - start < p->limit_ns);
    p->gflops = 2.0 * CHAINS * LANES * STEPS * (double)rounds / (double)(clock_ns() - start);
    return NULL;
}

double fma_probe_gflops(uint32_t thread_count, uint32_t milliseconds) {
    prober *probers = calloc(thread_count, sizeof *probers);
    double sum = 0.0;
    uint32_t started = 0;
    for (; probers && started < thread_count; started++) {
        probers[started].limit_ns = UINT64_C(1000000) * milliseconds;
        if (pthread_create(&probers[started].thread, NULL, probe, &probers[started]) != 0) break;
    }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(probers[i].thread, NULL);
        sum += probers[i].gflops;
    }
    free(probers);
    return started == thread_count ? sum : 0.0;
}
