// random_evolution.h - short evolutions under settings drawn at random, and what must hold of every
// generation. Whatever fails ends the test.
#pragma once

#include <stdint.h>

// Population and kind of fitness go by index, so that few indices meet all of them; the rest is
// drawn.
void check_random_evolution(uint32_t index);
