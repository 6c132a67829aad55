// test_thread_pool.c - every item once, on any number of lanes. A plain program, as the thread
// sanitizer ends Criterion.
#include "base/thread_pool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(claim)                                                                               \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim);                            \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

enum { ITEMS = 1000, MOST_LANES = 8, ROUNDS = 200 };

// Nothing here is atomic: each item has a lane of its own, each lane a thread of its own.
typedef struct job {
    uint32_t lane_count;
    uint32_t runs[ITEMS];
    struct {
        uint64_t sum, last;
        uint32_t wrong;
    } lanes[MOST_LANES];
} job;

static void count_item(void *context, uint64_t item, uint32_t lane) {
    job *j = context;
    CHECK(lane < j->lane_count && item < ITEMS);
    if (lane > 0 && item % 64 == 7) usleep(100); // late: whoever does not wait will miss it
    j->runs[item]++;
    j->lanes[lane].sum += item + 1;
    j->lanes[lane].wrong += item + 1 <= j->lanes[lane].last; // a lane's items rise
    j->lanes[lane].last = item + 1;
}

static void check_round(thread_pool *pool, uint64_t item_count, uint64_t *lane_sums) {
    job j = {.lane_count = thread_pool_lane_count(pool)};
    thread_pool_run(pool, item_count, count_item, &j);
    uint64_t sum = 0;
    for (uint32_t lane = 0; lane < MOST_LANES; lane++) {
        CHECK(j.lanes[lane].wrong == 0);
        sum += j.lanes[lane].sum;
        lane_sums[lane] += j.lanes[lane].sum;
    }
    CHECK(sum == item_count * (item_count + 1) / 2);
    for (uint64_t i = 0; i < ITEMS; i++)
        CHECK(j.runs[i] == (i < item_count));
}

static void check_lanes(uint32_t lane_count) {
    static const uint64_t counts[] = {0, 1, 2, 7, 8, 9, ITEMS};
    uint64_t lane_sums[MOST_LANES] = {0};
    thread_pool *pool;
    CHECK(thread_pool_create(lane_count, &pool, NULL) == HOX_OK);
    CHECK(thread_pool_lane_count(pool) == lane_count);
    for (int round = 0; round < ROUNDS; round++)
        check_round(pool, counts[round % (sizeof counts / sizeof *counts)], lane_sums);
    CHECK(lane_sums[0] > 0 || lane_count > 1);
    thread_pool_destroy(pool);
}

// As many items as lanes, each waiting for all others: only lanes that run at once get past.
typedef struct meeting {
    uint32_t lane_count;
    volatile uint32_t *arrived;
} meeting;

static void meet(void *context, uint64_t item, uint32_t lane) {
    const meeting *m = context;
    (void)item;
    (void)lane;
    __atomic_add_fetch(m->arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(m->arrived, __ATOMIC_SEQ_CST) < m->lane_count)
        ;
}

static void check_lanes_run_at_once(void) {
    uint32_t arrived = 0;
    meeting m = {3, &arrived};
    thread_pool *pool;
    CHECK(thread_pool_create(3, &pool, NULL) == HOX_OK);
    thread_pool_run(pool, 3, meet, &m);
    CHECK(arrived == 3);
    thread_pool_destroy(pool);
}

int main(void) {
    static const uint32_t lane_counts[] = {1, 2, 3, 8};
    for (size_t i = 0; i < sizeof lane_counts / sizeof *lane_counts; i++)
        check_lanes(lane_counts[i]);
    check_lanes_run_at_once();
    thread_pool_destroy(NULL);
    return EXIT_SUCCESS;
}
