// session.h - the data and the runtime of an experiment, opened: what a run and a single evaluation
// share.
#pragma once

#include "evaluation/evaluation.h"
#include "experiment/experiment_config.h"
#include "experiment/splits.h"

typedef struct session_part {
    splits *splits;
    uint32_t part; // SPLIT_*
    evaluation_split data;
} session_part;

typedef struct session {
    experiment_config *config; // borrowed
    hox_dataset *dataset;
    splits splits;
    evaluation *evaluation;
    session_part parts[SPLIT_COUNT]; // lead into this struct: do not move it
} session;

// Opens dataset and runtime and cuts the splits. Errors: what the parts say; a message that begins
// with / names the setting. [main]
hox_status session_open(session *s, experiment_config *config, const log_sink *log,
                        memory_listener listener, hox_error *error) HOX_MUST_CHECK;
void session_close(session *s); // {0} too

// results[i] belongs to genomes[i]. Errors: NOT_FOUND for a split without images, those of
// evaluation_score. [main]
hox_status session_score(session *s, uint32_t part, const genome *const *genomes,
                         size_t genome_count, evaluation_result *results,
                         hox_error *error) HOX_MUST_CHECK;
// Trains on refine; see refinement_run. [main]
hox_status session_refine(session *s, const refinement_order *order, refinement_job *jobs,
                          size_t count, hox_error *error) HOX_MUST_CHECK;
// Whether there are images to train on and a runtime that does. Errors: BAD_OPTION, the message
// begins with setting where it is the runtime that does not. [main]
hox_status session_check_training(const session *s, const char *setting,
                                  hox_error *error) HOX_MUST_CHECK;
void session_drop(session *s, uint32_t part); // takes the split off the device

// Whether runtime and fitness give the same genome the same fitness each time.
bool session_is_deterministic(const session *s);
