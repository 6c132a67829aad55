// float_mode.h - numbers too small to be normal count as 0 while kernels run: a product with one
// takes a hundred times as long, and the tail of an activation is full of them.
#pragma once

#include <stdint.h>

// Returns the mode there was, for the way back. The calling thread's own. [any]
uint32_t float_mode_flush(void);
void float_mode_restore(uint32_t mode);
