#include "evaluation/job_queue.h"

static uint64_t images_left(const job_queue *q, const task *t) {
    return t->is_over || t->next >= q->end ? 0 : q->end - t->next;
}

static double cost_left(const job_queue *q, uint32_t lane) {
    double cost = 0.0;
    for (size_t i = q->home[lane]; i < q->home[lane + 1]; i++)
        cost +=
            (double)images_left(q, q->tasks[i]) * (double)q->tasks[i]->plan.view.flops_per_sample;
    return cost;
}

static uint64_t jobs_left(const job_queue *q, uint64_t chunk) {
    uint64_t jobs = 0;
    for (size_t i = 0; i < q->home[q->lane_count]; i++)
        jobs += (images_left(q, q->tasks[i]) + chunk - 1) / chunk;
    return jobs;
}

void job_queue_share(task *const *tasks, size_t task_count, uint32_t lane_count, size_t *home) {
    double total = 0.0, sum = 0.0;
    for (size_t i = 0; i < task_count; i++)
        total += (double)tasks[i]->plan.view.flops_per_sample;
    uint32_t lane = 0;
    home[0] = 0;
    for (size_t i = 0; i < task_count; i++) {
        const double cost = (double)tasks[i]->plan.view.flops_per_sample;
        while (lane + 1 < lane_count && sum + cost / 2 > total * (lane + 1) / lane_count)
            home[++lane] = i;
        sum += cost;
    }
    while (lane < lane_count)
        home[++lane] = task_count;
}

// Half of what is left, in equal parts.
static uint32_t call_size(const job_queue *q, uint64_t chunk) {
    if (q->lane_count == 1 || q->most_jobs == 1) return q->most_jobs;
    const uint64_t part = jobs_left(q, chunk) / (2 * (uint64_t)q->lane_count);
    if (part <= 1) return 1;
    return part < q->most_jobs ? (uint32_t)part : q->most_jobs;
}

static uint64_t first_image(const job_queue *q, uint32_t lane) {
    uint64_t first = q->end;
    for (size_t i = q->home[lane]; i < q->home[lane + 1]; i++)
        if (images_left(q, q->tasks[i]) > 0 && q->tasks[i]->next < first) first = q->tasks[i]->next;
    return first;
}

static uint32_t busiest_lane(const job_queue *q) {
    uint32_t busiest = 0;
    double most = -1.0;
    for (uint32_t lane = 0; lane < q->lane_count; lane++) {
        const double cost = first_image(q, lane) < q->end ? cost_left(q, lane) : -1.0;
        if (cost <= most) continue;
        most = cost;
        busiest = lane;
    }
    return busiest;
}

uint32_t job_queue_take(job_queue *q, uint32_t lane, uint64_t chunk, task **jobs, uint64_t *first,
                        uint64_t *count) {
    const uint32_t owner = first_image(q, lane) < q->end ? lane : busiest_lane(q);
    *first = first_image(q, owner);
    if (*first == q->end) return 0;
    *count = q->end - *first < chunk ? q->end - *first : chunk;
    const size_t begin = q->home[owner], end = q->home[owner + 1];
    const uint32_t most = call_size(q, chunk);
    uint32_t taken = 0;
    for (size_t i = 0; i < end - begin && taken < most; i++) {
        task *t = q->tasks[owner == lane ? begin + i : end - 1 - i]; // a guest comes from behind
        if (images_left(q, t) == 0 || t->next != *first) continue;
        t->next += *count;
        jobs[taken++] = t;
    }
    return taken;
}
