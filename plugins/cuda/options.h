// options.h - the settings that every CUDA runtime has, as rows for its table.
#pragma once

#include <hox/field.h>

#define CUDA_PIN_MEMORY(struct_type)                                                               \
    HOX_BOOL(struct_type, pin_memory, 1,                                                           \
             "copy to and from a GPU by way of page-locked memory, which is faster")
