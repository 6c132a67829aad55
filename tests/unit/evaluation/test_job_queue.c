// test_job_queue.c - who runs what next: every genome over every image, once.
#include "evaluation/job_queue.h"
#include "random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

enum { MOST_TASKS = 24, MOST_LANES = 6, MOST_IMAGES = 200, MOST_JOBS = 8 };

// A queue with its tasks, and who was given what.
typedef struct work {
    task tasks[MOST_TASKS];
    task *pointers[MOST_TASKS];
    size_t home[MOST_LANES + 1];
    size_t task_count;
    job_queue queue;
    uint8_t given[MOST_TASKS][MOST_IMAGES]; // how often
} work;

static void set_costs(work *w, size_t task_count, const uint64_t *costs) {
    *w = (work){.task_count = task_count};
    for (size_t i = 0; i < task_count; i++) {
        w->tasks[i].plan.view.flops_per_sample = costs[i];
        w->pointers[i] = &w->tasks[i];
    }
}

static void start(work *w, uint32_t lane_count, uint32_t most_jobs, uint64_t end) {
    w->queue = (job_queue){.tasks = w->pointers,
                           .home = w->home,
                           .lane_count = lane_count,
                           .most_jobs = most_jobs,
                           .end = end};
}

// Equal tasks, cut into equal pieces.
static void start_equal(work *w, size_t task_count, uint32_t lane_count, uint32_t most_jobs,
                        uint64_t end) {
    uint64_t costs[MOST_TASKS];
    for (size_t i = 0; i < task_count; i++)
        costs[i] = 1;
    set_costs(w, task_count, costs);
    job_queue_share(w->pointers, task_count, lane_count, w->home);
    start(w, lane_count, most_jobs, end);
}

typedef struct call {
    uint32_t job_count;
    size_t tasks[MOST_JOBS];
    uint64_t first, count;
} call;

// One call, booked, and checked for what holds of every call.
static call take(work *w, uint32_t lane, uint64_t chunk) {
    uint64_t next[MOST_TASKS];
    task *jobs[MOST_JOBS + 1] = {0};
    call c = {0};
    for (size_t i = 0; i < w->task_count; i++)
        next[i] = w->tasks[i].next;
    c.job_count = job_queue_take(&w->queue, lane, chunk, jobs, &c.first, &c.count);
    cr_assert_leq(c.job_count, w->queue.most_jobs);
    cr_assert_null(jobs[c.job_count], "more was written than told");
    if (c.job_count == 0) return c;
    cr_assert(c.count >= 1 && c.count <= chunk && c.first + c.count <= w->queue.end);
    cr_assert(c.count == chunk || c.first + c.count == w->queue.end, "short in the middle");
    for (uint32_t k = 0; k < c.job_count; k++) {
        const size_t i = c.tasks[k] = (size_t)(jobs[k] - w->tasks);
        cr_assert_lt(i, w->task_count);
        cr_assert_not(w->tasks[i].is_over);
        cr_assert_eq(next[i], c.first, "task %zu", i);
        cr_assert_eq(w->tasks[i].next, c.first + c.count);
        for (uint64_t image = c.first; image < c.first + c.count; image++)
            cr_assert_eq(++w->given[i][image], 1, "task %zu, image %" PRIu64, i, image);
    }
    return c;
}

typedef struct expected_call {
    uint64_t first, count;
    uint32_t job_count;
    size_t tasks[MOST_JOBS];
} expected_call;

static void expect_call(work *w, uint32_t lane, uint64_t chunk, const expected_call *expected) {
    const call c = take(w, lane, chunk);
    cr_assert_eq(c.job_count, expected->job_count, "lane %u: %u jobs", lane, c.job_count);
    if (c.job_count == 0) return;
    cr_expect_eq(c.first, expected->first, "lane %u: from %" PRIu64, lane, c.first);
    cr_expect_eq(c.count, expected->count, "lane %u: %" PRIu64 " images", lane, c.count);
    for (uint32_t k = 0; k < c.job_count; k++)
        cr_expect_eq(c.tasks[k], expected->tasks[k], "lane %u: task %zu", lane, c.tasks[k]);
}

// ---- sharing ----

