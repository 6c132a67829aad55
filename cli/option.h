// option.h - the words after a command: a table says which options there are.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { OPTION_MOST_VALUES = 256 };

// The words an option was given, in order; each time adds one. A flag adds its own name.
typedef struct option_values {
    const char *items[OPTION_MOST_VALUES];
    size_t count;
} option_values;

typedef struct option {
    const char *name;     // without --
    const char *argument; // what help calls it; NULL = a flag
    const char *help;
    option_values *values;
    bool is_repeatable;
} option;

// Fills the options' values and words (the rest). Accepts --name value and --name=value; -- ends
// options. usage: the line of the command table. Returns -1 to go on, else the exit code: help was
// asked for, or one line said what is wrong.
int option_parse(int argc, char **argv, const char *usage, const option *options,
                 size_t option_count, option_values *words);
