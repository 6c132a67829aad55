// nearest.h - did you mean ...?
#pragma once

#include <stddef.h>

// Edits (insert, delete, replace, swap of neighbours) from a to b: the optimal string alignment
// distance. Words beyond 63 bytes are cut.
size_t nearest_distance(const char *a, const char *b);

// A running search: give each candidate to nearest_offer; best is NULL where none is near enough.
typedef struct nearest {
    const char *word;
    const char *best;
    size_t best_distance;
} nearest;

nearest nearest_start(const char *word);
void nearest_offer(nearest *search, const char *candidate);
