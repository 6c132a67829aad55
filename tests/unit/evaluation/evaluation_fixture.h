// evaluation_fixture.h - an evaluation with its plugins and one split, without Criterion. What goes
// wrong in setting up ends the process.
#pragma once

#include "evaluation/evaluation.h"
#include "hungry/hungry.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { ENGINE_EVENTS = 4096 };

typedef struct engine {
    instance runtime, fitness; // lead into this struct: do not move it
    evaluation_config config;  // defaults of the table, to be changed before engine_open,
    const log_sink *log;       // as may this one; NULL = nobody listens
    evaluation *evaluation;
    const float *images; // borrowed
    evaluation_split split;
    uint64_t images_read;               // so far
    memory_event events[ENGINE_EVENTS]; // heard so far
    size_t event_count;
    atomic_uint_fast64_t reserve_count; // of the runtime, so far
    uint64_t fail_at_reserve;           // that call is refused, 1 being the first; 0 = none
    bool fails_for_good;                // and all that follow
} engine;

// The test runtime that takes memory for the maps of all images; options: hungry_options.
const hox_plugin *hungry_plugin(void);

// Accounts and plugins, the runtime's options at their defaults; nothing is opened yet.
void engine_init(engine *self, const hox_plugin *runtime, const hox_plugin *fitness);
hungry_options *engine_hungry(engine *self); // the options, where the runtime is that one
hox_status engine_open(engine *self, int64_t lanes, int64_t batch_size, hox_error *error);
// The split it scores on.
void engine_load(engine *self, map_size size, uint64_t count, const float *images,
                 const uint8_t *labels);
uint64_t engine_deinit(engine *self); // returns the bytes that stay in the ledger

// init, open and load, which must go well.
void engine_start(engine *self, const hox_plugin *runtime, const hox_plugin *fitness, int64_t lanes,
                  int64_t batch_size, map_size size, uint64_t count, const float *images,
                  const uint8_t *labels);

// On its split; must go well, but for the genomes.
void engine_score(engine *self, genome *const *genomes, size_t count, evaluation_result *results);
void engine_end_generation(engine *self, const evaluation_result *results, size_t count);

uint64_t engine_used(const engine *self);              // bytes in the runtime's ledger
size_t engine_count(const engine *self, uint32_t why); // events so far
// The last one of its kind; ends the process where there is none.
const memory_event *engine_last(const engine *self, uint32_t why);

// One edge from input to output, with these weights and biases (NULL: zeros).
genome *line_genome(map_size input, map_size output, const float *values);

// node_count nodes of this size in a row, input and output among them; 1 x 1 kernels, weights by
// seed. The genome's id is the seed.
genome *chain_genome(map_size size, uint32_t node_count, uint64_t seed);

// Mutations of one edge, channels 3 or 8, each more changed than the one before; the last one has
// no path. Images of 3 x 12 x 12.
enum { RANDOM_GENOMES = 12, RANDOM_IMAGES = 50 };
void random_genomes(genome *genomes[RANDOM_GENOMES]); // their ids: 1 ..
void destroy_genomes(genome *const *genomes, size_t count);
// init for those images, with labels at random, and their split loaded.
void init_random(engine *self, const hox_plugin *runtime);
// The same in eager, and opened.
void start_random(engine *self, int64_t lanes, int64_t batch_size);

bool result_equals(const evaluation_result *a, const evaluation_result *b); // to the bit
