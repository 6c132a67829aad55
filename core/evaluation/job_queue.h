// job_queue.h - which lane runs which genomes over which images next: images in the outer loop,
// genomes in the inner (SPEC 4). Knows no lock and no runtime.
#pragma once

#include "evaluation/task.h"

// Genomes over a window of images. Lane k owns tasks home[k] .. home[k + 1] - 1; who has no work
// left takes from the lane with the most.
typedef struct job_queue {
    task **tasks;
    const size_t *home; // lane_count + 1
    uint32_t lane_count;
    uint32_t most_jobs; // in one call of the runtime
    uint64_t end;       // of the window: the first image outside it
} job_queue;

// Cuts tasks into one piece for each lane, of about the same cost, neighbours together; writes
// lane_count + 1 places to home.
void job_queue_share(task *const *tasks, size_t task_count, uint32_t lane_count, size_t *home);

// The next call of a lane: up to most_jobs tasks over the same images, at most chunk of them. At
// the end of the work calls become smaller, so that the lanes end together. Fills jobs (room for
// most_jobs), first and count; returns the number of jobs, 0 = no work is left.
uint32_t job_queue_take(job_queue *q, uint32_t lane, uint64_t chunk, task **jobs, uint64_t *first,
                        uint64_t *count);
