// device_list.h - what a runtime plugin finds on this machine, and what it says of the rest.
#pragma once

#include <hox/plugin.h>
#include <stdbool.h>

enum { DEVICE_LIST_MOST = 64, DEVICE_LIST_WORDS_SIZE = 1024 };

// Plain data.
typedef struct device_list {
    hox_device_info items[DEVICE_LIST_MOST]; // as the plugin numbers them
    uint32_t count;
    char said[DEVICE_LIST_WORDS_SIZE]; // one line: why others are not to be had; "" = nothing
    bool has_trouble;                  // some of it is a warning
} device_list;

// Asks with services of its own, so that no run's log hears of it. Errors: what the plugin says,
// INTERNAL for more devices than are believed, OUT_OF_HOST_MEMORY; then count is 0 and nothing is
// said. [main]
hox_status device_list_read(const hox_plugin *runtime, device_list *list,
                            hox_error *error) HOX_MUST_CHECK;
