// test_services.c - what a plugin is given to talk to.
#include "plugin_host/services.h"

#include <criterion/criterion.h>
#include <string.h>

static void keep_line(void *context, uint32_t level, const char *line) {
    snprintf(context, 64, "%u %s", level, line);
}

Test(services, put_the_plugin_in_front_of_its_lines) {
    char line[64] = "";
    const log_sink log = {.level = HOX_LOG_WARNING, .write = keep_line, .context = line};
    services s;
    services_init(&s, &log, NULL, "mine");
    cr_expect_eq(s.host.struct_size, sizeof(hox_host));
    cr_expect_eq(s.host.log_level, HOX_LOG_WARNING);
    s.host.log(&s.host, HOX_LOG_INFO, "dropped");
    cr_expect_str_empty(line);
    s.host.log(&s.host, HOX_LOG_WARNING, "100% of it");
    cr_expect_str_eq(line, "2 mine: 100% of it");
    services_init(&s, NULL, NULL, "mine");
    cr_expect_eq(s.host.log_level, 0);
    s.host.log(&s.host, HOX_LOG_ERROR, "nobody listens");
}

Test(services, book_memory_in_the_ledger) {
    ledger *accounts = ledger_create(NULL);
    services s;
    services_init(&s, NULL, accounts, "mine");
    cr_assert_eq(ledger_set_budget(accounts, "cpu", 10, NULL), HOX_OK);
    cr_assert_eq(s.host.reserve(&s.host, "cpu", 8, NULL), HOX_OK);
    cr_expect_eq(ledger_used(accounts, "cpu"), 8);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(s.host.reserve(&s.host, "cpu", 3, &error), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(error.bytes_available, 2);
    s.host.release(&s.host, "cpu", 8);
    cr_expect_eq(ledger_used(accounts, "cpu"), 0);
    ledger_destroy(accounts);
}

// The known answers of Random123, kat_vectors, philox4x32 10.
Test(services, draw_by_philox4x32_10) {
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t words[4];
    } rows[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         UINT64_C(0x299f31d0a4093822),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    services s;
    services_init(&s, NULL, NULL, "mine");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t words[4];
        s.host.random(&s.host, rows[i].key, rows[i].counter, words);
        cr_expect_arr_eq(words, rows[i].words, sizeof words, "row %zu", i);
    }
}
