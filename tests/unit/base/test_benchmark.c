#include "base/benchmark.h"

#include <criterion/criterion.h>

Test(benchmark, median_is_the_middle_of_the_sorted_values) {
    const double odd[] = {5.0, 1.0, 9.0}, even[] = {4.0, 1.0, 3.0, 2.0}, twins[] = {2.0, 7.0, 2.0};
    cr_expect(benchmark_median(odd, 3) == 5.0);
    cr_expect(benchmark_median(even, 4) == 3.0);
    cr_expect(benchmark_median(even, 1) == 4.0);
    cr_expect(benchmark_median(twins, 3) == 2.0);
}

// By hand: 2654435761 = 0x9E3779B1, so the second one is 0x9E3779 / 2^23 - 1.
Test(benchmark, pixels_depend_on_their_place) {
    float pixels[2];
    benchmark_pixels(pixels, 2);
    cr_expect(pixels[0] == -1.0F);
    cr_expect(pixels[1] == 10368889.0F / 8388608.0F - 1.0F);
}
