// progress.h - what a run says while it runs: first device, runtime and data, then each generation.
#pragma once

#include "experiment/experiment.h"
#include "terminal.h"

typedef struct progress {
    terminal *terminal;
    uint64_t start_ns;   // of the first generation here
    uint32_t done_count; // generations since
} progress;

experiment_observer progress_observer(progress *p); // takes p as context
