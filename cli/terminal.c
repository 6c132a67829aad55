#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct {
    const char *word, *color; // in front of a line
} levels[] = {[HOX_LOG_ERROR] = {"error: ", "\033[1;31m"},
              [HOX_LOG_WARNING] = {"warning: ", "\033[1;33m"},
              [HOX_LOG_INFO] = {"", ""},
              [HOX_LOG_DEBUG] = {"", ""}};

static void keep(terminal *t, uint32_t level, const char *line) {
    if (!t->log_file) return;
    char stamp[32];
    const time_t now = time(NULL);
    struct tm local;
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S%z", localtime_r(&now, &local));
    fprintf(t->log_file, "%s %s%s\n", stamp, levels[level].word, line);
    fflush(t->log_file);
}

static void show(terminal *t, uint32_t level, const char *line) {
    const bool has_color = t->has_color && *levels[level].word;
    fprintf(stderr, "%shox: %s%s%s%s\n", t->has_open_line ? "\r\033[K" : "",
            has_color ? levels[level].color : "", levels[level].word, has_color ? "\033[0m" : "",
            line);
    t->has_open_line = false;
}

static void write_line(void *context, uint32_t level, const char *line) {
    terminal *t = context;
    if (level < HOX_LOG_ERROR || level > HOX_LOG_DEBUG) level = HOX_LOG_DEBUG;
    pthread_mutex_lock(&t->mutex);
    keep(t, level, line);
    if (level <= t->shown_level) show(t, level, line);
    pthread_mutex_unlock(&t->mutex);
}

bool terminal_hold_streams(void) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 &&
            open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream)
            return false;
    return true;
}

bool terminal_open(terminal *t, bool is_quiet, bool is_verbose, const char *log_file) {
    const char *no_color = getenv("NO_COLOR"), *kind = getenv("TERM");
    *t = (terminal){.log = {.write = write_line, .context = t},
                    .shown_level = is_quiet     ? HOX_LOG_WARNING
                                   : is_verbose ? HOX_LOG_DEBUG
                                                : HOX_LOG_INFO,
                    .is_terminal = isatty(STDERR_FILENO)};
    pthread_mutex_init(&t->mutex, NULL);
    t->has_color = t->is_terminal && !(no_color && *no_color) && kind && strcmp(kind, "dumb") != 0;
    t->log.level = log_file ? HOX_LOG_DEBUG : t->shown_level;
    if (!log_file) return true;
    t->log_file = fopen(log_file, "ae");
    if (t->log_file) return true;
    terminal_error(t, "%s: cannot open: %s", log_file, strerror(errno));
    return false;
}

void terminal_end_progress(terminal *t) {
    if (t->has_open_line) fputc('\n', stderr);
    t->has_open_line = false;
}

void terminal_close(terminal *t) {
    terminal_end_progress(t);
    const bool is_log_lost = t->log_file && ferror(t->log_file);
    if (t->log_file && (fclose(t->log_file) != 0 || is_log_lost))
        fprintf(stderr, "hox: the log file could not be written: %s\n", strerror(errno));
    t->log_file = NULL;
    pthread_mutex_destroy(&t->mutex);
}

void terminal_progress(terminal *t, const char *line) {
    pthread_mutex_lock(&t->mutex);
    keep(t, HOX_LOG_INFO, line);
    if (t->shown_level >= HOX_LOG_INFO) {
        fprintf(stderr, t->is_terminal ? "\r\033[K%s" : "%s\n", line);
        t->has_open_line = t->is_terminal;
    }
    pthread_mutex_unlock(&t->mutex);
}

void terminal_error(terminal *t, const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    write_line(t, HOX_LOG_ERROR, line);
}
