// cmd_run.c - hox run: from an experiment file to a run directory.
#include "command.h"
#include "running.h"

int cmd_run(const command_line *line, terminal *t) {
    loading l;
    running_catch_signals();
    int code = loading_open(&l, line->words.items[0], line, t);
    if (code != EXIT_OK) return code;
    if (command_line_has(line, "smoke")) experiment_config_make_small(&l.config);
    code = running_run(&l, line, command_line_value(line, "out"), false, false);
    loading_close(&l);
    return code;
}
