// entries.c - does the fake driver have all that the plugins ask for, of the type they ask for?
#include "cuda/driver.h"

__attribute__((used)) static const cuda_driver all_entries = {
#define X(name) .name = name,
    CUDA_DRIVER_MAP(X)
#undef X
};
