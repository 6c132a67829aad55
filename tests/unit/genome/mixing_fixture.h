// mixing_fixture.h - a pool of genomes that mutate and mix at random, and what must hold of each.
// Whatever fails ends the test.
#pragma once

#include <stdint.h>

// Makes genome_count genomes, one after the other, under limits and rates drawn from the seed.
void check_mixing(uint64_t seed, uint32_t genome_count);
