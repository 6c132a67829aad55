// options.h - the settings of runtime "eager".
#pragma once

#include <hox/field.h>

typedef struct eager_options {
    int32_t pin_memory; // of transfers to a GPU
} eager_options;
