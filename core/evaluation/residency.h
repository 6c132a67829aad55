// residency.h - where the images are: a split stays on the device where it fits, else it comes
// through a window, chunk by chunk (SPEC 4). All [main], while the lanes rest.
#pragma once

#include "evaluation/lanes.h"
#include "evaluation/split.h"

typedef struct residency {
    lanes *lanes;                    // borrowed
    bool is_wanted[SPLIT_USE_COUNT]; // splits of this use may stay
    evaluation_split *splits;        // those on the device
} residency;

// Puts the split on the device where it fits with room for the largest genome at the lower bound
// beside it, and fills it; where it does not it stays away. Errors: DEVICE_LOST, what the split's
// reader says.
hox_status residency_place(residency *r, evaluation_split *split, const vram_demand *demand,
                           hox_error *error) HOX_MUST_CHECK;
void residency_drop(residency *r, evaluation_split *split);
void residency_drop_all(residency *r);

// Room for *count images of the split, after all that is idle had to go if need be. Errors: out of
// memory.
hox_status residency_create_samples(residency *r, const evaluation_split *split, uint64_t count,
                                    hox_samples **samples, hox_error *error) HOX_MUST_CHECK;
// Images first .. first + count - 1 to the front of samples, after all that is idle had to go if
// need be. Errors: out of memory, what the split's reader says.
hox_status residency_fill(residency *r, const evaluation_split *split, hox_samples *samples,
                          uint64_t first, uint64_t count, hox_error *error) HOX_MUST_CHECK;
// Room for a chunk: as many images as can be had, from B down to the lower bound.
hox_status residency_create_window(residency *r, const evaluation_split *split,
                                   hox_samples **window, uint64_t *count,
                                   hox_error *error) HOX_MUST_CHECK;

// Gives back all that is idle: runners, and what the runtime's pool holds.
void residency_make_room(residency *r);
