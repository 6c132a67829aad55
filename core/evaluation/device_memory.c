#include "evaluation/device_memory.h"

#include "base/memory_limit.h"

enum { MOST_HOST_SHARE = 64 << 20 }; // bytes

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t minus(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

static uint64_t used_of(const device_memory *m) {
    return ledger_used(m->plugin->services.ledger, m->device.address);
}

// By the runtime; by device_info and ledger where it does not answer, which is not worth a run.
static hox_status ask_runtime(const device_memory *m, hox_memory *memory, hox_error *error) {
    const hox_runtime_api *api = m->plugin->plugin->runtime;
    hox_error why = HOX_ERROR_INIT;
    hox_status status = HOX_UNSUPPORTED;
    *memory = (hox_memory){.struct_size = sizeof *memory};
    if (HOX_HAS(api, memory) && api->memory) status = api->memory(m->runtime, memory, &why);
    if (status == HOX_DEVICE_LOST && error) *error = why;
    if (status == HOX_OK || status == HOX_DEVICE_LOST) return status;
    const uint64_t total = m->device.total_bytes;
    *memory = (hox_memory){.struct_size = sizeof *memory,
                           .total_bytes = total,
                           .free_bytes = total ? minus(total, used_of(m)) : UINT64_MAX};
    return HOX_OK;
}

// Before the cap, and with the pool's bytes still taken.
static hox_status read_raw(const device_memory *m, hox_memory *memory, hox_error *error) {
    HOX_TRY(ask_runtime(m, memory, error));
    if (m->device.kind != HOX_DEVICE_CPU) return HOX_OK;
    const memory_limit limit = memory_limit_read("");
    memory->total_bytes = limit.total_bytes;
    memory->free_bytes = limit.total_bytes ? limit.free_bytes : UINT64_MAX;
    return HOX_OK;
}

hox_status device_memory_read(const device_memory *m, vram_reading *reading, hox_error *error) {
    hox_memory memory;
    HOX_TRY(read_raw(m, &memory, error));
    const uint64_t taken = minus(used_of(m), memory.cached_bytes); // by this process
    const uint64_t sum = memory.free_bytes + memory.cached_bytes;
    *reading = (vram_reading){.total = memory.total_bytes,
                              .free = sum < memory.free_bytes ? UINT64_MAX : sum,
                              .used = taken};
    if (m->device.kind != HOX_DEVICE_CPU && memory.total_bytes > 0 && m->cap == 0)
        reading->used = minus(memory.total_bytes, reading->free);
    if (m->cap == 0) return HOX_OK;
    reading->total = reading->total ? smaller(reading->total, m->cap) : m->cap;
    reading->free = smaller(reading->free, minus(m->cap, taken));
    return HOX_OK;
}

// What we need ourselves beside the runtime: blocks of images on their way, logits, weights.
static uint64_t host_share(uint64_t free_bytes) {
    return smaller(free_bytes / 8, MOST_HOST_SHARE);
}

// Of an account with the host's memory.
static uint64_t host_budget(uint64_t free_bytes, uint64_t used) {
    if (free_bytes >= UINT64_MAX - used) return UINT64_MAX;
    return free_bytes - host_share(free_bytes) + used;
}

// A device of its own: the host's memory is an account beside it.
static hox_status set_cpu_budget(const device_memory *m, hox_error *error) {
    ledger *accounts = m->plugin->services.ledger;
    const memory_limit limit = memory_limit_read("");
    const uint64_t free_bytes = limit.total_bytes ? limit.free_bytes : UINT64_MAX;
    return ledger_set_budget(accounts, "cpu", host_budget(free_bytes, ledger_used(accounts, "cpu")),
                             error);
}

hox_status device_memory_set_budget(const device_memory *m, hox_error *error) {
    hox_memory memory;
    uint64_t budget = UINT64_MAX;
    HOX_TRY(read_raw(m, &memory, error));
    if (m->device.kind == HOX_DEVICE_CPU)
        budget = host_budget(memory.free_bytes, used_of(m));
    else
        HOX_TRY(set_cpu_budget(m, error));
    if (m->cap > 0) budget = smaller(budget, m->cap);
    return ledger_set_budget(m->plugin->services.ledger, m->device.address, budget, error);
}

hox_status device_memory_verdict(const device_memory *m, hox_status status) {
    const hox_runtime_api *api = m->plugin->plugin->runtime;
    hox_memory memory = {.struct_size = sizeof memory};
    if (status != HOX_DEVICE || !HOX_HAS(api, memory) || !api->memory) return status;
    return api->memory(m->runtime, &memory, NULL) == HOX_OK ? status : HOX_DEVICE_LOST;
}

hox_status device_memory_peak(const device_memory *m, uint64_t *bytes, hox_error *error) {
    hox_memory memory;
    HOX_TRY(ask_runtime(m, &memory, error));
    *bytes = memory.peak_bytes > 0 ? memory.peak_bytes
                                   : ledger_peak(m->plugin->services.ledger, m->device.address);
    return HOX_OK;
}

bool device_memory_fits(const device_memory *m, uint64_t bytes) {
    hox_memory memory;
    return bytes <= ledger_left(m->plugin->services.ledger, m->device.address) &&
           read_raw(m, &memory, NULL) == HOX_OK && bytes <= memory.free_bytes;
}

uint64_t device_memory_trim(const device_memory *m) {
    const hox_runtime_api *api = m->plugin->plugin->runtime;
    return HOX_HAS(api, trim) && api->trim ? api->trim(m->runtime, UINT64_MAX) : 0;
}
