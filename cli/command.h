// command.h - the table of commands and of their options; one cmd_*.c each. Help, completion and
// manual pages are made from it.
#pragma once

#include "terminal.h"

#include <hox/status.h>
#include <stdbool.h>
#include <stddef.h>

// What the process ends with (DESIGN.md); a signal adds 128.
enum {
    EXIT_OK = 0,
    EXIT_RUN_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_CONFIGURATION = 3,
    EXIT_PLUGIN = 4,
    EXIT_DEVICE = 5
};

typedef struct option {
    const char *name;     // without --
    char letter;          // short form, 0 = none
    const char *argument; // what help calls it; NULL = a flag
    const char *help;
    bool is_repeatable;
} option;

enum { COMMAND_MOST_OPTIONS = 16, COMMAND_MOST_VALUES = 256 };

typedef struct command_line command_line;

typedef struct command {
    const char *name;      // one word or two: "plugins list"
    const char *words;     // what else stands in its usage: "FILE"
    size_t least, most;    // of these words
    const char *summary;   // for help
    const option *options; // a row of 0 at the end; the common ones follow by themselves
    int (*run)(const command_line *line, terminal *t); // the exit code
} command;

extern const command commands[];      // a row of 0 at the end
extern const option common_options[]; // likewise: of every command

// The words an option was given, in order; a flag once for each time.
typedef struct option_values {
    const char *items[COMMAND_MOST_VALUES];
    size_t count;
} option_values;

struct command_line {
    const command *command;
    option_values words;
    option_values values[COMMAND_MOST_OPTIONS]; // by row of the options, common ones behind
};

// By an option's name; it must be one of the command's.
const option_values *command_line_values(const command_line *line, const char *name);
const char *command_line_value(const command_line *line, const char *name); // the only one, or NULL
bool command_line_has(const command_line *line, const char *name);

// The row with this index, common options behind the command's own; NULL past the last.
const option *command_option(const command *c, size_t index);

// How a failure becomes an exit code; is_running: the configuration was right, so input and output
// are the run's.
int command_exit_code(hox_status status, bool is_running);

int command_main(int argc, char **argv);

int cmd_bench(const command_line *line, terminal *t);
int cmd_completion(const command_line *line, terminal *t);
int cmd_dataset_info(const command_line *line, terminal *t);
int cmd_doctor(const command_line *line, terminal *t);
int cmd_evaluate(const command_line *line, terminal *t);
int cmd_inspect(const command_line *line, terminal *t);
int cmd_plugins_info(const command_line *line, terminal *t);
int cmd_plugins_list(const command_line *line, terminal *t);
int cmd_resume(const command_line *line, terminal *t);
int cmd_run(const command_line *line, terminal *t);
int cmd_schema(const command_line *line, terminal *t);
int cmd_train(const command_line *line, terminal *t);
int cmd_validate(const command_line *line, terminal *t);
