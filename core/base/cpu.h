// cpu.h - which instructions this processor has, as far as results or speed depend on them.
#pragma once

// "x86-64 avx2 fma ...": names of the vector instructions kernels ask for, in a fixed order. Of
// static storage. [any]
const char *cpu_instruction_set(void);
