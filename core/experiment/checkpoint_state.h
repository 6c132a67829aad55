// checkpoint_state.h - all that a run's future depends on, as JSON and one array of weights.
#pragma once

#include "evolution/evolution.h"
#include "experiment/run_directory.h"

// What the run knows beside its evolution.
typedef struct run_state {
    uint64_t seed;           // of all random choices
    run_result result;       // so far; its times are not part of it
    genome *champion;        // of all generations, by monitor; NULL = none. Owned where it was read
    double champion_monitor; // -inf where monitor failed
    uint64_t evaluation_count;
    uint32_t improved_generation;          // when the best fitness on select last rose
    uint64_t metrics_lines, genomes_lines; // of the files, as far as they belong to this state
} run_state;

// Weights of distinct kernels, in the order in which they are first met.
typedef struct kernel_values {
    float *values;
    size_t count, capacity;
} kernel_values;

// Prints both; a pure read. The caller owns the reference and frees values->values. NULL without
// memory.
json_t *checkpoint_state_print(const run_state *run, const evolution_state *evolved,
                               kernel_values *values, hox_error *error);

// The reverse; both are the caller's (genome_destroy, evolution_state_deinit). Errors: CORRUPT,
// OUT_OF_HOST_MEMORY. [main]
hox_status checkpoint_state_read(const json_t *json, const float *values, size_t value_count,
                                 run_state *run, evolution_state *evolved,
                                 hox_error *error) HOX_MUST_CHECK;
