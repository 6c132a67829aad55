// ledger.h - how much memory a plugin holds of each device, and the budget that says when it is
// enough. Every block it takes from system or driver asks here first. One per opened plugin.
#pragma once

#include <hox/status.h>

typedef struct ledger ledger;

ledger *ledger_create(hox_error *error); // no budgets: everything fits
void ledger_destroy(ledger *l);

// device: "cpu", "cuda:0" ...; UINT64_MAX = no budget. Errors: OUT_OF_HOST_MEMORY. [main]
hox_status ledger_set_budget(ledger *l, const char *device, uint64_t bytes,
                             hox_error *error) HOX_MUST_CHECK;

// Errors: OUT_OF_DEVICE_MEMORY with the bytes asked for and left; nothing is booked then. [any]
hox_status ledger_reserve(ledger *l, const char *device, uint64_t bytes,
                          hox_error *error) HOX_MUST_CHECK;
void ledger_release(ledger *l, const char *device, uint64_t bytes); // of what was reserved [any]

uint64_t ledger_used(ledger *l, const char *device); // bytes now [any]
uint64_t ledger_peak(ledger *l, const char *device); // most bytes at once so far [any]
uint64_t ledger_left(ledger *l, const char *device); // of the budget; UINT64_MAX = no budget [any]
