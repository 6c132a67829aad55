// balanced_accuracy.c - fitness: the mean of the shares of positives and of negatives decided
// rightly, so that a rare class weighs as much as a common one.
#include <hox/plugin.h>

static hox_status balanced_accuracy_score(const void *options, const hox_predictions *predictions,
                                          const hox_genome_facts *facts, double *fitness,
                                          hox_error *error) {
    (void)options, (void)facts, (void)error;
    *fitness = predictions->balanced_accuracy;
    return HOX_OK;
}

static const hox_fitness_api api = {
    .struct_size = sizeof api,
    .flags = HOX_FITNESS_DETERMINISTIC,
    .score = balanced_accuracy_score,
};

HOX_FITNESS_PLUGIN(&api, .name = "balanced_accuracy", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "mean share of positives and of negatives decided rightly");
