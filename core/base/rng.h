// rng.h - counter-based random numbers: what is drawn depends on the key and the place alone, never
// on what was drawn before elsewhere. Philox4x32-10: Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// What a stream is for; part of its place. Numbers never change: runs depend on them.
enum {
    RNG_PURPOSE_SPLIT = 1,          // cutting the train split; slot = class
    RNG_PURPOSE_START = 2,          // kernels of the first population
    RNG_PURPOSE_PARENT = 3,         // choice of parents
    RNG_PURPOSE_WEIGHTS = 4,        // mutation of weights
    RNG_PURPOSE_STRUCTURE = 5,      // mutation of structure
    RNG_PURPOSE_IMPORT = 6,         // kernels of a topology that came without weights; slot = edge
    RNG_PURPOSE_CROSSOVER = 7,      // genes of a child of two
    RNG_PURPOSE_REPRESENTATIVE = 8, // member that stands for a species; slot = species
    RNG_PURPOSE_REFINEMENT = 9      // order of images in training; the epoch's number in bits 16 up
};

typedef struct rng {
    uint32_t key[2];
    uint32_t counter[4]; // block within the stream, purpose, slot, generation
    uint32_t words[4];
    uint32_t used; // of words
} rng;

// The block function itself. [any]
void rng_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t words[4]);

// The stream of one place in a run; it holds 2^34 words. [any]
rng rng_stream(uint64_t seed, uint32_t generation, uint32_t slot, uint32_t purpose);

uint32_t rng_word(rng *r);                  // uniform over 32 bits
uint64_t rng_below(rng *r, uint64_t bound); // uniform over 0 .. bound - 1, unbiased; bound >= 1
double rng_uniform(rng *r);                 // [0, 1), 53 bits
bool rng_chance(rng *r, double rate);       // true with this rate; 0 never, 1 always
double rng_normal(rng *r);                  // N(0, 1), same bits on every machine

// The quantile function of N(0, 1), 0 < p < 1, without libm: Wichura, "Algorithm AS 241: the
// percentage points of the normal distribution", Applied Statistics 37 (1988), routine PPND16.
double rng_normal_quantile(double p);
