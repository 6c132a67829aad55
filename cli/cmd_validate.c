// cmd_validate.c - hox validate: is this experiment file right? Opens the plugins it names, but no
// data.
#include "command.h"
#include "loading.h"
#include "result.h"

#include <stdio.h>

int cmd_validate(const command_line *line, terminal *t) {
    const char *file = line->words.items[0];
    loading l;
    const int code = loading_open(&l, file, line, t);
    if (code != EXIT_OK) return code;
    int printed = EXIT_OK;
    if (command_line_has(line, "json"))
        printed = result_print(experiment_config_print(&l.config, NULL));
    else
        printf("%s: right\n", file);
    loading_close(&l);
    return printed;
}
