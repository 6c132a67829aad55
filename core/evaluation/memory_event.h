// memory_event.h - what was decided about memory, and on which numbers.
#pragma once

#include "evaluation/runner_cache.h"
#include "evaluation/vram_controller.h"

// A vram_reason, or one of these.
enum {
    MEMORY_ALONE = VRAM_REASON_COUNT, // a genome runs alone, after the others
    MEMORY_STREAMED,                  // a split does not fit, and comes in chunks
    MEMORY_TRAINING,                  // a genome is trained with fewer images at once
    MEMORY_GENERATION,                // a generation ended; how the caches did
    MEMORY_WHY_COUNT
};
extern const char *const memory_why_names[MEMORY_WHY_COUNT]; // "formula", "oom_shrunk", ...

typedef struct memory_event {
    uint32_t why;
    vram_reading reading;
    uint64_t batch_before, batch_after, ceiling;
    uint64_t genome_id; // 0 = it is about none; then the next two are 0
    uint32_t lane;
    uint64_t tried;                    // images at once
    uint64_t bytes_needed, bytes_left; // out of memory, streamed; 0 = unknown
    runner_statistics runners;         // GENERATION, all lanes: hits, prepares and evictions in it
    uint64_t runner_count, peak_bytes; // likewise; the peak is the whole run's
} memory_event;

// Who listens; called by any lane.
typedef struct memory_listener {
    void (*hear)(void *context, const memory_event *event);
    void *context;
} memory_listener;

// One line for people.
void memory_event_describe(const memory_event *event, char *text, size_t size);
