#include "base/array.h"

#include <stdlib.h>

static void *no_memory(size_t count, size_t item_size, hox_error *error) {
    hox_error_set(error, HOX_OUT_OF_HOST_MEMORY,
                  "out of memory: no room for %zu items of %zu bytes", count, item_size);
    return NULL;
}

void *array_grow(void *items, size_t *capacity, size_t needed, size_t item_size, hox_error *error) {
    if (needed <= *capacity) return items;
    size_t wanted = *capacity + *capacity / 2 + 8;
    if (wanted < needed) wanted = needed;
    void *grown = reallocarray(items, wanted, item_size);
    if (!grown) return no_memory(wanted, item_size, error);
    *capacity = wanted;
    return grown;
}

void *array_create(size_t count, size_t item_size, hox_error *error) {
    void *items = calloc(count ? count : 1, item_size);
    return items ? items : no_memory(count, item_size, error);
}
