// running.h - what hox run and hox resume have in common: signals, the run itself, the closing
// table.
#pragma once

#include "loading.h"

void running_catch_signals(void); // before anything that takes long

// Runs the loaded experiment in out (NULL = a new folder); is_resumed: goes on with the run that
// out holds. Returns the exit code.
int running_run(loading *l, const command_line *line, const char *out, bool is_resumed,
                bool is_forced);
