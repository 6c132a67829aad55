// block.h - memory of the system, entered in the host's ledger.
#pragma once

#include <hox/host.h>

// On failure *block is untouched and nothing is entered. [any]
hox_status take_block(const hox_host *host, uint64_t bytes, void **block, hox_error *error);
// bytes: as taken. NULL is legal. [any]
void return_block(const hox_host *host, void *block, uint64_t bytes);
