// device_memory.h - how much memory the runtime's device has, the same questions for every kind.
#pragma once

#include "evaluation/vram_controller.h"
#include "plugin_host/instance.h"

// Borrows all; plain data.
typedef struct device_memory {
    const instance *plugin; // the runtime's, with its ledger
    hox_runtime *runtime;
    hox_device_info device;
    uint64_t cap; // bytes; 0 = none
} device_memory;

// Total, free and used now (SPEC 3). CPU: what system and control groups allow; used is what the
// runtime has reserved. Others: what the runtime tells, else device_info and ledger, also where it
// fails to tell. What its pool holds and nobody uses counts as free. The cap lowers total and free.
// Errors: DEVICE_LOST. [any]
hox_status device_memory_read(const device_memory *m, vram_reading *reading,
                              hox_error *error) HOX_MUST_CHECK;

// Sets the ledger's budget: on the CPU free + used as they are now, less an eighth of what is free
// (at most 64 MiB) for ourselves, and at most the cap; on others the cap alone, the driver being
// the judge, and for the host's memory that they take, "cpu", the same as on the CPU without the
// cap. Errors: OUT_OF_HOST_MEMORY, those of read. [main]
hox_status device_memory_set_budget(const device_memory *m, hox_error *error) HOX_MUST_CHECK;

// What a call of the runtime came to: DEVICE becomes DEVICE_LOST where the runtime cannot even say
// how much memory there is. [any]
hox_status device_memory_verdict(const device_memory *m, hox_status status);

// Most bytes that were held at once so far: by the runtime, where it tells, for what the driver
// refused has been in the ledger for a moment. Errors: DEVICE_LOST. [any]
hox_status device_memory_peak(const device_memory *m, uint64_t *bytes,
                              hox_error *error) HOX_MUST_CHECK;

// Whether so many bytes could be had. False where the device is lost. [any]
bool device_memory_fits(const device_memory *m, uint64_t bytes);

// Gives back what the runtime's pool holds and nobody uses. Returns the bytes. [any]
uint64_t device_memory_trim(const device_memory *m);
