#include "result.h"

#include "command.h"

#include <stdio.h>

int result_print(json_t *json) {
    const int failed = !json || json_dumpf(json, stdout, JSON_INDENT(2)) != 0;
    json_decref(json);
    if (!failed) putchar('\n');
    return failed ? EXIT_RUN_FAILED : EXIT_OK;
}
