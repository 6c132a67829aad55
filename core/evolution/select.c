#include "evolution/select.h"

size_t select_parent_count(size_t count, double survival) {
    size_t parents = (size_t)(survival * (double)count + 1e-9); // 0.29 * 100 is 29
    if (parents < 2) parents = 2;
    return parents < count ? parents : count;
}
