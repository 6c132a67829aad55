// test_rng.c - Philox against its published answers, the normals against tables, the rest against
// its distribution. Bounds of statistics are five standard errors or more, of fixed streams.
#include "base/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

// Random123 1.14, tests/kat_vectors, "philox4x32 10".
static const struct {
    uint32_t counter[4], key[2], words[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

Test(rng, gives_the_published_words) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t words[4];
        rng_philox(known[i].key, known[i].counter, words);
        cr_expect_arr_eq(words, known[i].words, sizeof words, "row %zu", i);
    }
}

Test(rng, hands_out_the_words_of_one_block_after_the_other) {
    rng r = rng_stream(0, 0, 0, 0);
    for (uint32_t block = 0; block < 100; block++) {
        uint32_t words[4];
        rng_philox((const uint32_t[]){0, 0}, (const uint32_t[]){block, 0, 0, 0}, words);
        for (int i = 0; i < 4; i++)
            cr_assert_eq(rng_word(&r), words[i]);
    }
}

// Words that two streams have at the same place, of 64.
static int common_words(rng a, rng b) {
    int common = 0;
    for (int i = 0; i < 64; i++)
        common += rng_word(&a) == rng_word(&b);
    return common;
}

Test(rng, streams_differ_by_each_part_of_their_place) {
    const rng base = rng_stream(42, 1, 2, 3);
    cr_expect_eq(common_words(base, rng_stream(42, 1, 2, 3)), 64);
    cr_expect_leq(common_words(base, rng_stream(43, 1, 2, 3)), 1);
    cr_expect_leq(common_words(base, rng_stream(42 + (UINT64_C(1) << 32), 1, 2, 3)), 1);
    cr_expect_leq(common_words(base, rng_stream(42, 2, 2, 3)), 1);
    cr_expect_leq(common_words(base, rng_stream(42, 1, 3, 3)), 1);
    cr_expect_leq(common_words(base, rng_stream(42, 1, 2, 4)), 1);
    cr_expect_leq(common_words(rng_stream(1, 1, 2, 3), rng_stream(1, 2, 1, 3)), 1);
    cr_expect_leq(common_words(rng_stream(1, 1, 2, 3), rng_stream(1, 1, 3, 2)), 1);
}

Test(rng, below_stays_below) {
    const uint64_t bounds[] = {1,          2,         3,         7, 1000, (UINT64_C(1) << 32) + 1,
                               UINT64_MAX, INT64_MAX, UINT32_MAX};
    rng r = rng_stream(7, 0, 0, 1);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        uint64_t largest = 0;
        for (int n = 0; n < 1000; n++) {
            const uint64_t drawn = rng_below(&r, bounds[i]);
            cr_assert_lt(drawn, bounds[i]);
            if (drawn > largest) largest = drawn;
        }
        cr_expect_geq(largest, bounds[i] - 1 - bounds[i] / 50, "bound %zu", (size_t)bounds[i]);
    }
}

static double standard_error(double rate, double count) {
    return sqrt(rate * (1.0 - rate) / count);
}

Test(rng, below_gives_each_number_its_share) {
    enum { BOUND = 10, DRAWS = 100000 };
    int counts[BOUND] = {0};
    rng r = rng_stream(8, 0, 0, 1);
    for (int i = 0; i < DRAWS; i++)
        counts[rng_below(&r, BOUND)]++;
    for (int i = 0; i < BOUND; i++)
        cr_expect(fabs((double)counts[i] / DRAWS - 0.1) < 5.0 * standard_error(0.1, DRAWS),
                  "%d: %d", i, counts[i]);
}

// 2^64 holds 3 * 2^62 once and a third: a bare remainder would give the lowest third one half.
Test(rng, below_is_fair_where_a_remainder_is_not) {
    const uint64_t third = UINT64_C(1) << 62;
    int low = 0;
    rng r = rng_stream(9, 0, 0, 1);
    for (int i = 0; i < 30000; i++)
        low += rng_below(&r, 3 * third) < third;
    cr_expect(fabs(low / 30000.0 - 1.0 / 3.0) < 5.0 * standard_error(1.0 / 3.0, 30000.0), "%d",
              low);
}

Test(rng, uniform_fills_its_range_evenly) {
    enum { DRAWS = 100000 };
    double sum = 0.0, square = 0.0, least = 1.0, most = 0.0;
    rng r = rng_stream(10, 0, 0, 1);
    for (int i = 0; i < DRAWS; i++) {
        const double u = rng_uniform(&r);
        cr_assert(u >= 0.0 && u < 1.0);
        sum += u;
        square += (u - 0.5) * (u - 0.5);
        least = fmin(least, u);
        most = fmax(most, u);
    }
    cr_expect(fabs(sum / DRAWS - 0.5) < 5.0 * sqrt(1.0 / 12.0 / DRAWS));
    cr_expect(fabs(square / DRAWS - 1.0 / 12.0) < 5.0 * sqrt(1.0 / 180.0 / DRAWS));
    cr_expect(least < 1e-3 && most > 0.999);
}

