// host_double.h - a host for tests: a ledger that can refuse, counter-based random, the last log
// line. Lanes may reserve and release at once; all else is for one thread at a time.
#pragma once

#include <hox/host.h>

typedef struct host_double {
    hox_host host; // give &double.host to the plugin; do not move the struct
    uint64_t budget_bytes;
    uint64_t live_bytes, peak_bytes;
    uint64_t reserve_count;   // calls so far
    uint64_t fail_at_reserve; // that call is refused, 1 being the first; 0 = none
    char last_log[256];
} host_double;

void host_double_init(host_double *host);
