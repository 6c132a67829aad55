// progress.h - what a run says while it runs, all on stderr: one line that is overwritten on a
// terminal, a line a generation elsewhere.
#pragma once

#include "base/log.h"
#include "experiment/experiment.h"

typedef struct progress {
    bool is_terminal;
    bool has_open_line; // a progress line stands without its end
    uint64_t start_ns;
} progress;

progress progress_start(void);
void progress_end(progress *p); // closes an open line

// Both take the progress as context.
log_sink progress_log(progress *p);
experiment_observer progress_observer(progress *p);
