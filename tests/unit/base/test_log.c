// test_log.c - who hears what.
#include "base/log.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct heard {
    int count;
    uint32_t level;
    char line[2048];
} heard;

static void listen(void *context, uint32_t level, const char *line) {
    heard *h = context;
    h->count++;
    h->level = level;
    snprintf(h->line, sizeof h->line, "%s", line);
}

Test(log, passes_lines_up_to_its_level) {
    heard h = {0};
    const log_sink log = {2, listen, &h};
    log_line(&log, 3, "too much");
    cr_expect_eq(h.count, 0);
    log_line(&log, 2, "%d of %s", 3, "four");
    cr_expect_eq(h.count, 1);
    cr_expect_eq(h.level, 2);
    cr_expect_str_eq(h.line, "3 of four");
    log_line(&log, 1, "more");
    cr_expect_eq(h.count, 2);
    cr_expect_eq(h.level, 1);
}

Test(log, cuts_a_line_that_is_too_long) {
    heard h = {0};
    const log_sink log = {1, listen, &h};
    log_line(&log, 1, "%*d", 5000, 1);
    const size_t length = strlen(h.line);
    cr_expect(length >= 500 && length < 2047, "%zu", length);
}

Test(log, needs_no_listener) {
    log_line(NULL, 0, "nobody");
}
