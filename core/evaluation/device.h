// device.h - which of a runtime's devices an experiment gets.
#pragma once

#include "plugin_host/instance.h"

#include <stdbool.h>

// wanted: "auto" (the highest score), a kind ("cpu", "cuda": its best) or an address ("cuda:1").
// trains: of several, one on which the runtime trains goes first. What "auto" could not have is a
// warning in the plugin's log. Errors: DEVICE, saying why, where the plugin does, and what there is
// instead; what the plugin says. [main]
hox_status device_choose(const instance *runtime, const char *wanted, bool trains, uint32_t *device,
                         hox_device_info *info, hox_error *error) HOX_MUST_CHECK;

const char *device_kind_name(uint32_t kind); // "cpu", "cuda", ...
