// devices.h - what a runtime finds on this machine, as JSON and for people.
#pragma once

#include <hox/plugin.h>
#include <jansson.h>

// {"devices": [..], "said": why others are not to be had, or null}. A runtime that fails has no
// device and says why. The caller owns the reference.
json_t *devices_json(const hox_plugin *runtime);

// The same on one line of stdout: cpu (Intel Xeon, 23.5 GiB); no NVIDIA driver
void devices_print(const json_t *devices);
