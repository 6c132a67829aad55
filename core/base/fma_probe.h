// fma_probe.h - what the processor can do at best: multiply-adds that never leave the registers.
#pragma once

#include <stdint.h>

// fp32 GFLOP/s of so many threads at once, each for about so many milliseconds, in the widest
// vectors there are; 0 where no thread can be started. [main]
double fma_probe_gflops(uint32_t thread_count, uint32_t milliseconds);
