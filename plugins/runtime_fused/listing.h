// listing.h - what run_genomes does for the genomes of a call, step by step, and where each map
// lies. What genomes compute alike is computed once: equal value hash, equal map (SPEC 2).
#pragma once

#include "tile_program.h"

#include <hox/host.h>
#include <hox/weights.h>

typedef struct listing_genome {
    const tile_program *program;
    const hox_weights *weights; // NULL: only to be measured
    uint32_t job;               // the caller's number
} listing_genome;

typedef struct listing {
    const hox_host *host;
    size_t bytes;
    const listing_genome *genomes;
    uint32_t genome_count;
    uint64_t shared; // floats of a block's memory that are shared memory; scratch lies behind them
    uint64_t memory; // floats that maps take of both
    // The rest is the listing's own.
    struct listing_value *values;
    uint32_t value_count;
    uint32_t *ids; // per node of all genomes: its value
    size_t *begin; // per genome: its first node in those
    struct listing_event *events;
    uint32_t event_count;
    uint32_t *stages; // per edge computed: where in shared memory its weights are copied
} listing;

// Lists the steps over so many floats of memory, of which the first are shared. Genomes that begin
// alike become neighbours. Less is shared where maps that wait for another genome do not fit, in
// the end nothing; then it takes what each genome takes alone. Errors: out of memory.
hox_status listing_make(const hox_host *host, listing_genome *genomes, uint32_t genome_count,
                        uint64_t shared, uint64_t memory, listing **made,
                        hox_error *error) HOX_MUST_CHECK;
void listing_free(listing *l); // NULL too

// What a genome takes alone, likewise counted from the first float of shared memory.
hox_status listing_measure(const hox_host *host, const tile_program *program, uint64_t shared,
                           uint64_t *memory, hox_error *error) HOX_MUST_CHECK;

// Writes the steps and the weights they read: at most what the programs say together. Steps that
// read out bear the place of their genome in `genomes`.
void listing_write(const listing *l, cuda_step *steps, uint32_t *step_count, float *weights,
                   uint64_t *weight_floats);
