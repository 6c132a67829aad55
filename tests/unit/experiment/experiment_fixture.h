// experiment_fixture.h - whole experiments in a folder of the test's own.
#pragma once

#include "experiment/experiment.h"
#include "temp_folder.h"

typedef struct lab {
    temp_folder folder;
    catalog plugins;
    ledger *accounts;
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

// Loads and runs into folder/out; everything must go well.
run_result lab_run(lab *self, const char *text, const char *const *sets, const char *out);

// Whether both runs left the same bytes in genomes.jsonl and champion/, and the same metrics but
// for the seconds.
bool runs_are_equal(const lab *self, const char *a, const char *b);

json_t *lab_lines(const lab *self, const char *out, const char *name); // of a .jsonl, as an array
json_t *lab_json(const lab *self, const char *out, const char *name);
json_t *at(json_t *json, const char *keys); // "result.fitness.test"; ends the test where it is not
