// hungry.h - the options of the test runtime "hungry".
#pragma once

#include <stdint.h>

typedef struct hungry_options {
    int64_t group;          // jobs in one evaluate
    int64_t multiple;       // images a chunk is cut at
    int64_t lose_at;        // that call of evaluate or train_forward loses the device, 1 being the
                            // first; 0 = none
    int64_t lose_memory_at; // that call of memory does, and all after it, likewise
    int64_t short_at;       // that call of train_forward finds no memory, likewise
    int32_t pool;           // released blocks stay, until trimmed
} hungry_options;
