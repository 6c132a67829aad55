// status.h - what every call returns, and the message that goes with a failure.
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// Name, number, text. Numbers never change; an unknown one means "failed".
#define HOX_STATUS_MAP(X)                                                                          \
    X(OK, 0, "ok")                                                                                 \
    X(INVALID_ARGUMENT, 1, "invalid argument")                                                     \
    X(UNSUPPORTED, 2, "unsupported")                                                               \
    X(VERSION, 3, "plugin and host do not fit")                                                    \
    X(BAD_OPTION, 4, "wrong setting")                                                              \
    X(NOT_FOUND, 5, "not found")                                                                   \
    X(OUT_OF_HOST_MEMORY, 6, "out of host memory")                                                 \
    X(OUT_OF_DEVICE_MEMORY, 7, "out of device memory")                                             \
    X(CANCELLED, 8, "cancelled")                                                                   \
    X(DEVICE, 9, "the device failed")                                                              \
    X(DEVICE_LOST, 10, "the device is lost")                                                       \
    X(IO, 11, "reading or writing failed")                                                         \
    X(CORRUPT, 12, "damaged data")                                                                 \
    X(INTERNAL, 13, "internal error")

enum {
#define X(name, number, text) HOX_##name = number,
    HOX_STATUS_MAP(X)
#undef X
};
typedef int32_t hox_status;

enum { HOX_ERROR_MESSAGE_SIZE = 512 };

// Owned by the caller, written by the callee; the first message stays. Every function takes NULL.
typedef struct hox_error {
    uint32_t struct_size;
    hox_status status;
    uint64_t bytes_requested; // out of memory: what was asked for; else 0
    uint64_t bytes_available; // out of memory: what was left; else 0
    int32_t plan_node;        // index in the plan that the failure is about, or -1
    int32_t plan_edge;        // likewise
    int32_t native_code;      // the driver's or system's own number; 0 = none
    uint32_t reserved;
    char message[HOX_ERROR_MESSAGE_SIZE];
} hox_error;

#define HOX_ERROR_INIT                                                                             \
    {                                                                                              \
        sizeof(hox_error), HOX_OK, 0, 0, -1, -1, 0, 0, {                                           \
            0                                                                                      \
        }                                                                                          \
    }

#if defined(__GNUC__)
#define HOX_PRINTF(format_index, args_index)                                                       \
    __attribute__((format(printf, format_index, args_index)))
#define HOX_MUST_CHECK __attribute__((warn_unused_result))
#else
#define HOX_PRINTF(format_index, args_index)
#define HOX_MUST_CHECK
#endif

// Records status and message unless error is NULL or already holds a failure. Returns status. [any]
HOX_PRINTF(3, 4)
static inline hox_status hox_error_set(hox_error *error, hox_status status, const char *format,
                                       ...) {
    if (error && error->status == HOX_OK) {
        va_list args;
        va_start(args, format);
        vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
        error->status = status;
    }
    return status;
}

// Hands up a failure that was kept aside, all of it, unless error is NULL or already holds one.
// Returns status. [any]
static inline hox_status hox_error_pass(hox_error *error, hox_status status,
                                        const hox_error *kept) {
    if (error && error->status == HOX_OK) {
        *error = *kept;
        error->status = status;
    }
    return status;
}

// Hands a failure up where nothing is held.
#define HOX_TRY(call)                                                                              \
    do {                                                                                           \
        const hox_status hox_try_ = (call);                                                        \
        if (hox_try_ != HOX_OK) return hox_try_;                                                   \
    } while (0)

// True where the struct behind pointer is long enough, by its own struct_size, to hold member.
#define HOX_HAS(pointer, member)                                                                   \
    ((pointer)->struct_size >=                                                                     \
     (size_t)((const char *)(&(pointer)->member + 1) - (const char *)(pointer)))
