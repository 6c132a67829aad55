// test_select.c - how many become parents.
#include "evolution/select.h"

#include <criterion/criterion.h>

static const struct {
    size_t count;
    double survival;
    size_t parents;
} rows[] = {
    {128, 0.20, 25},               // floor(25.6)
    {10, 0.5, 5},    {7, 0.20, 2}, // floor(1.4), but at least 2
    {100, 0.0, 2},   {100, 1.0, 100}, {3, 0.20, 2}, {2, 0.20, 2}, {1, 0.20, 1}, {1, 1.0, 1},
};

Test(select, takes_the_share_at_least_2_at_most_all) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_eq(select_parent_count(rows[i].count, rows[i].survival), rows[i].parents,
                     "%zu at %g: %zu", rows[i].count, rows[i].survival,
                     select_parent_count(rows[i].count, rows[i].survival));
}
