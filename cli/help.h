// help.h - what --help says, in the form that help2man makes manual pages of.
#pragma once

#include "command.h"

#include <stdio.h>

int help_all(FILE *to);             // the exit code: usage where it goes to stderr
int help_command(const command *c); // to stdout
