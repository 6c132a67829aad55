#include "runtime/places.h"

static size_t find_place(uint32_t first, uint32_t i, const size_t *sizes, const uint32_t *last_use,
                         const size_t *places) {
    size_t place = 0;
    for (uint32_t k = first; k < i;) {
        const int overlaps =
            last_use[k] >= i && places[k] < place + sizes[i] && place < places[k] + sizes[k];
        if (overlaps) place = places[k] + sizes[k];
        k = overlaps ? first : k + 1; // a new place is held against all again
    }
    return place;
}

size_t places_find(uint32_t first, uint32_t count, const size_t *sizes, const uint32_t *last_use,
                   size_t *places) {
    size_t end = 0;
    for (uint32_t i = first; i < count; i++) {
        places[i] = find_place(first, i, sizes, last_use, places);
        if (places[i] + sizes[i] > end) end = places[i] + sizes[i];
    }
    return end;
}
