// evolution_config.h - the section "evolution" of an experiment.
#pragma once

#include <hox/field.h>

typedef struct evolution_config {
    int64_t population_size;
    double survival; // share of a generation that may become parents
} evolution_config;

extern const hox_field evolution_fields[];
extern const uint32_t evolution_field_count;
