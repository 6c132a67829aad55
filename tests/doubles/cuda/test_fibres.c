// test_fibres.c - threads of a block on one thread: barriers, orders, shared memory.
#include "fibres.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 128, MOST_THREADS = 1024 };

static FIBRES_SHARED float shared[MOST_THREADS];
static const uint32_t one_block[3] = {1, 1, 1};

typedef struct work {
    float *values;
    uint32_t *sequence, length; // of threads
    bool has_barrier;
} work;

static void write_down(const void *argument) {
    work *w = *(work *const *)argument;
    w->sequence[w->length++] = threadIdx.x;
}

Test(fibres, run_in_three_orders) {
    uint32_t sequence[3][THREADS];
    for (int order = FIBRES_ASCENDING; order <= FIBRES_SCRAMBLED; order++) {
        work w = {.sequence = sequence[order]}, *argument = &w;
        fibres_set_order((fibre_order)order);
        fibres_run(one_block, THREADS, write_down, &argument);
        cr_assert_eq(w.length, THREADS);
    }
    uint32_t seen = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        cr_assert_eq(sequence[FIBRES_ASCENDING][i], i);
        cr_assert_eq(sequence[FIBRES_DESCENDING][i], THREADS - 1 - i);
        seen += sequence[FIBRES_SCRAMBLED][i] + 1;
    }
    cr_assert_eq(seen, THREADS * (THREADS + 1) / 2);
    cr_assert_neq(
        memcmp(sequence[FIBRES_SCRAMBLED], sequence[FIBRES_ASCENDING], sizeof sequence[0]), 0);
}

// Sums of all threads, by halves; each thread's own value lies on its own stack.
static void add_up(const void *argument) {
    const work *w = *(work *const *)argument;
    volatile float own[64];
    own[threadIdx.x % 64] = (float)(threadIdx.x + blockIdx.x);
    shared[threadIdx.x] = own[threadIdx.x % 64];
    if (w->has_barrier) fibres_barrier();
    for (uint32_t half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        if (w->has_barrier) fibres_barrier();
    }
    w->values[blockIdx.x * blockDim.x + threadIdx.x] = shared[0] + own[threadIdx.x % 64];
}

enum { BLOCKS = 5 };

static void check_sums(int order, uint32_t threads, bool has_barrier) {
    const uint32_t grid[3] = {BLOCKS, 1, 1};
    float *values = malloc(sizeof *values * BLOCKS * threads);
    work w = {.values = values, .has_barrier = has_barrier}, *argument = &w;
    fibres_set_order((fibre_order)order);
    fibres_run(grid, threads, add_up, &argument);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < BLOCKS * threads; i++) {
        const uint32_t block = i / threads, thread = i % threads;
        const uint32_t sum = threads * (threads - 1) / 2 + threads * block;
        wrong += values[i] != (float)(sum + thread + block);
    }
    free(values);
    cr_assert_eq(wrong > 0, !has_barrier, "%u wrong of %u, order %d", wrong, threads, order);
}

static int orders[] = {FIBRES_ASCENDING, FIBRES_DESCENDING, FIBRES_SCRAMBLED};

#define EACH_ORDER(name)                                                                           \
    ParameterizedTestParameters(fibres, name) {                                                    \
        return cr_make_param_array(int, orders, sizeof orders / sizeof orders[0]);                 \
    }                                                                                              \
    ParameterizedTest(int *order, fibres, name)

EACH_ORDER(barriers_hold) {
    for (uint32_t threads = 1; threads <= MOST_THREADS; threads *= 2)
        check_sums(*order, threads, true);
    cr_assert_eq(fibres_divergence_count(), 0);
}

EACH_ORDER(a_missing_barrier_shows) {
    check_sums(*order, THREADS, false);
}

static void leave_early(const void *argument) {
    (void)argument;
    if (threadIdx.x == 7) return;
    fibres_barrier();
    fibres_barrier();
}

EACH_ORDER(a_thread_that_ends_before_a_barrier_is_counted) {
    fibres_set_order((fibre_order)*order);
    fibres_run(one_block, THREADS, leave_early, NULL);
    cr_assert_eq(fibres_divergence_count(), 2);
}

// Sums of a warp in a tree, twice in a row: nobody takes what was handed over before or later.
static void add_up_warps(const void *argument) {
    const work *w = *(work *const *)argument;
    float sum = 0;
    for (int turn = 0; turn < 2; turn++) {
        sum += (float)threadIdx.x;
        for (uint32_t mask = 1; mask < 32; mask *= 2)
            sum += fibres_exchange(sum, mask);
        if (w->has_barrier && threadIdx.x % 64 < 32) sum += fibres_exchange(0, 5); // one warp more
        if (w->has_barrier) fibres_barrier();
    }
    w->values[threadIdx.x] = sum;
}

EACH_ORDER(warps_exchange_values) {
    for (int has_barrier = 0; has_barrier < 2; has_barrier++) {
        float values[THREADS];
        work w = {.values = values, .has_barrier = has_barrier}, *argument = &w;
        fibres_set_order((fibre_order)*order);
        fibres_run(one_block, THREADS, add_up_warps, &argument);
        for (uint32_t i = 0; i < THREADS; i++) {
            const uint32_t of_places = i / 32 * 32 * 32 + 31 * 16;
            cr_expect_eq(values[i], (float)(33 * of_places), "%u: %g", i, (double)values[i]);
        }
    }
    cr_assert_eq(fibres_divergence_count(), 0);
}

static void exchange_alone(const void *argument) {
    const work *w = *(work *const *)argument;
    if (threadIdx.x == 7) return;
    w->values[threadIdx.x] = fibres_exchange(1, 1);
    fibres_barrier();
}

EACH_ORDER(a_thread_that_misses_an_exchange_is_counted) {
    float values[THREADS];
    work w = {.values = values}, *argument = &w;
    fibres_set_order((fibre_order)*order);
    fibres_run(one_block, THREADS, exchange_alone, &argument);
    cr_expect(isnan(values[6]) && values[5] == 1);
    cr_assert_eq(fibres_divergence_count(), 2); // the barrier too
}

static void expect_nothing(const void *argument) {
    work *w = *(work *const *)argument;
    w->length += isnan(shared[threadIdx.x]) != 0;
    fibres_barrier();
    shared[threadIdx.x] = 1;
}

Test(fibres, shared_memory_is_lost_with_the_block) {
    const uint32_t grid[3] = {2, 2, 2};
    work w = {0}, *argument = &w;
    fibres_run(grid, THREADS, expect_nothing, &argument);
    cr_assert_eq(w.length, 8 * THREADS);
}
