// select.h - who may become a parent.
#pragma once

#include <stddef.h>

// Truncation selection: how many of the fittest are parents: floor(survival * count), at least 2,
// at most count.
size_t select_parent_count(size_t count, double survival);
