// checkpoint.h - a run's state on disk: checkpoint/NNNNNNNN.safetensors, named for the generation
// it holds, the newest two.
//
// The file is a safetensors file: the one tensor "kernels" holds the weights of distinct kernels,
// the metadata the format's name "hox-checkpoint/1", the state as JSON text, and a hash of both. It
// holds nothing that depends on time, chunks, lanes or memory. Written atomically: it is the old
// one or the new one.
#pragma once

#include "experiment/checkpoint_state.h"

// Writes the state of a told generation below folder, and drops all but this one and the one
// before. A pure read of the state. Errors: IO, OUT_OF_HOST_MEMORY; the old files stay. [main]
hox_status checkpoint_save(const char *folder, const run_state *run, const evolution_state *evolved,
                           hox_error *error) HOX_MUST_CHECK;

// Reads the newest valid one; whatever it skips is a warning that says why. metrics_lines and
// genomes_lines: what the files hold now; a checkpoint that needs more is not valid. Errors:
// NOT_FOUND where there is none, CORRUPT where none is valid. [main]
hox_status checkpoint_load(const char *folder, uint64_t metrics_lines, uint64_t genomes_lines,
                           const log_sink *log, run_state *run, evolution_state *evolved,
                           hox_error *error) HOX_MUST_CHECK;
