// device.h - the processor as a device.
#pragma once

#include <hox/runtime.h>

// As in hox_runtime_api. [main]
hox_status cpu_device_count(const hox_host *host, uint32_t *count, hox_error *error);
hox_status cpu_check_device(uint32_t device, hox_error *error);
// instruction_set: what results depend on beside the plugin.
hox_status cpu_describe_device(uint32_t device, const char *instruction_set, uint32_t score,
                               hox_device_info *info, hox_error *error);