Test(job_queue, shares_tasks_by_cost) {
    static const struct {
        const char *what;
        size_t task_count;
        uint64_t costs[12];
        uint32_t lane_count;
        size_t home[MOST_LANES + 1];
    } rows[] = {
        {"one lane", 3, {5, 1, 2}, 1, {0, 3}},
        {"equal ones", 6, {1, 1, 1, 1, 1, 1}, 3, {0, 2, 4, 6}},
        {"one each", 3, {7, 7, 7}, 3, {0, 1, 2, 3}},
        {"one is as much as the others", 5, {4, 1, 1, 1, 1}, 2, {0, 1, 5}},
        {"the last is", 5, {1, 1, 1, 1, 4}, 2, {0, 4, 5}},
        {"a large one in the middle takes a lane", 5, {1, 1, 8, 1, 1}, 3, {0, 2, 3, 5}},
        {"falling costs", 8, {8, 7, 5, 5, 4, 3, 2, 2}, 2, {0, 3, 8}}, // 20 and 16
        {"zeros beside one that costs", 4, {0, 0, 9, 0}, 1, {0, 4}},
        {"no task", 0, {0}, 3, {0, 0, 0, 0}},
        {"more than 32 bits",
         4,
         {UINT64_C(1) << 60, UINT64_C(1) << 60, UINT64_C(1) << 60, UINT64_C(1) << 60},
         2,
         {0, 2, 4}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        work w;
        set_costs(&w, rows[i].task_count, rows[i].costs);
        job_queue_share(w.pointers, w.task_count, rows[i].lane_count, w.home);
        for (uint32_t lane = 0; lane <= rows[i].lane_count; lane++)
            cr_expect_eq(w.home[lane], rows[i].home[lane], "%s: lane %u at %zu", rows[i].what, lane,
                         w.home[lane]);
    }
}

static double cost_of(const work *w, size_t begin, size_t end) {
    double cost = 0;
    for (size_t i = begin; i < end; i++)
        cost += (double)w->tasks[i].plan.view.flops_per_sample;
    return cost;
}

// Pieces in order, without a gap, each at most one task away from an equal share.
static void expect_fair_share(const work *w, uint32_t lane_count, uint64_t seed) {
    double most = 0;
    for (size_t i = 0; i < w->task_count; i++) {
        const double cost = cost_of(w, i, i + 1);
        if (cost > most) most = cost;
    }
    const double part = cost_of(w, 0, w->task_count) / lane_count;
    cr_assert_eq(w->home[0], 0, "seed %" PRIu64, seed);
    cr_assert_eq(w->home[lane_count], w->task_count, "seed %" PRIu64, seed);
    for (uint32_t lane = 0; lane < lane_count; lane++) {
        cr_assert_leq(w->home[lane], w->home[lane + 1], "seed %" PRIu64, seed);
        const double cost = cost_of(w, w->home[lane], w->home[lane + 1]);
        cr_assert(cost <= (part + most) * (1 + 1e-12) && cost >= (part - most) * (1 - 1e-12),
                  "seed %" PRIu64 ": lane %u has %g, %g is a share", seed, lane, cost, part);
    }
}

Test(job_queue, shares_random_tasks_fairly) {
    for (uint64_t seed = 0; seed < 3000; seed++) {
        test_random random = {seed};
        uint64_t costs[MOST_TASKS];
        const size_t task_count = random_below(&random, MOST_TASKS + 1);
        const uint32_t lane_count = 1 + random_below(&random, MOST_LANES);
        const uint32_t kind = random_below(&random, 4);
        for (size_t i = 0; i < task_count; i++)
            costs[i] = kind == 0   ? 0
                       : kind == 1 ? random_next(&random)
                       : kind == 2 ? random_below(&random, 3)
                                   : UINT64_C(1) << random_below(&random, 40);
        work w;
        set_costs(&w, task_count, costs);
        job_queue_share(w.pointers, task_count, lane_count, w.home);
        expect_fair_share(&w, lane_count, seed);
    }
}

// ---- one lane ----

Test(job_queue, runs_images_in_the_outer_loop_and_genomes_in_the_inner) {
    static const expected_call calls[] = {
        {0, 4, 2, {0, 1}}, {0, 4, 2, {2, 3}}, {0, 4, 1, {4}},
        {4, 4, 2, {0, 1}}, {4, 4, 2, {2, 3}}, {4, 4, 1, {4}},
        {8, 2, 2, {0, 1}}, {8, 2, 2, {2, 3}}, {8, 2, 1, {4}}, // the last chunk is shorter
        {0, 0, 0, {0}},    {0, 0, 0, {0}},
    };
    work w;
    start_equal(&w, 5, 1, 2, 10);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        expect_call(&w, 0, 4, &calls[i]);
}

Test(job_queue, runs_one_by_one_where_the_runtime_takes_one) {
    static const expected_call calls[] = {
        {0, 6, 1, {0}}, {0, 6, 1, {1}}, {6, 1, 1, {0}}, {6, 1, 1, {1}}, {0, 0, 0, {0}}};
    work w;
    start_equal(&w, 2, 1, 1, 7);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        expect_call(&w, 0, 6, &calls[i]);
}

Test(job_queue, gives_a_lane_of_its_own_full_groups_to_the_end) {
    work w;
    start_equal(&w, 16, 1, 8, 3);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(take(&w, 0, 1).job_count, 8);
    cr_expect_eq(take(&w, 0, 1).job_count, 0);
}

Test(job_queue, begins_where_the_window_does) {
    static const expected_call calls[] = {{100, 3, 2, {0, 1}}, {103, 2, 2, {0, 1}}, {0, 0, 0, {0}}};
    work w;
    start_equal(&w, 2, 1, 8, 105);
    w.tasks[0].next = w.tasks[1].next = 100;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        expect_call(&w, 0, 3, &calls[i]);
}

Test(job_queue, has_no_work_where_none_is_left) {
    work w;
    start_equal(&w, 3, 1, 8, 10);
    w.tasks[0].next = 10;
    w.tasks[1].next = UINT64_MAX; // beyond the window
    w.tasks[2].is_over = true;
    cr_expect_eq(take(&w, 0, 4).job_count, 0);
    start_equal(&w, 0, 2, 8, 10);
    cr_expect_eq(take(&w, 1, 4).job_count, 0);
    start_equal(&w, 3, 2, 8, 0);
    cr_expect_eq(take(&w, 0, 4).job_count, 0);
}

Test(job_queue, skips_tasks_that_are_over) {
    static const expected_call early = {0, 4, 2, {0, 2}}, late = {4, 4, 1, {2}},
                               rest = {4, 4, 1, {3}}, none = {0, 0, 0, {0}};
    work w;
    start_equal(&w, 4, 1, 2, 8);
    w.tasks[1].is_over = true;
    expect_call(&w, 0, 4, &early);
    w.tasks[0].is_over = true; // failed there
    expect_call(&w, 0, 4, &(expected_call){0, 4, 1, {3}});
    w.queue.most_jobs = 1;
    expect_call(&w, 0, 4, &late);
    expect_call(&w, 0, 4, &rest);
    expect_call(&w, 0, 4, &none);
}

// B is lowered while the work goes on: who has fewer images behind catches up first.
Test(job_queue, goes_on_with_smaller_chunks) {
    static const struct {
        uint64_t chunk;
        expected_call call;
    } rows[] = {
        {8, {0, 8, 2, {0, 1}}},  {3, {0, 3, 2, {2, 3}}}, {3, {3, 3, 2, {2, 3}}},
        {3, {6, 3, 2, {2, 3}}},  {3, {8, 3, 2, {0, 1}}}, {3, {9, 3, 2, {2, 3}}},
        {5, {11, 1, 2, {0, 1}}}, {5, {0, 0, 0, {0}}},
    };
    work w;
    start_equal(&w, 4, 1, 2, 12);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_call(&w, 0, rows[i].chunk, &rows[i].call);
}

// ---- several lanes ----

static void start_three_pieces(work *w, const uint64_t *costs, uint32_t most_jobs) {
    set_costs(w, 6, costs);
    memcpy(w->home, (const size_t[]){0, 2, 4, 6}, 4 * sizeof *w->home);
    start(w, 3, most_jobs, 8);
}

Test(job_queue, gives_each_lane_its_own_first) {
    static const uint64_t costs[] = {1, 1, 100, 100, 10, 10};
    static const expected_call first = {0, 8, 1, {0}}, second = {0, 8, 1, {2}},
                               third = {0, 8, 1, {4}};
    work w;
    start_three_pieces(&w, costs, 1);
    expect_call(&w, 2, 8, &third);
    expect_call(&w, 0, 8, &first);
    expect_call(&w, 1, 8, &second);
}

Test(job_queue, lets_a_lane_without_work_take_from_the_one_with_the_most_from_behind) {
    static const uint64_t costs[] = {1, 1, 50, 60, 100, 20};
    static const expected_call calls[] = {
        {0, 8, 1, {0}}, {0, 8, 1, {1}}, // its own
        {0, 8, 1, {5}},                 // 120 of lane 2, above 110 of lane 1
        {0, 8, 1, {3}},                 // now 110 above 100
        {0, 8, 1, {4}},                 // 100 above 50
        {0, 8, 1, {2}}, {0, 0, 0, {0}},
    };
    work w;
    start_three_pieces(&w, costs, 1);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        expect_call(&w, 0, 8, &calls[i]);
}

Test(job_queue, counts_the_images_that_are_left) {
    static const uint64_t costs[] = {1, 1, 50, 50, 30, 30};
    static const expected_call third = {0, 8, 1, {5}};
    work w;
    start_three_pieces(&w, costs, 1);
    w.tasks[0].is_over = w.tasks[1].is_over = true;
    w.tasks[2].next = w.tasks[3].next = 4; // 100 * 4 are less than 60 * 8
    expect_call(&w, 0, 8, &third);
    w.tasks[4].is_over = true; // what is over is no work: 100 * 4 against nothing
    expect_call(&w, 0, 8, &(expected_call){4, 4, 1, {3}});
}

// As for a task without a path, where the window is not the whole split.
Test(job_queue, counts_nothing_beyond_the_window) {
    static const uint64_t costs[] = {1, 1, 1000, 10, 30, 30};
    static const expected_call guest = {0, 8, 1, {5}}, owner = {0, 1, 1, {0}};
    work w;
    start_three_pieces(&w, costs, 1);
    w.tasks[0].is_over = w.tasks[1].is_over = true;
    w.tasks[2].next = 100;
    expect_call(&w, 0, 8, &guest); // 10 * 8 are less than 60 * 8
    start_equal(&w, 8, 2, MOST_JOBS, 1);
    for (size_t i = 4; i < 8; i++)
        w.tasks[i].next = 100;
    expect_call(&w, 0, 1, &owner); // 4 / 4
}

Test(job_queue, finds_work_that_costs_nothing) {
    static const uint64_t costs[6] = {0};
    work w;
    start_three_pieces(&w, costs, 1);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(take(&w, 1, 8).job_count, 1);
    cr_expect_eq(take(&w, 1, 8).job_count, 0);
}

Test(job_queue, lets_a_guest_take_a_group_from_behind) {
    static const expected_call guest = {0, 1, 4, {15, 14, 13, 12}}, owner = {0, 1, 4, {0, 1, 2, 3}};
    work w;
    start_equal(&w, 16, 2, 4, 100);
    memcpy(w.home, (const size_t[]){0, 0, 16}, 3 * sizeof *w.home);
    expect_call(&w, 0, 1, &guest);
    expect_call(&w, 1, 1, &owner);
}

Test(job_queue, makes_calls_smaller_at_the_end_where_lanes_are_several) {
    for (uint32_t lane_count = 2; lane_count <= MOST_LANES; lane_count++) {
        work w;
        start_equal(&w, MOST_TASKS, lane_count, MOST_JOBS, 10);
        uint32_t left = 10 * MOST_TASKS, calls = 0, calls_of_one = 0;
        while (left > 0) {
            const uint32_t jobs = take(&w, calls % lane_count, 1).job_count;
            const uint32_t part = left / (2 * lane_count); // a round is half of what is left
            cr_assert_geq(jobs, 1);
            cr_assert_leq(jobs, part > 1 ? part : 1, "%u lanes, %u left", lane_count, left);
            if (calls == 0 && lane_count < 4) cr_expect_eq(jobs, MOST_JOBS);
            calls_of_one = jobs == 1 ? calls_of_one + 1 : 0;
            calls++;
            left -= jobs;
        }
        cr_expect_geq(calls_of_one, lane_count, "%u lanes", lane_count);
    }
}

Test(job_queue, has_lanes_end_together) {
    static const struct {
        uint32_t lane;
        expected_call call;
    } rows[] = {
        {0, {0, 1, 2, {0, 1}}}, // 8 are left: 8 / 4 each
        {1, {0, 1, 1, {4}}},    // 6 / 4
        {0, {0, 1, 1, {2}}},    {1, {0, 1, 1, {5}}}, {0, {0, 1, 1, {3}}},
        {0, {0, 1, 1, {7}}}, // a guest
        {1, {0, 1, 1, {6}}},    {0, {0, 0, 0, {0}}}, {1, {0, 0, 0, {0}}},
    };
    work w;
    start_equal(&w, 8, 2, MOST_JOBS, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_call(&w, rows[i].lane, 1, &rows[i].call);
}

Test(job_queue, counts_the_last_short_chunk_as_a_call) {
    static const expected_call two = {0, 4, 2, {0, 1}};
    work w;
    start_equal(&w, 4, 2, MOST_JOBS, 5); // 4 tasks of 2 chunks: 8 / 4
    expect_call(&w, 0, 4, &two);
}

// ---- everything once ----

static void start_random(work *w, test_random *random) {
    uint64_t costs[MOST_TASKS];
    const size_t task_count = random_below(random, MOST_TASKS + 1);
    const uint32_t lane_count = 1 + random_below(random, MOST_LANES);
    const uint64_t end = 1 + random_below(random, MOST_IMAGES);
    for (size_t i = 0; i < task_count; i++)
        costs[i] = random_below(random, 4) ? random_below(random, 1000) : 0;
    set_costs(w, task_count, costs);
    job_queue_share(w->pointers, task_count, lane_count, w->home);
    start(w, lane_count, 1 + random_below(random, MOST_JOBS), end);
    const uint64_t first = random_below(random, 3) ? 0 : random_below(random, (uint32_t)end);
    for (size_t i = 0; i < task_count; i++) {
        w->tasks[i].next = random_below(random, 10) ? first : end; // some have no path
        w->tasks[i].is_over = random_below(random, 10) == 0;
        for (uint64_t image = 0; image < w->tasks[i].next; image++)
            w->given[i][image] = 1;
    }
}

static bool is_work_left(const work *w) {
    for (size_t i = 0; i < w->task_count; i++)
        if (!w->tasks[i].is_over && w->tasks[i].next < w->queue.end) return true;
    return false;
}

// Whoever asks gets work while there is any; lanes ask in any order, in chunks of any size.
static void run_out(work *w, test_random *random, bool may_fail, uint64_t seed) {
    uint64_t chunk = 1 + random_below(random, MOST_IMAGES), last = 0;
    while (is_work_left(w)) {
        if (random_below(random, 8) == 0) chunk = 1 + random_below(random, (uint32_t)chunk);
        if (random_below(random, 64) == 0) chunk = 1 + random_below(random, MOST_IMAGES);
        const call c = take(w, random_below(random, w->queue.lane_count), chunk);
        cr_assert_gt(c.job_count, 0, "seed %" PRIu64 ": a lane was sent away", seed);
        if (w->queue.lane_count == 1)
            cr_assert_geq(c.first, last, "seed %" PRIu64 ": images are the outer loop", seed);
        last = c.first;
        if (may_fail && random_below(random, 16) == 0) w->tasks[c.tasks[0]].is_over = true;
    }
    for (uint32_t lane = 0; lane < w->queue.lane_count; lane++)
        cr_assert_eq(take(w, lane, chunk).job_count, 0, "seed %" PRIu64, seed);
}

Test(job_queue, hands_out_every_genome_with_every_image_once) {
    for (uint64_t seed = 0; seed < 4000; seed++) {
        test_random random = {seed};
        work w;
        start_random(&w, &random);
        run_out(&w, &random, seed % 2, seed);
        for (size_t i = 0; i < w.task_count; i++)
            for (uint64_t image = 0; image < w.queue.end && !w.tasks[i].is_over; image++)
                cr_assert_eq(w.given[i][image], 1, "seed %" PRIu64 ": task %zu, image %" PRIu64,
                             seed, i, image);
    }
}
