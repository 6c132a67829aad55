// loading.h - an experiment file, read and checked, with its plugins open: what most commands begin
// with.
#pragma once

#include "command.h"

#include "experiment/experiment_config.h"

// Stays where it is while it is open.
typedef struct loading {
    terminal *terminal;
    catalog plugins;
    document document;
    experiment_config config;
} loading;

// file and the line's --set and --plugin-path. Returns EXIT_OK, or the exit code: every wrong place
// had its line.
int loading_open(loading *l, const char *file, const command_line *line, terminal *t);
void loading_close(loading *l); // {0} too

// One line for an error that came up later; a message that begins with a setting gets the place
// where it stands. Returns the exit code.
int loading_explain(const loading *l, const hox_error *error, bool is_running);
