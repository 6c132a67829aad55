// vram_controller.h - how many images the runtime gets at once (SPEC 3): the formula, the
// threshold, out of memory, recovery. A pure state machine: numbers in, decisions out; it touches
// no device and no clock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct vram_settings {
    uint64_t batch_most;           // B_cap: eval_batch_size
    uint64_t batch_least;          // B_min: eval_batch_size_min
    uint64_t lower_bound;          // L: no shrinking below it
    double fraction;               // alpha, of free memory
    double threshold;              // used / total above it shrinks the batch; 0 = off
    uint64_t reserve_bytes;        // M_reserve; 0 where the device keeps none
    bool is_adaptive;              // the formula is asked before each generation
    uint32_t recovery_generations; // clean ones until the ceiling doubles; 0 = never
} vram_settings;

// The device, in bytes.
typedef struct vram_reading {
    uint64_t total; // 0 = unknown
    uint64_t free, used;
} vram_reading;

// What evaluation wants, in bytes: a runner of n images takes fixed + n * per_sample.
typedef struct vram_demand {
    uint32_t lane_count;
    uint64_t fixed, per_sample; // of the largest genome
} vram_demand;

// All that the future depends on; plain data, for saving.
typedef struct vram_state {
    uint64_t batch;             // B
    uint64_t ceiling;           // on B, at most batch_most; lowered by each shrink
    uint64_t clean_generations; // since the last shrink or doubling
    uint64_t wait;              // clean generations until the ceiling doubles
    bool is_on_probation;       // a shrink now doubles the wait
} vram_state;

typedef struct vram_controller {
    vram_settings settings;
    vram_state state;
    bool had_trouble; // in this generation
    uint32_t warned;  // set of VRAM_WARN_*: each is given once
} vram_controller;

// Why the batch is what it is.
typedef enum vram_reason {
    VRAM_KEPT,      // as it was
    VRAM_FORMULA,   // of free memory
    VRAM_THRESHOLD, // too much of the memory was used
    VRAM_RECOVERED, // the ceiling has doubled
    VRAM_RETRY,     // out of memory, but after trimming it is worth another try
    VRAM_SHRUNK,    // out of memory
    VRAM_SET_ASIDE, // out of memory; the genome runs alone, after the others
    VRAM_REASON_COUNT
} vram_reason;

enum {
    VRAM_WARN_NOTHING_LEFT = 1u << 0,  // fraction and reserve leave no byte
    VRAM_WARN_FREE_CLAMPED = 1u << 1,  // free was above total
    VRAM_WARN_UNKNOWN_TOTAL = 1u << 2, // no threshold
};

typedef struct vram_decision {
    vram_reason reason;
    uint64_t before, after; // B
    vram_reading reading;   // it was made on, clamped; 0 after out of memory
    uint32_t warnings;      // VRAM_WARN_* that were not given before
} vram_decision;

// Out-of-memory retries of one genome so far.
typedef struct vram_ladder {
    uint64_t same_batch; // that was tried again because the bytes had come free; 0 = none
    uint32_t retries;    // the counted ones
    bool was_at_bound;
} vram_ladder;

vram_controller vram_controller_make(const vram_settings *settings); // B starts at batch_most
// Goes on from a saved state; what the settings no longer allow is brought within them.
void vram_controller_restore(vram_controller *c, const vram_state *state);

// Bytes one lane may fill: (min(alpha free - reserve, threshold total - used)) / lanes, the second
// term only with the threshold on and a total. Signed: at most 0 where nothing is left.
int64_t vram_share(const vram_settings *settings, const vram_reading *reading, uint32_t lane_count);

// B before a generation.
vram_decision vram_before_generation(vram_controller *c, const vram_reading *reading,
                                     const vram_demand *demand);

// B after a generation. largest: most images that were given at once; 0 = unknown, B is taken.
vram_decision vram_after_generation(vram_controller *c, const vram_reading *reading,
                                    uint64_t largest);

// A genome ran out of memory with so many images at once. fits: what it asked for is free after
// trimming. RETRY and SHRUNK: again, at B; SET_ASIDE: no more.
vram_decision vram_out_of_memory(vram_controller *c, vram_ladder *ladder, uint64_t tried,
                                 bool fits);
