// fibres.h - runs a grid of GPU threads on one CPU thread: a thread of a block runs until it waits
// at a barrier or ends, then the next one does. [one caller at a time]
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Where a barrier is missing, not every order gives the same values.
typedef enum fibre_order { FIBRES_ASCENDING, FIBRES_DESCENDING, FIBRES_SCRAMBLED } fibre_order;

typedef struct fibre_index {
    uint32_t x, y, z;
} fibre_index;

extern fibre_index threadIdx, blockIdx, blockDim, gridDim;

// Variables that the threads of a block share; before every block they are filled with NaN.
#define FIBRES_SHARED __attribute__((section("fibres_shared")))

// Shared memory of so many bytes for every block from now on, beside those variables and filled as
// they are; the previous one is gone.
void fibres_set_shared_at_launch(size_t bytes);
void *fibres_shared_at_launch(void); // for a thread

void fibres_set_order(fibre_order order);
void fibres_run(const uint32_t grid[3], uint32_t threads, void (*thread)(const void *argument),
                const void *argument);
void fibres_barrier(void); // for a thread
// For a thread: what thread (own place ^ mask) of its warp of 32 hands over in its own call; all of
// them wait for each other.
float fibres_exchange(float value, uint32_t mask);

// Barriers at which some threads of a block waited and others had ended, and exchanges for which
// some of a warp waited in vain; NaN stands for a value that was not handed over.
uint64_t fibres_divergence_count(void);

#ifdef __cplusplus
}
#endif
