// log.h - one line to whoever listens.
#pragma once

#include <hox/host.h>

typedef struct log_sink {
    uint32_t level; // lines with a higher number are dropped
    void (*write)(void *context, uint32_t level, const char *line); // [any]
    void *context;
} log_sink;

// log may be NULL: nobody listens. [any]
void log_line(const log_sink *log, uint32_t level, const char *format, ...) HOX_PRINTF(3, 4);
