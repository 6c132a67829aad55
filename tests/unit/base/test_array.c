// test_array.c - growth that keeps what is there and does not copy it each time.
#include "base/array.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(array, grows_and_keeps_what_is_there) {
    uint64_t *items = NULL;
    size_t capacity = 0, growth_count = 0;
    for (size_t i = 0; i < 100000; i++) {
        const size_t before = capacity;
        items = array_grow(items, &capacity, i + 1, sizeof *items, NULL);
        cr_assert_not_null(items);
        cr_assert_gt(capacity, i);
        growth_count += capacity != before;
        items[i] = i * i;
    }
    for (size_t i = 0; i < 100000; i++)
        cr_assert_eq(items[i], i * i);
    cr_expect_lt(growth_count, 40, "%zu times", growth_count);
    free(items);
}

Test(array, grows_to_what_is_needed_at_once_and_never_shrinks) {
    size_t capacity = 0;
    char *items = array_grow(NULL, &capacity, 1000, 3, NULL);
    cr_assert_geq(capacity, 1000);
    const size_t before = capacity;
    cr_expect_eq(array_grow(items, &capacity, 5, 3, NULL), items);
    cr_expect_eq(array_grow(items, &capacity, before, 3, NULL), items);
    cr_expect_eq(capacity, before);
    items[3 * capacity - 1] = 1;
    free(items);
}

Test(array, create_gives_zeros_and_takes_0) {
    uint32_t *items = array_create(1000, sizeof *items, NULL);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(items[i], 0);
    free(items);
    void *none = array_create(0, 8, NULL);
    cr_expect_not_null(none);
    free(none);
}
