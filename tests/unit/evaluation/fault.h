// fault.h - stands between an evaluation and its runtime, says that its one device, the CPU, is a
// GPU, and lets a call fail that would have gone to a driver. For one evaluation at a time, any
// number of lanes.
#pragma once

#include <hox/plugin.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    FAULT_SAMPLES_CREATE = 1u << 0,
    FAULT_SAMPLES_WRITE = 1u << 1,
    FAULT_PREPARE = 1u << 2,
    FAULT_EVALUATE = 1u << 3,
    FAULT_MEMORY = 1u << 4,
    FAULT_TRAIN = 1u << 5, // forward and backward
    FAULT_ALL = (1u << 6) - 1
};

enum { FAULT_CODE = 2 }; // native, of what fails

typedef struct fault {
    const hox_runtime_api *api; // of the runtime
    uint32_t kinds;             // FAULT_* that count
    hox_status status;          // of the call that fails
    uint64_t at;                // that call fails, 1 being the first; 0 = none
    bool fails_for_good;        // and all that follow
    atomic_uint_fast64_t count; // so far
} fault;

extern fault faulty;

// The plugin with faults in it: none yet, and all kinds count.
const hox_plugin *fault_plugin(const hox_plugin *plugin);
// From now on. at 0: none.
void fault_set(uint32_t kinds, hox_status status, uint64_t at, bool fails_for_good);
