// scoring.h - a generation's fitness with as little work as can be: what is known is not evaluated
// again.
#pragma once

#include "evolution/population.h"
#include "experiment/session.h"

// Results of the last two generations, by slot.
typedef struct scoring {
    evaluation_result *results; // of the current one
    uint64_t *ids;              // genome of each
    evaluation_result *old_results;
    uint64_t *old_ids; // 0 = none
    size_t count;
    uint64_t evaluation_count; // genomes evaluated in the whole run; elites and twins cost nothing
} scoring;

hox_status scoring_init(scoring *s, size_t population_size, hox_error *error) HOX_MUST_CHECK;
void scoring_deinit(scoring *s); // {0} too

// Fills s->results, on select. With a fitness and a runtime that are deterministic, elites keep the
// result they had and genomes with the same content are evaluated once. Errors: those of
// session_score. [main]
hox_status scoring_run(scoring *s, session *opened, const population *p,
                       hox_error *error) HOX_MUST_CHECK;

// Another genome has taken this slot of the current generation. [main]
void scoring_replace(scoring *s, size_t slot, uint64_t id, const evaluation_result *result);
