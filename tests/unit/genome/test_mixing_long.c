// test_mixing_long.c - the same as test_mixing.c over 30,000 genomes.
#include "mixing_fixture.h"

#include <criterion/criterion.h>

Test(mixing_long, leaves_sound_genomes) {
    for (uint64_t seed = 1001; seed <= 1030; seed++)
        check_mixing(seed, 1000);
}
