// services.h - the hox_host that an opened plugin talks to.
#pragma once

#include "base/log.h"
#include "plugin_host/ledger.h"

// One per opened plugin; stays where it is while the plugin is open.
typedef struct services {
    hox_host host; // what the plugin sees; context leads back here
    const log_sink *log;
    ledger *ledger;
    const char *name; // of the plugin, in front of its log lines
} services;

// Borrows all; log may be NULL. [main]
void services_init(services *s, const log_sink *log, ledger *accounts, const char *name);
