// require.h - a benchmark that finds something wrong ends, and says what.
#pragma once

#include <errno.h>
#include <hox/status.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline void require(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    exit(1);
}

static inline void succeed(hox_status status, const hox_error *error) {
    require(status == HOX_OK, error->message);
}
