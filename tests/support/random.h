// random.h - a small seeded generator for test inputs (splitmix64, public domain, S. Vigna).
#pragma once

#include <stdint.h>

typedef struct test_random {
    uint64_t state;
} test_random;

static inline uint64_t random_next(test_random *random) {
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// 0 .. count - 1
static inline uint32_t random_below(test_random *random, uint32_t count) {
    return (uint32_t)((random_next(random) >> 32) * count >> 32);
}

// -1 .. 1
static inline float random_signed(test_random *random) {
    return (float)((double)(random_next(random) >> 11) / 4503599627370496.0 - 1.0);
}
