// memory_limit.h - how much memory this process may still take before the system refuses or kills.
#pragma once

#include <stdint.h>

typedef struct memory_limit {
    uint64_t total_bytes; // least of MemTotal, the control groups' limits, RLIMIT_AS, RLIMIT_DATA
    uint64_t free_bytes;  // least of MemAvailable and what each limit leaves; at most total_bytes
} memory_limit;

// root: "" for this machine; tests give a folder that holds proc/ and sys/ trees of their own.
// What cannot be read limits nothing; with nothing known both are 0 ("unknown"). [any]
memory_limit memory_limit_read(const char *root);

// From now on large blocks go back to the system when they are freed. Else the C library keeps them
// for the thread that had them, and what a ledger calls free is not. Before there are threads; the
// whole process. [main]
void memory_return_large_blocks(void);
