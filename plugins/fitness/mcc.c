// mcc.c - fitness: Matthews' correlation coefficient of decisions and labels: 1 all right, 0
// chance, -1 all wrong.
#include <hox/plugin.h>

static hox_status mcc_score(const void *options, const hox_predictions *predictions,
                            const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)facts, (void)error;
    *fitness = predictions->mcc;
    return HOX_OK;
}

static const hox_fitness_api api = {
    .struct_size = sizeof api,
    .flags = HOX_FITNESS_DETERMINISTIC,
    .score = mcc_score,
};

HOX_FITNESS_PLUGIN(&api, .name = "mcc", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "Matthews' correlation coefficient");
