// test_sharing.c - shares and children worked out by hand, and sums that are always exact.
#include "evolution/sharing.h"

#include "random.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

enum { MOST = 40 };

// ---- shares ----

typedef struct member {
    uint32_t species_id;
    double fitness; // NAN = none
} member;

static void share(const member *members, size_t count, const species_set *set, double *shares) {
    individual items[MOST] = {0};
    for (size_t i = 0; i < count; i++)
        items[i] = (individual){.species_id = members[i].species_id,
                                .has_fitness = !isnan(members[i].fitness),
                                .fitness = isnan(members[i].fitness) ? -1e9 : members[i].fitness};
    sharing_mean_fitness(set, &(population){items, count}, shares);
}

Test(sharing, a_share_is_the_mean_above_the_smallest_fitness) {
    species all[] = {
        {.id = 3, .member_count = 2}, {.id = 5, .member_count = 4}, {.id = 9, .member_count = 1}};
    const species_set set = {.items = all, .count = 3};
    const member members[] = {{5, -1.0}, {3, 4.0}, {5, 1.0}, {9, NAN},
                              {3, 6.0},  {5, NAN}, {5, 0.0}};
    double shares[3];
    share(members, 7, &set, shares);
    cr_expect_eq(shares[0], (5.0 + 7.0) / 2);
    cr_expect_eq(shares[1], (0.0 + 2.0 + 0.0 + 1.0) / 4, "one that failed counts 0");
    cr_expect_eq(shares[2], 0.0);
}

Test(sharing, without_fitness_all_shares_are_0) {
    species all[] = {{.id = 1, .member_count = 1}, {.id = 2, .member_count = 2}};
    const species_set set = {.items = all, .count = 2};
    double shares[2] = {5.0, 5.0};
    share((const member[]){{1, NAN}, {2, NAN}, {2, NAN}}, 3, &set, shares);
    cr_expect(shares[0] == 0.0 && shares[1] == 0.0);
    share((const member[]){{1, -7.0}, {2, -7.0}, {2, NAN}}, 3, &set, shares);
    cr_expect(shares[0] == 0.0 && shares[1] == 0.0);
}

// Differences and sums beyond the largest double: 1 : 2 : 0 all the same.
Test(sharing, fitness_however_far_apart_keeps_its_proportions) {
    species all[] = {
        {.id = 1, .member_count = 1}, {.id = 2, .member_count = 2}, {.id = 3, .member_count = 1}};
    const species_set set = {.items = all, .count = 3};
    const double ends[] = {1.0, 1e300, DBL_MAX};
    for (int i = 0; i < 3; i++) {
        double shares[3];
        size_t counts[3];
        const member members[] = {{1, 0.0}, {2, ends[i]}, {3, -ends[i]}, {2, ends[i]}};
        share(members, 4, &set, shares);
        cr_expect(isfinite(shares[1]) && shares[1] == 2.0 * shares[0] && shares[2] == 0.0,
                  "%g: %g %g %g", ends[i], shares[0], shares[1], shares[2]);
        sharing_allot(shares, (const bool[]){true, true, true}, 3, 9, counts);
        cr_expect(counts[0] == 3 && counts[1] == 6 && counts[2] == 0, "%g: %zu %zu %zu", ends[i],
                  counts[0], counts[1], counts[2]);
    }
}

// ---- children ----

static const struct {
    size_t count, total;
    double shares[5];
    bool is_ended[5];
    size_t counts[5];
} rows[] = {
    {3, 10, {1, 2, 3}, {0}, {2, 3, 5}},       // 1.67 3.33 5
    {3, 11, {1, 2, 3}, {0}, {2, 4, 5}},       // 1.83 3.67 5.5: the largest remainders, twice
    {3, 10, {1, 1, 1}, {0}, {4, 3, 3}},       // ties to the lower
    {4, 10, {3, 1, 3, 1}, {0}, {4, 1, 4, 1}}, // 3.75 1.25 3.75 1.25
    {4, 2, {1, 1, 1, 1}, {0}, {1, 1, 0, 0}},  // fewer children than species
    {4, 2, {1, 1, 2, 1}, {0}, {1, 0, 1, 0}},  // 0.4 0.4 0.8 0.4
    {5, 1, {1, 2, 3, 4, 4}, {0}, {0, 0, 0, 1, 0}},
    {3, 10, {0, 0, 0}, {0}, {4, 3, 3}}, // nothing to share by
    {5, 7, {0, 0, 0, 0, 0}, {1, 0, 0, 1, 0}, {0, 3, 2, 0, 2}},
    {3, 10, {1, 2, 3}, {0, 0, 1}, {3, 7, 0}}, // 3.33 6.67
    {3, 10, {0, 5, 0}, {0}, {0, 10, 0}},
    {3, 10, {0, 5, 0}, {0, 1, 0}, {5, 0, 5}}, // the only share has ended
    {1, 128, {0.25}, {0}, {128}},
    {2, 5, {1, 1}, {1, 1}, {0, 0}}, // nobody goes on
    {2, 0, {1, 1}, {0}, {0, 0}},
    {3, 8, {5e-324, 5e-324, 1e-323}, {0}, {2, 2, 4}},
    {2, 100, {1e300, 1e-300}, {0}, {100, 0}},
};

Test(sharing, children_by_the_largest_remainders) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool is_active[5];
        size_t counts[5];
        for (size_t k = 0; k < 5; k++)
            is_active[k] = !rows[i].is_ended[k];
        sharing_allot(rows[i].shares, is_active, rows[i].count, rows[i].total, counts);
        for (size_t k = 0; k < rows[i].count; k++)
            cr_expect_eq(counts[k], rows[i].counts[k], "row %zu: %zu has %zu", i, k, counts[k]);
    }
}

// From 1e-300 to 1e300, whole numbers, zeros.
static double draw_share(test_random *random) {
    const double unit = fabs((double)random_signed(random));
    switch (random_below(random, 4)) {
        case 0: return 0.0;
        case 1: return random_below(random, 4);
        case 2: return unit;
        default: return unit * pow(10.0, (double)random_below(random, 601) - 300.0);
    }
}

Test(sharing, the_sum_is_exact_and_nobody_is_a_child_off) {
    test_random random = {5};
    for (int round = 0; round < 20000; round++) {
        double shares[MOST], sum = 0.0;
        bool is_active[MOST];
        size_t counts[MOST], given = 0, active_count = 0;
        const size_t count = 1 + random_below(&random, MOST);
        const size_t total = random_below(&random, round % 2 ? 20 : 100000);
        for (size_t i = 0; i < count; i++) {
            shares[i] = draw_share(&random);
            is_active[i] = random_below(&random, 5) > 0;
            active_count += is_active[i];
            sum += is_active[i] ? shares[i] : 0.0;
        }
        sharing_allot(shares, is_active, count, total, counts);
        for (size_t i = 0; i < count; i++) {
            given += counts[i];
            if (!is_active[i]) cr_assert_eq(counts[i], 0);
            if (!is_active[i]) continue;
            const double fair =
                sum > 0.0 ? shares[i] / sum * (double)total : (double)total / (double)active_count;
            cr_assert(fabs((double)counts[i] - fair) < 1.0 + 1e-9, "%zu instead of %g", counts[i],
                      fair);
        }
        cr_assert_eq(given, active_count ? total : 0);
    }
}
