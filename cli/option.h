// option.h - the words after a command.
#pragma once

#include "command.h"

// Fills line from argv[0] .. argv[argc - 1] by the options of line->command. Takes --name value,
// --name=value, -n value and -n; after -- all are words. Returns -1 to go on, else the exit code:
// one line said what is wrong.
int option_parse(int argc, char **argv, command_line *line);
