// accuracy.c - fitness: the share of images decided rightly.
#include <hox/plugin.h>

static hox_status accuracy_score(const void *options, const hox_predictions *predictions,
                                 const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)facts, (void)error;
    *fitness = predictions->accuracy;
    return HOX_OK;
}

static const hox_fitness_api api = {
    .struct_size = sizeof api,
    .flags = HOX_FITNESS_DETERMINISTIC,
    .score = accuracy_score,
};

HOX_FITNESS_PLUGIN(&api, .name = "accuracy", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "share of images decided rightly");
