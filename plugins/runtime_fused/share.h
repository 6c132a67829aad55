// share.h - many genomes over the same block of images as one list of steps: what genomes compute
// alike is computed once. Equal value hash, equal map (SPEC 2).
#pragma once

#include "cpu/block_runtime.h"

typedef struct share_step {
    const cpu_node *node; // node 0 of a program: the image, copied to a map with a margin
    const float *weights;
    const float *const *maps; // of the genome's nodes
    float *target;
} share_step;

typedef struct share_job {
    hox_job *job;
    const float **maps; // per node; of those that are read, or were computed
    size_t step_end;    // its steps end here; they begin where those of the job before end
} share_job;

typedef struct share_plan {
    const hox_host *host;
    size_t bytes;
    share_job *jobs; // in the order they run: genomes that begin alike are neighbours
    uint32_t job_count;
    share_step *steps;
    size_t step_count;
} share_plan;

// Lists the steps for jobs, which fit their runners, over so many floats of memory: what is kept
// for a later genome goes where room is needed, the one needed last first. The same images pass
// through the same arithmetic as they would alone. Errors: out of memory. [lane]
hox_status share_plan_make(const hox_host *host, hox_job *const *jobs, uint32_t job_count,
                           float *memory, size_t size, share_plan **plan,
                           hox_error *error) HOX_MUST_CHECK;
void share_plan_free(share_plan *plan); // NULL too
