// memory_timeline.h - what a run decided about memory, line by line.
#pragma once

#include "terminal.h"

#include <stdbool.h>

// From the run's events.jsonl. Returns the exit code.
int memory_timeline_print(const char *run, bool is_json, terminal *t);
