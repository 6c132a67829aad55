// cmd_resume.c - hox resume: goes on with a run that was stopped or killed, or is to be longer.
#include "command.h"
#include "running.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

int cmd_resume(const command_line *line, terminal *t) {
    const char *folder = line->words.items[0];
    char config[PATH_MAX];
    snprintf(config, sizeof config, "%s/config.resolved.json", folder);
    running_catch_signals();
    if (access(config, R_OK) != 0) {
        terminal_error(t, "%s: there is no run to go on with: config.resolved.json is missing",
                       folder);
        return EXIT_CONFIGURATION;
    }
    loading l;
    int code = loading_open(&l, config, line, t);
    if (code != EXIT_OK) return code;
    code = running_run(&l, line, folder, true, command_line_has(line, "force"));
    loading_close(&l);
    return code;
}
