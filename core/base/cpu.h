// cpu.h - which instructions this processor has, as far as results or speed depend on them.
#pragma once

#include <stdint.h>

// "x86-64 avx2 fma ...": names of the vector instructions kernels ask for, in a fixed order. Of
// static storage. [any]
const char *cpu_instruction_set(void);

uint32_t cpu_core_count(void); // that this process may run on, at least 1 [any]
