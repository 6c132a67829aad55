// f1.c - fitness: the harmonic mean of precision and recall of the positive class.
#include <hox/plugin.h>

static hox_status f1_score(const void *options, const hox_predictions *predictions,
                           const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)facts, (void)error;
    *fitness = predictions->f1;
    return HOX_OK;
}

static const hox_fitness_api api = {
    .struct_size = sizeof api,
    .flags = HOX_FITNESS_DETERMINISTIC,
    .score = f1_score,
};

HOX_FITNESS_PLUGIN(&api, .name = "f1", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "harmonic mean of precision and recall");
