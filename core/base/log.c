#include "base/log.h"

void log_line(const log_sink *log, uint32_t level, const char *format, ...) {
    if (!log || level > log->level) return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    log->write(log->context, level, line);
}
