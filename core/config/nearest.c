#include "config/nearest.h"

#include <string.h>

enum { MOST = 63 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b) {
    const size_t rows = strnlen(a, MOST), columns = strnlen(b, MOST);
    size_t cost[MOST + 1][MOST + 1];
    for (size_t i = 0; i <= rows; i++)
        cost[i][0] = i;
    for (size_t j = 0; j <= columns; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j <= columns; j++) {
            const size_t replace = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            cost[i][j] = least(replace, 1 + least(cost[i - 1][j], cost[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[rows][columns];
}

nearest nearest_start(const char *word) {
    return (nearest){.word = word, .best_distance = strlen(word) / 3 + 2};
}

void nearest_offer(nearest *search, const char *candidate) {
    const size_t distance = nearest_distance(search->word, candidate);
    if (distance >= search->best_distance) return;
    search->best = candidate;
    search->best_distance = distance;
}
