#include "evaluation/refinement_config.h"

static const char *const optimizer_names[] = {"adam", "sgd", NULL};
static const char *const schedule_names[] = {"constant", "cosine", NULL};

const hox_field refinement_fields[] = {
    HOX_BOOL(refinement_config, elite_refinement_enabled, 0,
             "train the fittest genomes by gradient on the refine split"),
    HOX_INT(refinement_config, elite_refinement_every, 5, 1, 1000000000,
            "generations between trainings; the last of max_generations is trained too"),
    HOX_RATE(refinement_config, elite_refinement_fraction, 0.05,
             "share of the population that is trained; at least 2 genomes"),
    HOX_INT(refinement_config, elite_refinement_epochs, 2, 1, 60000,
            "times each image of the refine split is seen in a training"),
    HOX_INT(refinement_config, elite_refinement_batch_size, 128, 1, 1000000000,
            "images whose mean gradient makes one step"),
    HOX_REAL(refinement_config, elite_refinement_lr, 0.001, 0.0, 1e6, "learning rate"),
    HOX_CHOICE(refinement_config, elite_refinement_optimizer, "adam", optimizer_names,
               "how a gradient becomes a step"),
    HOX_REAL(refinement_config, elite_refinement_momentum, 0.9, 0.0, 1.0,
             "share of the step before that is kept; sgd only"),
    HOX_REAL(refinement_config, elite_refinement_weight_decay, 0.0, 0.0, 1e6,
             "share of a weight that each step takes away, times the learning rate; decoupled from "
             "the gradient"),
    HOX_REAL(refinement_config, elite_refinement_clip_norm, 0.0, 0.0, 1e30,
             "longest gradient of all weights together; a longer one is scaled down; 0 = off"),
    HOX_CHOICE(refinement_config, elite_refinement_schedule, "constant", schedule_names,
               "of the learning rate; cosine falls to zero over all steps of a training"),
    HOX_BOOL(refinement_config, baldwinian, 0,
             "a trained genome keeps its old weights and takes the new fitness"),
};
const uint32_t refinement_field_count = sizeof refinement_fields / sizeof *refinement_fields;
