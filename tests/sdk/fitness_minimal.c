// fitness_minimal.c - the smallest plugin there is: the header's macro, one function, no option.
#include <hox/plugin.h>

static hox_status minimal_score(const void *options, const hox_predictions *predictions,
                                const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options;
    (void)facts;
    (void)error;
    *fitness = predictions->accuracy;
    return HOX_OK;
}

static const hox_fitness_api minimal_api = {
    .struct_size = sizeof minimal_api, .flags = HOX_FITNESS_DETERMINISTIC, .score = minimal_score};

HOX_FITNESS_PLUGIN(&minimal_api, .name = "minimal");
