// test_memory_event.c - what people read about decisions on memory.
#include "evaluation/memory_event.h"

#include <criterion/criterion.h>
#include <string.h>

static const uint64_t MIB = UINT64_C(1) << 20;

Test(memory_event, names_are_there_and_distinct) {
    for (size_t i = 0; i < MEMORY_WHY_COUNT; i++) {
        cr_assert_not_null(memory_why_names[i], "reason %zu", i);
        cr_expect_str_not_empty(memory_why_names[i]);
        cr_expect_eq(strspn(memory_why_names[i], "abcdefghijklmnopqrstuvwxyz_"),
                     strlen(memory_why_names[i]), "%s", memory_why_names[i]);
        for (size_t k = 0; k < i; k++)
            cr_expect_str_neq(memory_why_names[i], memory_why_names[k]);
    }
}

Test(memory_event, reasons_of_its_own_follow_those_of_the_controller) {
    cr_expect_eq(MEMORY_ALONE, VRAM_REASON_COUNT);
    cr_expect_str_eq(memory_why_names[VRAM_KEPT], "kept");
    cr_expect_str_eq(memory_why_names[VRAM_FORMULA], "formula");
    cr_expect_str_eq(memory_why_names[VRAM_SHRUNK], "oom_shrunk");
    cr_expect_str_eq(memory_why_names[MEMORY_GENERATION], "generation");
}

static memory_event event_of(uint32_t why) {
    return (memory_event){.why = why,
                          .reading = {.total = 8 * MIB + MIB / 2, .free = 5 * MIB, .used = 3 * MIB},
                          .batch_before = 4093,
                          .batch_after = 2039,
                          .ceiling = 3001};
}

static void expect_words(const memory_event *e, const char *const *words) {
    char text[1024];
    memory_event_describe(e, text, sizeof text);
    cr_expect_null(strchr(text, '\n'), "one line: %s", text);
    for (; *words; words++)
        cr_expect(strstr(text, *words), "\"%s\" is not in: %s", *words, text);
}

// A split that is streamed is no decision on the batch.
Test(memory_event, every_decision_tells_why_and_batch_and_memory) {
    for (uint32_t why = 0; why < MEMORY_WHY_COUNT; why++) {
        const char *const words[] = {memory_why_names[why], "4093 -> 2039", "8.5 MiB",
                                     "5.0 MiB free",        "3.0 MiB used", NULL};
        const memory_event e = event_of(why);
        if (why != MEMORY_STREAMED) expect_words(&e, words);
    }
}

Test(memory_event, that_is_about_a_genome_tells_which_and_how_much_it_wanted) {
    static const uint32_t reasons[] = {VRAM_RETRY, VRAM_SHRUNK, VRAM_SET_ASIDE, MEMORY_ALONE};
    static const char *const words[] = {"genome 71933", "lane 17",   "1009 images",
                                        "640.5 MiB",    "117.0 MiB", NULL};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        memory_event e = event_of(reasons[i]);
        e.genome_id = 71933;
        e.lane = 17;
        e.tried = 1009;
        e.bytes_needed = 640 * MIB + MIB / 2;
        e.bytes_left = 117 * MIB;
        expect_words(&e, words);
    }
}

Test(memory_event, that_is_about_none_names_none) {
    for (uint32_t why = 0; why < MEMORY_WHY_COUNT; why++) {
        const memory_event e = event_of(why);
        char text[1024];
        memory_event_describe(&e, text, sizeof text);
        cr_expect_null(strstr(text, "genome "), "%s", text);
        cr_expect_null(strstr(text, "lane"), "%s", text);
    }
}

Test(memory_event, streamed_split_tells_what_it_would_have_taken) {
    static const char *const words[] = {"700.5 MiB", "5.0 MiB", NULL};
    memory_event e = event_of(MEMORY_STREAMED);
    e.bytes_needed = 700 * MIB + MIB / 2;
    e.bytes_left = 5 * MIB;
    expect_words(&e, words);
}

