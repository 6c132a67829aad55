// refinement_config.h - the section "refinement" of an experiment.
#pragma once

#include <hox/field.h>

enum { REFINEMENT_ADAM, REFINEMENT_SGD };
enum { REFINEMENT_CONSTANT, REFINEMENT_COSINE };

typedef struct refinement_config {
    int32_t elite_refinement_enabled;
    int64_t elite_refinement_every;      // generations
    double elite_refinement_fraction;    // of the population
    int64_t elite_refinement_epochs;     // over the refine split
    int64_t elite_refinement_batch_size; // images in a step
    double elite_refinement_lr;          // of the first step
    int32_t elite_refinement_optimizer;  // REFINEMENT_ADAM, REFINEMENT_SGD
    double elite_refinement_momentum;    // of sgd
    double elite_refinement_weight_decay;
    double elite_refinement_clip_norm; // 0 = off
    int32_t elite_refinement_schedule; // REFINEMENT_CONSTANT, REFINEMENT_COSINE
    int32_t baldwinian;                // fitness is taken, weights are not
} refinement_config;

extern const hox_field refinement_fields[];
extern const uint32_t refinement_field_count;
