// experiment_fixture.h - whole experiments in a folder of the test's own.
#pragma once

#include "experiment/experiment.h"
#include "temp_folder.h"

typedef struct lab {
    temp_folder folder;
    catalog plugins;
    char *path; // of the experiment file
    document document;
    experiment_config config; // leads into this struct: do not move it
    problem_list problems;
    char problem_text[4096]; // "pointer: text", a line each
} lab;

void lab_init(lab *self);
// Writes the text to the experiment file and loads it, with these --set (ended by NULL; or NULL).
hox_status lab_load(lab *self, const char *text, const char *const *sets, hox_error *error);
// Another file in its place.
hox_status lab_load_file(lab *self, const char *path, const char *const *sets, hox_error *error);
void lab_unload(lab *self);
void lab_deinit(lab *self);

// A run, whole or in part.
typedef struct lab_job {
    const char *text;          // NULL: goes on with what out holds
    const char *const *sets;   // ended by NULL; or NULL
    const char *out;           // below the lab's folder
    const hox_plugin *fitness; // in the place of the configured one; NULL = that one
    uint32_t stop_at;          // generations after which it is told to stop; 0 = it is not
    uint32_t kill_at;          // generations after which the process is killed; 0 = it is not
    uint32_t pause_ms;         // after every generation
    bool is_forced;
    const log_sink *log;
} lab_job;

hox_status lab_try(lab *self, const lab_job *job, run_result *result, hox_error *error);
run_result lab_do(lab *self, const lab_job *job); // everything must go well
void lab_kill(lab *self, const lab_job *job);     // runs and dies in a child process

void lab_stop(void); // tells the run at work to stop; also from its plugins

// Loads and runs into folder/out; everything must go well.
run_result lab_run(lab *self, const char *text, const char *const *sets, const char *out);

// Whether both runs left the same bytes in genomes.jsonl, champion/ and the checkpoints, and the
// same metrics but for the seconds.
bool runs_are_equal(const lab *self, const char *a, const char *b);

json_t *lab_lines(const lab *self, const char *out, const char *name); // of a .jsonl, as an array
json_t *lab_events(const lab *self, const char *out);                  // all but those about memory
json_t *lab_json(const lab *self, const char *out, const char *name);
json_t *at(json_t *json, const char *keys); // "result.fitness.test"; ends the test where it is not
