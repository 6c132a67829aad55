// refinement.h - genomes trained by gradient on a split, one a lane: batches of shuffled images cut
// into as many pieces as memory asks for (SPEC 5). No result depends on lanes, pieces or on where
// the images lie.
#pragma once

#include "evaluation/refinement_config.h"
#include "evaluation/split.h"
#include "genome/genome.h"

// Why a genome is not refined.
enum {
    REFINEMENT_OK = 0,
    REFINEMENT_OOM,
    REFINEMENT_NAN,
    REFINEMENT_UNSUPPORTED,
    REFINEMENT_PLUGIN_ERROR,
    REFINEMENT_NO_PATH, // from input to output: no weight has a gradient
    REFINEMENT_REASON_COUNT
};
extern const char *const refinement_reasons[REFINEMENT_REASON_COUNT]; // "ok", "oom", ...

typedef struct refinement_job {
    const genome *genome; // borrowed
    uint32_t slot;        // with the order's seed and generation: the place of its random numbers

    uint32_t reason; // out: REFINEMENT_*
    genome *refined; // out: a copy with other kernels, the caller's; NULL unless reason is OK
    hox_error error; // out: says more where reason is not OK
} refinement_job;

// Who asks for a training, and watches it.
typedef struct refinement_order {
    const refinement_config *config; // borrowed
    uint64_t seed;
    uint32_t generation;
    bool (*is_stopped)(void *context); // may be NULL: never; asked before every batch. [any]
    // May be NULL. loss: the epoch's mean, of an image, at the weights each batch found. [any]
    void (*epoch_done)(void *context, size_t job, uint32_t epoch, double loss);
    void *context;
} refinement_order;

struct lanes;
struct residency;

// Trains all jobs; one that fails has its reason. The split stays on the device where it fits and
// may; else genomes are trained one after the other and their images come piece by piece. One that
// memory does not hold is tried once more, alone. The runtime can train. Errors, nothing is refined
// then: CANCELLED, DEVICE, DEVICE_LOST, OUT_OF_HOST_MEMORY, what the split's reader says. [main]
hox_status refinement_run(struct lanes *l, struct residency *r, const refinement_order *order,
                          evaluation_split *split, refinement_job *jobs, size_t count,
                          hox_error *error) HOX_MUST_CHECK;
