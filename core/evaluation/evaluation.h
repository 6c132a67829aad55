// evaluation.h - genomes in, fitness out: lanes run the forward runtime over a data split, in as
// much memory as there is.
#pragma once

#include "evaluation/evaluation_config.h"
#include "evaluation/memory_event.h"
#include "evaluation/refinement.h"
#include "genome/genome.h"
#include "plugin_host/instance.h"

typedef struct evaluation evaluation;

// Why a genome has no fitness.
enum {
    EVALUATION_OK = 0,
    EVALUATION_OOM,
    EVALUATION_NAN,
    EVALUATION_UNSUPPORTED,
    EVALUATION_PLUGIN_ERROR,
    EVALUATION_DEVICE_LOST,
    EVALUATION_REASON_COUNT
};
extern const char *const evaluation_reasons[EVALUATION_REASON_COUNT]; // "ok", "oom", ...

typedef struct evaluation_result {
    uint32_t reason;         // EVALUATION_*
    double fitness;          // NaN unless reason is OK
    hox_predictions metrics; // its pointers are NULL; all zero unless reason is OK
    hox_genome_facts facts;
    uint64_t structure_hash[2]; // of the executed part; 0 where there is none
    uint64_t bytes_per_sample;  // M_sample of SPEC 3
    hox_error error;            // says more where reason is not OK
} evaluation_result;

// Borrows all; runtime and fitness have their options filled.
typedef struct evaluation_setup {
    const evaluation_config *config;
    double decision_threshold;
    bool trains; // "auto" takes a device on which the runtime does, where there is one
    const instance *runtime, *fitness;
    const log_sink *log;      // may be NULL
    memory_listener listener; // may be {0}
} evaluation_setup;

// Opens the runtime on its device and starts the lanes. Errors: DEVICE, what the runtime says,
// OUT_OF_HOST_MEMORY. [main]
hox_status evaluation_create(const evaluation_setup *setup, evaluation **out,
                             hox_error *error) HOX_MUST_CHECK;
void evaluation_destroy(evaluation *e);

const hox_device_info *evaluation_device(const evaluation *e);
uint32_t evaluation_lane_count(const evaluation *e);
uint32_t evaluation_runtime_flags(const evaluation *e); // set of HOX_RUNTIME_*

// Takes the split off the device. It belongs to the evaluation from its first scoring until then.
// [main]
void evaluation_drop_split(evaluation *e, evaluation_split *split);

// Whether the runtime can evaluate this genome at all. Errors: UNSUPPORTED, naming node or edge of
// the plan. [main]
hox_status evaluation_check(const evaluation *e, const genome *g, hox_error *error) HOX_MUST_CHECK;

// results[i] belongs to genomes[i]. A genome that fails is a result, not an error. Puts the split
// on the device where it fits and leaves it there. split stays where it is until it is dropped.
// Errors: DEVICE_LOST (no genome is blamed), OUT_OF_HOST_MEMORY, what the split's reader says.
// [main]
hox_status evaluation_score(evaluation *e, const genome *const *genomes, size_t genome_count,
                            evaluation_split *split, evaluation_result *results,
                            hox_error *error) HOX_MUST_CHECK;

// Whether the runtime trains on its device. Errors: UNSUPPORTED, naming the settings that help.
// [main]
hox_status evaluation_check_training(const evaluation *e, hox_error *error) HOX_MUST_CHECK;
// See refinement_run. Errors: those of it and of check_training. [main]
hox_status evaluation_refine(evaluation *e, const refinement_order *order, evaluation_split *split,
                             refinement_job *jobs, size_t count, hox_error *error) HOX_MUST_CHECK;

// A generation has been scored, and these are all its genomes: looks at memory, lets go of runners
// no genome needs, and tells how it went. Errors: DEVICE_LOST, OUT_OF_HOST_MEMORY. [main]
hox_status evaluation_end_generation(evaluation *e, const evaluation_result *results, size_t count,
                                     hox_error *error) HOX_MUST_CHECK;

// What the memory controller knows, for saving, and its way back. [main]
vram_state evaluation_memory_state(const evaluation *e);
void evaluation_restore_memory(evaluation *e, const vram_state *state);
