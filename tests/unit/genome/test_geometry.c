// test_geometry.c - kernel, stride and padding between two sizes: the table is by hand from the
// rules.
#include "genome/geometry.h"

#include <criterion/criterion.h>

enum { DERIVED = 0, SAME3 = 1, STRIDE2 = 2, BOTH = SAME3 | STRIDE2 };

static const struct {
    uint32_t rules, source, target, kernel, stride, padding;
} rows[] = {
    {DERIVED, 32, 28, 5, 1, 0},  {DERIVED, 32, 1, 32, 1, 0},
    {DERIVED, 27, 27, 1, 1, 0},  {DERIVED, 1, 1, 1, 1, 0},
    {DERIVED, 12, 16, 1, 1, 2},  {DERIVED, 12, 17, 2, 1, 3}, // ceil(5 / 2) = 3; 12 + 6 - 17 + 1
    {DERIVED, 1, 2, 2, 1, 1},    {DERIVED, 1, 64, 2, 1, 32}, // ceil(63 / 2) = 32; 1 + 64 - 64 + 1
    {DERIVED, 32, 16, 17, 1, 0}, {SAME3, 27, 27, 3, 1, 1},
    {SAME3, 1, 1, 3, 1, 1},      {SAME3, 27, 26, 2, 1, 0},
    {SAME3, 32, 16, 17, 1, 0},   {STRIDE2, 32, 16, 3, 2, 1},
    {STRIDE2, 31, 16, 3, 2, 1}, // ceil(31 / 2)
    {STRIDE2, 31, 15, 17, 1, 0}, {STRIDE2, 2, 1, 3, 2, 1},
    {STRIDE2, 27, 27, 1, 1, 0},  {STRIDE2, 16, 32, 1, 1, 8},
    {BOTH, 27, 27, 3, 1, 1},     {BOTH, 27, 14, 3, 2, 1},
    {BOTH, 1, 1, 3, 1, 1}, // 1 = ceil(1 / 2) as well: same3 comes first
    {BOTH, 27, 25, 3, 1, 0},
};

static genome_config config_of(uint32_t rules) {
    return (genome_config){.same3 = (rules & SAME3) != 0, .stride2 = (rules & STRIDE2) != 0};
}

static void expect_axis(axis_geometry got, size_t row) {
    cr_expect(got.kernel == rows[row].kernel && got.stride == rows[row].stride &&
                  got.padding == rows[row].padding,
              "%u -> %u: k %u, s %u, p %u", rows[row].source, rows[row].target, got.kernel,
              got.stride, got.padding);
}

Test(geometry, is_that_of_the_rules_on_each_axis) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const genome_config rules = config_of(rows[i].rules);
        const map_size source = {3, rows[i].source, 10}, target = {8, rows[i].target, 7};
        const geometry tall = geometry_between(source, target, &rules);
        expect_axis(tall.rows, i);
        cr_expect(tall.columns.kernel == 4 && tall.columns.stride == 1 &&
                  tall.columns.padding == 0);
        const map_size wide_source = {3, 10, rows[i].source}, wide_target = {8, 7, rows[i].target};
        expect_axis(geometry_between(wide_source, wide_target, &rules).columns, i);
    }
}

Test(geometry, fits_between_any_two_sizes) {
    for (uint32_t rules = 0; rules < 4; rules++) {
        const genome_config config = config_of(rules);
        for (uint32_t source = 1; source <= 40; source++)
            for (uint32_t target = 1; target <= 40; target++) {
                const map_size a = {3, source, target}, b = {3, target, source};
                const geometry g = geometry_between(a, b, &config);
                cr_expect(geometry_fits(g, a, b), "rules %u: %u -> %u", rules, source, target);
                // Written out once more: every tap row stays within the padded source.
                const axis_geometry r = g.rows;
                cr_expect_eq((source + 2 * r.padding - r.kernel) / r.stride + 1, target);
            }
    }
}

// target = floor((source + 2 p - k) / s) + 1.
static const struct {
    uint32_t source, target;
    axis_geometry axis;
    bool is_right;
} fits[] = {
    {32, 16, {2, 2, 0}, true},  // floor(30 / 2) + 1
    {32, 16, {3, 2, 1}, true},  // floor(31 / 2) + 1
    {32, 16, {1, 2, 0}, true},  // floor(31 / 2) + 1
    {32, 16, {4, 2, 0}, false}, // 15
    {32, 17, {3, 2, 1}, false}, {28, 28, {5, 1, 2}, true},
    {28, 28, {4, 1, 2}, false}, {28, 11, {5, 3, 4}, true}, // floor(31 / 3) + 1
    {3, 12, {10, 1, 9}, true},  {3, 1, {5, 1, 0}, false},  // larger than the padded source
    {5, 5, {0, 1, 0}, false},   {5, 5, {1, 0, 0}, false},
    {5, 0, {6, 1, 0}, false},   {65536, 65536, {UINT32_MAX, 1, 1u << 31}, false},
};

Test(geometry, stored_geometry_is_checked_by_the_formula) {
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        const geometry tall = {fits[i].axis, {1, 1, 0}}, wide = {{1, 1, 0}, fits[i].axis};
        cr_expect_eq(
            geometry_fits(tall, (map_size){1, fits[i].source, 6}, (map_size){1, fits[i].target, 6}),
            fits[i].is_right, "row %zu, rows", i);
        cr_expect_eq(
            geometry_fits(wide, (map_size){1, 6, fits[i].source}, (map_size){1, 6, fits[i].target}),
            fits[i].is_right, "row %zu, columns", i);
    }
}

Test(geometry, largest_kernel_is_of_either_side) {
    cr_expect_eq(geometry_largest_kernel((geometry){{3, 1, 0}, {9, 1, 0}}), 9);
    cr_expect_eq(geometry_largest_kernel((geometry){{7, 1, 0}, {2, 1, 0}}), 7);
}
