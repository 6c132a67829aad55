// elites.h - the fittest genomes of a generation and what gradient training made of them (SPEC 5).
#pragma once

#include "evolution/population.h"
#include "experiment/session.h"

typedef struct elite {
    size_t slot;              // in the population
    double before;            // its fitness on select
    refinement_job job;       // refined is the elite's until somebody takes it
    bool is_scored;           // refined has a fitness
    evaluation_result result; // of refined on select
} elite;

typedef struct elites {
    elite *items; // by slot
    size_t count;
    size_t evaluation_count; // genomes that were evaluated for it
} elites;

// Whether this generation's elites are trained: every so often, and the last of the
// max_generations.
bool elites_are_due(const experiment_config *c, uint32_t generation);

// Chooses the fittest genomes of distinct contents (of equal ones the lower id), trains them on
// refine and scores them on select. fitness: by slot, NaN = none. is_stopped: as in
// refinement_order. Errors: CANCELLED, those of session_refine and session_score; *e is empty then.
// [main]
hox_status elites_refine(elites *e, session *s, const population *p, const double *fitness,
                         uint32_t generation, bool (*is_stopped)(void *context), void *context,
                         hox_error *error) HOX_MUST_CHECK;
void elites_deinit(elites *e); // {0} too

// Whether the training was worth it: the fitness is not worse.
bool elite_is_improved(const elite *one);

// Why it has no fitness; NULL where it has one. *message: more of it.
const char *elite_failure(const elite *one, const char **message);
