// test_ledger.c - what is booked, what is refused, and that a refusal says how much.
#include "plugin_host/ledger.h"

#include <criterion/criterion.h>
#include <string.h>

Test(ledger, books_each_device_apart) {
    ledger *l = ledger_create(NULL);
    cr_assert_eq(ledger_reserve(l, "cpu", 100, NULL), HOX_OK);
    cr_assert_eq(ledger_reserve(l, "cuda:0", 7, NULL), HOX_OK);
    cr_assert_eq(ledger_reserve(l, "cpu", 50, NULL), HOX_OK);
    ledger_release(l, "cpu", 120);
    cr_assert_eq(ledger_reserve(l, "cpu", 10, NULL), HOX_OK);
    cr_expect_eq(ledger_used(l, "cpu"), 40);
    cr_expect_eq(ledger_peak(l, "cpu"), 150);
    cr_expect_eq(ledger_used(l, "cuda:0"), 7);
    cr_expect_eq(ledger_peak(l, "cuda:0"), 7);
    cr_expect_eq(ledger_used(l, "cuda:1"), 0);
    ledger_destroy(l);
    ledger_destroy(NULL);
}

Test(ledger, refuses_over_the_budget_and_says_by_how_much) {
    ledger *l = ledger_create(NULL);
    cr_assert_eq(ledger_set_budget(l, "cpu", 100, NULL), HOX_OK);
    cr_assert_eq(ledger_reserve(l, "cpu", 60, NULL), HOX_OK);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(ledger_reserve(l, "cpu", 41, &error), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(error.status, HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(error.bytes_requested, 41);
    cr_expect_eq(error.bytes_available, 40);
    cr_expect_str_eq(error.message, "out of memory on cpu: 41 bytes needed, 40 of 100 left");
    cr_expect_eq(ledger_used(l, "cpu"), 60, "a refusal books nothing");
    cr_expect_eq(ledger_peak(l, "cpu"), 60);
    cr_expect_eq(ledger_reserve(l, "cpu", UINT64_MAX, NULL), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(ledger_reserve(l, "cpu", 40, NULL), HOX_OK);
    cr_expect_eq(ledger_reserve(l, "cpu", 1, NULL), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(ledger_reserve(l, "cpu", 0, NULL), HOX_OK);
    cr_expect_eq(ledger_reserve(l, "cuda:0", UINT64_C(1) << 40, NULL), HOX_OK, "no budget there");
    ledger_destroy(l);
}

Test(ledger, keeps_the_first_message) {
    ledger *l = ledger_create(NULL);
    cr_assert_eq(ledger_set_budget(l, "cpu", 1, NULL), HOX_OK);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(ledger_reserve(l, "cpu", 5, &error), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(ledger_reserve(l, "cpu", 9, &error), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(error.bytes_requested, 5);
    cr_expect(strstr(error.message, "5 bytes"), "%s", error.message);
    ledger_destroy(l);
}

Test(ledger, lets_a_budget_shrink_below_what_is_used) {
    ledger *l = ledger_create(NULL);
    cr_assert_eq(ledger_reserve(l, "cpu", 60, NULL), HOX_OK);
    cr_assert_eq(ledger_set_budget(l, "cpu", 50, NULL), HOX_OK);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(ledger_reserve(l, "cpu", 1, &error), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(error.bytes_available, 0);
    ledger_release(l, "cpu", 20);
    cr_expect_eq(ledger_reserve(l, "cpu", 10, NULL), HOX_OK);
    cr_assert_eq(ledger_set_budget(l, "cpu", UINT64_MAX, NULL), HOX_OK);
    cr_expect_eq(ledger_reserve(l, "cpu", UINT64_C(1) << 50, NULL), HOX_OK);
    ledger_destroy(l);
}

// A plugin may lie; the account must not wrap.
Test(ledger, never_falls_below_zero) {
    ledger *l = ledger_create(NULL);
    ledger_release(l, "cpu", 5);
    cr_assert_eq(ledger_reserve(l, "cpu", 5, NULL), HOX_OK);
    ledger_release(l, "cpu", 6);
    cr_expect_eq(ledger_used(l, "cpu"), 0);
    ledger_destroy(l);
}
