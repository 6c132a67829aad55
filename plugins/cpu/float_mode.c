#include "cpu/float_mode.h"

#if defined(__x86_64__)
enum { FLUSH_RESULTS = 1 << 15, FLUSH_OPERANDS = 1 << 6 }; // of MXCSR

uint32_t float_mode_flush(void) {
    const uint32_t mode = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(mode | FLUSH_RESULTS | FLUSH_OPERANDS);
    return mode;
}

void float_mode_restore(uint32_t mode) {
    __builtin_ia32_ldmxcsr(mode);
}
#else
uint32_t float_mode_flush(void) {
    return 0;
}

void float_mode_restore(uint32_t mode) {
    (void)mode;
}
#endif
