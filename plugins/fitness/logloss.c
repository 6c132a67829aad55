// logloss.c - fitness: minus the mean logarithmic loss of the logits. A loss is better the lower, a
// fitness the higher, hence the sign; 0 is perfect.
#include <hox/plugin.h>

static hox_status logloss_score(const void *options, const hox_predictions *predictions,
                                const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)facts, (void)error;
    *fitness = -predictions->logloss;
    return HOX_OK;
}

static const hox_fitness_api api = {
    .struct_size = sizeof api,
    .flags = HOX_FITNESS_DETERMINISTIC,
    .score = logloss_score,
};

HOX_FITNESS_PLUGIN(&api, .name = "logloss", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "minus the mean logarithmic loss (0 is perfect)");
