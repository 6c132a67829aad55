// places.h - where maps lie in one arena that they take in turn.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Maps first .. count - 1 come one after the other; map i is needed until last_use[i] has come.
// Each gets the lowest place that no map still needed overlaps (first fit). sizes, places and the
// result, the arena's size, are in one unit. [any]
size_t places_find(uint32_t first, uint32_t count, const size_t *sizes, const uint32_t *last_use,
                   size_t *places);
