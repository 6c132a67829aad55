// memory.h - blocks of the system's memory, entered in the host's ledger.
#pragma once

#include <hox/host.h>
#include <stddef.h>

// On a 64-byte boundary, not cleared. Errors: OUT_OF_DEVICE_MEMORY, OUT_OF_HOST_MEMORY; *block is
// NULL then. [any]
hox_status block_take(const hox_host *host, size_t bytes, void **block,
                      hox_error *error) HOX_MUST_CHECK;
void block_return(const hox_host *host, void *block, size_t bytes); // NULL too

// Saturate: no ledger grants SIZE_MAX bytes, so sizes need no other check.
size_t size_times(size_t a, size_t b);
size_t size_plus(size_t a, size_t b);
