// terminal.h - everything a person sees beside the result: the log and the progress, on stderr.
// Colour and lines that are overwritten only on a terminal; NO_COLOR (no-color.org) is honoured.
#pragma once

#include "base/log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct terminal {
    log_sink log;         // give this to whoever has something to say
    uint32_t shown_level; // of what reaches stderr; the log file gets all
    bool is_terminal;     // stderr is one
    bool has_color;
    bool has_open_line;    // a progress line stands without its end
    FILE *log_file;        // NULL = none
    pthread_mutex_t mutex; // lines come from any thread
} terminal;

// The next file opened would get the number of a closed standard stream, and our text with it:
// holds such numbers, open the wrong way round, so that they fail when used, as closed ones do.
// False where that is impossible.
bool terminal_hold_streams(void);

// False where the log file cannot be opened: one line said so. t stays where it is.
bool terminal_open(terminal *t, bool is_quiet, bool is_verbose, const char *log_file);
void terminal_close(terminal *t);

// One line of progress (without newline): overwrites the one before on a terminal. Nothing when
// quiet.
void terminal_progress(terminal *t, const char *line);

// Ends the line of progress; before results are printed.
void terminal_end_progress(terminal *t);

// "hox: error: line", whatever the level.
void terminal_error(terminal *t, const char *format, ...) HOX_PRINTF(2, 3);
