// options.h - the settings of runtime "graph".
#pragma once

#include <hox/field.h>

typedef struct graph_options {
    int32_t pin_memory; // of transfers to a GPU
} graph_options;
