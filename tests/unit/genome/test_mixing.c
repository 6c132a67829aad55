// test_mixing.c - hundreds of genomes mutated and crossed at random.
#include "mixing_fixture.h"

#include <criterion/criterion.h>

Test(mixing, leaves_sound_genomes) {
    for (uint64_t seed = 1; seed <= 8; seed++)
        check_mixing(seed, 60);
}
