// host.h - what the host does for a plugin. One hox_host belongs to each opened instance and lives
// until that instance is closed.
#pragma once

#include <hox/status.h>

enum { HOX_LOG_ERROR = 1, HOX_LOG_WARNING = 2, HOX_LOG_INFO = 3, HOX_LOG_DEBUG = 4 };

typedef struct hox_host hox_host;
struct hox_host {
    uint32_t struct_size;
    uint32_t log_level; // messages with a higher number are dropped: no need to format them
    void *context;      // the host's own

    // One line without newline, UTF-8. The plugin's only way to speak. [any]
    void (*log)(const hox_host *host, uint32_t level, const char *message);

    // The memory ledger. Call reserve before each block that is taken from the system or the driver
    // (never for pieces a pool hands out of it) and release after giving it back. device: "cpu", or
    // the address of a device. Errors: OUT_OF_DEVICE_MEMORY with the bytes asked for and left;
    // then the plugin must not allocate, and passes the failure up. [any]
    hox_status (*reserve)(const hox_host *host, const char *device, uint64_t bytes,
                          hox_error *error);
    void (*release)(const hox_host *host, const char *device, uint64_t bytes);

    // Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four
    // words that depend on key and counter alone, equal on every machine. [any]
    void (*random)(const hox_host *host, uint64_t key, const uint32_t counter[4],
                   uint32_t words[4]);
};
