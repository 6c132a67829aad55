// evaluation_fixture.h - an evaluation with its plugins and one split, without Criterion. What goes
// wrong in setting up ends the process.
#pragma once

#include "evaluation/evaluation.h"

#include <stdbool.h>

enum { ENGINE_EVENTS = 4096 };

typedef struct engine {
    instance runtime, fitness; // lead into this struct: do not move it
    evaluation_config config;  // defaults of the table, to be changed before engine_open
    evaluation *evaluation;
    const float *images; // borrowed
    evaluation_split split;
    memory_event events[ENGINE_EVENTS]; // heard so far
    size_t event_count;
    uint64_t reserve_count;   // of the runtime, so far
    uint64_t fail_at_reserve; // that call is refused, 1 being the first; 0 = none
} engine;

// Accounts and plugins; nothing is opened yet.
void engine_init(engine *self, const hox_plugin *runtime, const hox_plugin *fitness);
hox_status engine_open(engine *self, int64_t lanes, int64_t batch_size, hox_error *error);
// The split it scores on.
void engine_load(engine *self, map_size size, uint64_t count, const float *images,
                 const uint8_t *labels);
uint64_t engine_deinit(engine *self); // returns the bytes that stay in the ledger

// init, open and load, which must go well.
void engine_start(engine *self, const hox_plugin *runtime, const hox_plugin *fitness, int64_t lanes,
                  int64_t batch_size, map_size size, uint64_t count, const float *images,
                  const uint8_t *labels);

// One edge from input to output, with these weights and biases (NULL: zeros).
genome *line_genome(map_size input, map_size output, const float *values);

// Mutations of one edge, channels 3 or 8, each more changed than the one before; the last one has
// no path. Images of 3 x 12 x 12.
enum { RANDOM_GENOMES = 12, RANDOM_IMAGES = 50 };
void random_genomes(genome *genomes[RANDOM_GENOMES]);
// Those images in random order of labels, in a runtime of this build.
void start_random(engine *self, int64_t lanes, int64_t batch_size);

bool result_equals(const evaluation_result *a, const evaluation_result *b); // to the bit
