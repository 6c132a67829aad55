// device.h - the processor as a device, and what every CPU runtime can and cannot do.
#pragma once

#include <hox/runtime.h>

// As in hox_runtime_api. [main]
hox_status cpu_device_count(const hox_host *host, uint32_t *count, hox_error *error);
hox_status cpu_check_device(uint32_t device, hox_error *error);
// instruction_set: what results depend on beside the plugin.
hox_status cpu_describe_device(uint32_t device, const char *instruction_set, uint32_t score,
                               hox_device_info *info, hox_error *error);

// fp32, 1 .. 64 channels, kernels up to 64, all activations and readouts. [any]
void cpu_caps(hox_runtime_caps *caps);
hox_status cpu_check_plan(const hox_plan *plan, uint32_t precision, hox_error *error);
