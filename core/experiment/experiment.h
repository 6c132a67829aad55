// experiment.h - the run: ask, evaluate, tell, report, until it is done.
#pragma once

#include "experiment/run_directory.h"

#include <stdatomic.h>

typedef struct experiment experiment;

// Who watches; every call on the main thread. Any member may be NULL.
typedef struct experiment_observer {
    void (*started)(void *context, const experiment *e);
    void (*generation_done)(void *context, const experiment *e, const generation_record *record);
    void *context;
} experiment_observer;

typedef struct experiment_setup {
    experiment_config *config; // borrowed; stays where it is
    const char *out;           // the run's folder; NULL = a new one below config->run.out
    bool is_resumed;           // out holds a run that goes on
    bool is_forced;            // although something that changes results has changed
    const log_sink *log;
    const experiment_observer *observer;
    const atomic_int *stop_signal; // not 0: finish the generation, unless it is in training: that
                                   // one is given up; save, end
} experiment_setup;

// Opens dataset and runtime, cuts the splits, uploads select and monitor, makes the folder. Errors:
// what the parts say; a message that begins with / names the setting. [main]
hox_status experiment_create(const experiment_setup *setup, experiment **out,
                             hox_error *error) HOX_MUST_CHECK;
void experiment_destroy(experiment *e);

// Runs to the end and measures the champion on test, unless it was stopped. Errors: what ended it;
// all that was found until then is written. [main]
hox_status experiment_run(experiment *e, run_result *result, hox_error *error) HOX_MUST_CHECK;

const char *experiment_folder(const experiment *e);
const session *experiment_session(const experiment *e); // its data, runtime and settings
