// command.h - the table of subcommands; one cmd_<name>.c each.
#pragma once

// What the process ends with (DESIGN.md); a signal adds 128.
enum {
    EXIT_OK = 0,
    EXIT_RUN_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_CONFIGURATION = 3,
    EXIT_PLUGIN = 4,
    EXIT_DEVICE = 5
};

typedef struct command {
    const char *name, *usage, *summary;
    int (*run)(int argc, char **argv); // argv[0] is the command's name; returns the exit code
} command;

extern const command commands[]; // a row of NULL at the end

int cmd_run(int argc, char **argv);
int cmd_plugins(int argc, char **argv);

int command_main(int argc, char **argv);
