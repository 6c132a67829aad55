// instance.h - a plugin about to be opened: its options, its ledger, and the host it will talk to.
#pragma once

#include "plugin_host/services.h"

#include <hox/plugin.h>

// Stays where it is while the plugin is open.
typedef struct instance {
    const hox_plugin *plugin;
    const char *path;  // borrowed
    void *options;     // options_size bytes, zero until filled; NULL where it has none
    services services; // its ledger is the instance's own
} instance;

// Borrows all but options and ledger. Errors: OUT_OF_HOST_MEMORY. [main]
hox_status instance_init(instance *i, const hox_plugin *plugin, const char *path,
                         const log_sink *log, hox_error *error) HOX_MUST_CHECK;
void instance_deinit(instance *i); // {0} too
