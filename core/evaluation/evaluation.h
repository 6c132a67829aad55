// evaluation.h - genomes in, fitness out: lanes run the forward runtime over a data split.
#pragma once

#include "base/thread_pool.h"
#include "evaluation/evaluation_config.h"
#include "genome/genome.h"
#include "plugin_host/instance.h"

typedef struct evaluation evaluation;

// A data split on the device, with what is right about each image.
typedef struct evaluation_split {
    hox_samples *samples;
    uint8_t *labels; // 1 = positive
    uint64_t count;
} evaluation_split;

// Why a genome has no fitness.
enum {
    EVALUATION_OK = 0,
    EVALUATION_OOM,
    EVALUATION_NAN,
    EVALUATION_UNSUPPORTED,
    EVALUATION_PLUGIN_ERROR,
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

// Opens the runtime on its device and starts the lanes. runtime and fitness are borrowed, their
// options filled. Errors: DEVICE, what the runtime says, OUT_OF_HOST_MEMORY. [main]
hox_status evaluation_create(const evaluation_config *config, double decision_threshold,
                             const instance *runtime, const instance *fitness, ledger *accounts,
                             evaluation **out, hox_error *error) HOX_MUST_CHECK;
void evaluation_destroy(evaluation *e);

const hox_device_info *evaluation_device(const evaluation *e);
uint32_t evaluation_lane_count(const evaluation *e);
uint32_t evaluation_runtime_flags(const evaluation *e); // set of HOX_RUNTIME_*

// Room for count images of c x h x w on the device; then write them, fp32 (n,C,H,W), and set the
// labels. [main]
hox_status evaluation_split_init(evaluation *e, evaluation_split *split, uint64_t count,
                                 uint32_t channels, uint32_t height, uint32_t width,
                                 hox_error *error) HOX_MUST_CHECK;
hox_status evaluation_split_write(evaluation *e, evaluation_split *split, uint64_t first,
                                  uint64_t count, const float *images,
                                  hox_error *error) HOX_MUST_CHECK;
void evaluation_split_deinit(evaluation *e, evaluation_split *split); // {0} too

// Whether the runtime can evaluate this genome at all. Errors: UNSUPPORTED, naming node or edge of
// the plan. [main]
hox_status evaluation_check(const evaluation *e, const genome *g, hox_error *error) HOX_MUST_CHECK;

// results[i] belongs to genomes[i]. A genome that fails is a result, not an error. Errors:
// DEVICE_LOST (no genome is blamed), OUT_OF_HOST_MEMORY. [main]
hox_status evaluation_score(evaluation *e, const genome *const *genomes, size_t genome_count,
                            const evaluation_split *split, evaluation_result *results,
                            hox_error *error) HOX_MUST_CHECK;
