// result.h - results on stdout as JSON.
#pragma once

#include <jansson.h>

// Prints and takes the reference; NULL counts as out of memory. Returns the exit code.
int result_print(json_t *json);
