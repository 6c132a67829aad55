// run_directory.h - the files a run leaves behind (DESIGN.md).
#pragma once

#include "evolution/evolution.h"
#include "experiment/session.h"
#include "io/jsonl.h"

typedef struct run_directory {
    char *path;
    int lock; // a descriptor; -1 = none
    jsonl metrics, genomes, events;
} run_directory;

#define RUN_DIRECTORY_CLOSED ((run_directory){NULL, -1, JSONL_CLOSED, JSONL_CLOSED, JSONL_CLOSED})

// out NULL: a new folder <name>-<date>-<time> below the configured one; else out itself, which must
// not hold anything yet. The settings come first: from then on a run that is killed can go on,
// before that there is nothing in the way of a new one. Errors: IO. [main]
hox_status run_directory_create(run_directory *d, experiment_config *config, const char *out,
                                hox_error *error) HOX_MUST_CHECK;
// A folder that a run has left: locked, its lines not yet opened. Errors: IO (no run's folder, or
// another process has it). [main]
hox_status run_directory_open(run_directory *d, const char *path, hox_error *error) HOX_MUST_CHECK;
// Whole lines of its metrics.jsonl and genomes.jsonl.
void run_directory_count_lines(const run_directory *d, uint64_t *metrics, uint64_t *genomes);
// Goes on behind so many lines of each; what stands after them is dropped. Errors: IO. [main]
hox_status run_directory_continue(run_directory *d, uint64_t metrics, uint64_t genomes,
                                  hox_error *error) HOX_MUST_CHECK;
void run_directory_close(run_directory *d); // a closed one too

// Lines onto the disk, for what relies on them. Errors: IO. [main]
hox_status run_directory_sync(run_directory *d, hox_error *error) HOX_MUST_CHECK;

// A generation as metrics.jsonl tells it. Fitness is NaN where there is none.
typedef struct generation_record {
    uint32_t generation;
    double best, mean;    // fitness on select, of those that have one
    double monitor;       // fitness of its champion
    uint64_t champion_id; // 0 = none
    hox_genome_facts champion_facts;
    size_t evaluated_count, failed_count;
    size_t species_count;
    uint64_t evaluation_total; // genomes evaluated so far; elites and twins cost nothing
    size_t refined_count;      // trained genomes that took their slot
    double refinement_gain;    // in fitness, mean of those that were tried; NaN = none was
    double evaluate_seconds, evolve_seconds, refine_seconds, write_seconds;
} generation_record;

// What a run found, for run.json and the summary. NaN: not measured.
typedef struct run_result {
    uint64_t champion_id; // 0 = none
    uint32_t champion_generation, generation_count;
    hox_genome_facts champion_facts;
    double fitness[SPLIT_COUNT];           // of the champion, by split
    double balanced_accuracy[SPLIT_COUNT]; // likewise
    double brightness_test;                // balanced accuracy of the brightness rule
    lineage lineage;
    int stop_signal;      // 0 = ended by itself
    bool had_ended;       // there was nothing left to do
    bool has_failed_save; // a checkpoint could not be written
    double evaluate_seconds, evolve_seconds, refine_seconds, write_seconds, total_seconds;
} run_result;

// Each writes one line or file. Errors: IO, OUT_OF_HOST_MEMORY. [main]
hox_status run_directory_write_config(run_directory *d, experiment_config *config,
                                      hox_error *error) HOX_MUST_CHECK;
hox_status run_directory_write_run(run_directory *d, const session *s,
                                   const run_result *result /* NULL: not ended */,
                                   hox_error *error) HOX_MUST_CHECK;
// refined_from: by slot, the genome it was before its training; 0 = it was not trained.
hox_status run_directory_write_genomes(run_directory *d, uint32_t generation, const population *p,
                                       const evaluation_result *results,
                                       const uint64_t *refined_from,
                                       hox_error *error) HOX_MUST_CHECK;
hox_status run_directory_write_metrics(run_directory *d, const generation_record *record,
                                       hox_error *error) HOX_MUST_CHECK;
hox_status run_directory_write_champion(run_directory *d, const genome *g,
                                        hox_error *error) HOX_MUST_CHECK;

// A line of events.jsonl. Errors: IO. [any]
hox_status run_directory_write_memory(run_directory *d, uint32_t generation,
                                      const memory_event *event, hox_error *error) HOX_MUST_CHECK;

// event: a line of events.jsonl; takes the reference. Errors: IO. [any]
hox_status run_directory_write_event(run_directory *d, json_t *event,
                                     hox_error *error) HOX_MUST_CHECK;

// What run.json holds; the caller owns the reference. NULL and OUT_OF_HOST_MEMORY without memory.
json_t *run_json(const session *s, const run_result *result, hox_error *error);
