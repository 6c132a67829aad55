// fitness.c - a fitness that lies as its row in CMakeLists.txt says; accepted, it is the accuracy.
#include "double.h"

static hox_status score(const void *options, const hox_predictions *predictions,
                        const hox_genome_facts *facts, double *fitness, hox_error *error) {
    (void)options;
    (void)facts;
    (void)error;
    double_called();
    *fitness = predictions->accuracy;
    return HOX_OK;
}

static const struct {
    hox_fitness_api known;
    void (*later[2])(void);
} table = {
    .known = {.struct_size = sizeof(hox_fitness_api),
              .flags = HOX_FITNESS_DETERMINISTIC,
              .score = score,
              TABLE_LIES},
    .later = {double_trap, double_trap},
};

DOUBLE(HOX_KIND_FITNESS, .fitness = &table.known);