Test(memory_event, generation_tells_how_the_caches_did) {
    static const char *const words[] = {"1201 hits", "1301 prepared", "1409 released",
                                        "1511 kept", "77.0 MiB",      NULL};
    memory_event e = event_of(MEMORY_GENERATION);
    e.runners =
        (runner_statistics){.hits = 1201, .prepares = 1301, .evictions = 1409, .bytes = 77 * MIB};
    e.runner_count = 1511;
    expect_words(&e, words);
}

Test(memory_event, bytes_come_in_units_that_people_read) {
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, " 0 bytes"},
        {1023, " 1023 bytes"},
        {1024, " 1.0 KiB"},
        {1536, " 1.5 KiB"},
        {UINT64_C(1) << 20, " 1.0 MiB"},
        {UINT64_C(1) << 30, " 1.0 GiB"},
        {UINT64_C(1) << 40, " 1.0 TiB"},
        {UINT64_C(1) << 50, " 1.0 PiB"},
        {UINT64_C(1) << 60, " 1.0 EiB"},
        {UINT64_MAX, " 16.0 EiB"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const words[] = {rows[i].text, NULL};
        const memory_event e = {.why = VRAM_KEPT, .reading = {.used = rows[i].bytes}};
        expect_words(&e, words);
    }
}

// All numbers as long as they can be.
static memory_event longest_event(uint32_t why, uint64_t genome_id) {
    return (memory_event){.why = why,
                          .reading = {UINT64_MAX, UINT64_MAX, UINT64_MAX},
                          .batch_before = UINT64_MAX,
                          .batch_after = UINT64_MAX,
                          .ceiling = UINT64_MAX,
                          .genome_id = genome_id,
                          .lane = UINT32_MAX,
                          .tried = genome_id ? UINT64_MAX : 0,
                          .bytes_needed = UINT64_MAX,
                          .bytes_left = UINT64_MAX,
                          .runners = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
                          .runner_count = UINT64_MAX,
                          .peak_bytes = UINT64_MAX};
}

// Of any size: as much as there is room for, ended by a 0, and not a byte beside it.
static void expect_no_overflow(const memory_event *e) {
    char whole[1024], room[1024];
    memory_event_describe(e, whole, sizeof whole);
    const size_t length = strlen(whole);
    cr_assert_lt(length, sizeof whole - 1, "the room is meant to do");
    for (size_t size = 0; size <= length + 2; size++) {
        const size_t most = size > length ? length : size > 0 ? size - 1 : 0;
        memset(room, '#', sizeof room);
        memory_event_describe(e, room, size);
        cr_expect_eq(memcmp(room, whole, most), 0, "%zu bytes", size);
        if (size > 0) cr_expect_eq(room[most], 0, "%zu bytes", size);
        for (size_t i = size; i < sizeof room; i++)
            cr_assert_eq(room[i], '#', "%zu bytes: byte %zu", size, i);
    }
}

Test(memory_event, small_buffers_do_not_overflow) {
    for (uint32_t why = 0; why < MEMORY_WHY_COUNT; why++)
        for (uint64_t genome_id = 0; genome_id < 2; genome_id++) {
            const memory_event e = longest_event(why, genome_id ? UINT64_MAX : 0);
            expect_no_overflow(&e);
        }
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

// What lanes log into (512 bytes) holds the longest line whole.
Test(memory_event, longest_numbers_are_told_whole) {
    static const struct {
        uint32_t why;
        uint64_t genome_id;
        int sizes, numbers; // at least
    } rows[] = {
        {VRAM_SHRUNK, UINT64_MAX, 5, 4},  // total, free, used, needed, left; B twice, id, tried
        {MEMORY_ALONE, UINT64_MAX, 5, 4}, // likewise
        {MEMORY_STREAMED, 0, 2, 0},       // needed, left
        {MEMORY_GENERATION, 0, 4, 6},     // total, free, used, kept; B twice and four of runners
        {VRAM_RECOVERED, 0, 3, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const memory_event e = longest_event(rows[i].why, rows[i].genome_id);
        char text[512];
        memory_event_describe(&e, text, sizeof text);
        cr_expect_lt(strlen(text), sizeof text - 1);
        cr_expect_geq(count_of(text, "16.0 EiB"), rows[i].sizes, "%s", text);
        cr_expect_geq(count_of(text, "18446744073709551615"), rows[i].numbers, "%s", text);
    }
}
