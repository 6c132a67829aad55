// auc.c - fitness: the area under the ROC curve: how often a positive's logit is above a
// negative's.
#include <hox/plugin.h>

static hox_status auc_score(const void *options, const hox_predictions *predictions,
                            const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options, (void)facts, (void)error;
    *fitness = predictions->auc;
    return HOX_OK;
}

static const hox_fitness_api api = {
    .struct_size = sizeof api,
    .flags = HOX_FITNESS_DETERMINISTIC,
    .score = auc_score,
};

HOX_FITNESS_PLUGIN(&api, .name = "auc", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "area under the ROC curve, whatever the threshold");