Test(rng, chance_is_never_at_0_and_always_at_1) {
    enum { DRAWS = 100000 };
    int at_0 = 0, at_1 = 0, at_3_tenths = 0;
    rng r = rng_stream(11, 0, 0, 1);
    for (int i = 0; i < DRAWS; i++) {
        at_0 += rng_chance(&r, 0.0);
        at_1 += rng_chance(&r, 1.0);
        at_3_tenths += rng_chance(&r, 0.3);
    }
    cr_expect_eq(at_0, 0);
    cr_expect_eq(at_1, DRAWS);
    cr_expect(fabs((double)at_3_tenths / DRAWS - 0.3) < 5.0 * standard_error(0.3, DRAWS), "%d",
              at_3_tenths);
}

// Python's statistics.NormalDist().inv_cdf; roots of mpmath's ncdf at 40 digits differ from it by
// 5e-16 of the value at most. The points stand on both sides of where the formula changes.
static const double quantiles[][2] = {
    {0x1p-33, -6.337957754553789},      {1e-10, -6.361340902404056},
    {1e-9, -5.9978070150076865},        {1e-8, -5.61200124417479},
    {1e-7, -5.199337582192817},         {1e-6, -4.753424308822899},
    {1e-5, -4.2648907939228256},        {1e-4, -3.71901648545568},
    {1e-3, -3.090232306167813},         {0.01, -2.3263478740408408},
    {0.02425, -1.9729610513118845},     {0.05, -1.6448536269514726},
    {0.0749, -1.4402382675279632},      {0.0751, -1.4388253927525398},
    {0.1, -1.2815515655446008},         {0.25, -0.6744897501960817},
    {0.4, -0.2533471031357998},         {0.499, -0.0025066308995717666},
    {0.5000001, 2.506628273311649e-07}, {0.6, 0.2533471031357998},
    {0.75, 0.6744897501960817},         {0.9, 1.2815515655446008},
    {0.9249, 1.4388253927525403},       {0.9251, 1.4402382675279632},
    {0.975, 1.9599639845400536},        {0.99, 2.3263478740408408},
    {0.999, 3.090232306167813},         {0.9999, 3.7190164854557084},
    {0.999999, 4.753424308817089},      {0.999999999, 5.997807019601638},
};

Test(rng, normal_quantile_is_that_of_the_tables) {
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        const double p = quantiles[i][0], expected = quantiles[i][1];
        const double x = rng_normal_quantile(p);
        cr_expect(fabs(x - expected) <= 1e-14 * fabs(expected), "%.17g: %.17g", p, x);
    }
    cr_expect_eq(rng_normal_quantile(0.5), 0.0);
}

Test(rng, normal_quantile_is_symmetric_and_rises) {
    double before = -INFINITY;
    for (int i = 1; i < 4096; i++) { // i / 4096 and 1 - i / 4096 are exact
        const double p = i / 4096.0, x = rng_normal_quantile(p);
        cr_expect_eq(rng_normal_quantile(1.0 - p), -x, "%d / 4096", i);
        cr_expect_gt(x, before, "%d / 4096", i);
        before = x;
    }
}

// The first word of this stream is 0x6627e8d5; NormalDist().inv_cdf((0x6627e8d5 + 0.5) / 2 ** 32).
Test(rng, normal_is_the_quantile_of_a_word) {
    rng r = rng_stream(0, 0, 0, 0);
    const double x = rng_normal(&r);
    cr_expect(fabs(x + 0.2558159704329815) <= 1e-14, "%.17g", x);
}

// Mean 0, variance 1, skewness 0, kurtosis 3; their standard errors are sqrt of 1, 2, 6, 24 over n.
Test(rng, normals_have_the_moments_of_the_normal) {
    enum { DRAWS = 200000 };
    double power[5] = {0}, before = 0.0, follows = 0.0;
    rng r = rng_stream(12, 3, 4, 5);
    for (int i = 0; i < DRAWS; i++) {
        const double x = rng_normal(&r);
        for (int k = 1; k <= 4; k++)
            power[k] += pow(x, k) / DRAWS;
        follows += x * before / DRAWS;
        before = x;
    }
    const double one = 5.0 / sqrt(DRAWS);
    cr_expect(fabs(power[1]) < one, "mean %g", power[1]);
    cr_expect(fabs(power[2] - 1.0) < one * sqrt(2.0), "variance %g", power[2]);
    cr_expect(fabs(power[3]) < one * sqrt(15.0), "third moment %g", power[3]);
    cr_expect(fabs(power[4] - 3.0) < one * sqrt(96.0), "fourth moment %g", power[4]);
    cr_expect(fabs(follows) < one, "neighbours correlate by %g", follows);
}
