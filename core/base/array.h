// array.h - room for one more.
#pragma once

#include <hox/status.h>

// items (NULL at first) with room for at least needed of item_size bytes, grown by halves; the
// caller frees it with free(). NULL and OUT_OF_HOST_MEMORY without memory: then items is as it was.
// [any]
void *array_grow(void *items, size_t *capacity, size_t needed, size_t item_size, hox_error *error);

// calloc with our error, never of size 0. NULL and OUT_OF_HOST_MEMORY without memory. [any]
void *array_create(size_t count, size_t item_size, hox_error *error);
