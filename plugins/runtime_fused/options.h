// options.h - the settings of runtime "fused".
#pragma once

#include <hox/field.h>

typedef struct fused_options {
    int32_t pin_memory; // of transfers to a GPU
} fused_options;
