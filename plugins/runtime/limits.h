// limits.h - what every runtime of ours can and cannot do, on whatever device.
#pragma once

#include <hox/runtime.h>

// Of a node; of a kernel, per axis; of a map, a stride and a padding: no size below overflows.
enum { LIMIT_CHANNELS = 64, LIMIT_KERNEL = 64, LIMIT_SIDE = 1 << 16 };

// fp32, one job at a time, all activations and readouts. [any]
void limits_caps(hox_runtime_caps *caps);

// Errors: UNSUPPORTED, naming node or edge. [any]
hox_status limits_check_plan(const hox_plan *plan, uint32_t precision,
                             hox_error *error) HOX_MUST_CHECK;
