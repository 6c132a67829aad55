// test_vram_controller.c - the batch against the worked values of SPEC 3 and tables made by hand.
#include "evaluation/vram_controller.h"
#include "plan/plan.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static const vram_reading plenty = {.total = UINT64_C(1) << 40, .free = UINT64_C(1) << 40};
static const vram_reading over = {.total = 1000, .free = 100, .used = 900};
static const vram_demand small_demand = {.lane_count = 1, .per_sample = 1};

// No threshold, no reserve, all free memory.
static vram_settings settings_of(uint64_t most, uint64_t lower_bound) {
    return (vram_settings){.batch_most = most,
                           .batch_least = 1,
                           .lower_bound = lower_bound,
                           .fraction = 1.0,
                           .is_adaptive = true};
}

// ---- the attempts of one genome ----

enum { MOST_ATTEMPTS = 32 };

typedef struct trial {
    uint64_t attempts[MOST_ATTEMPTS];
    size_t count;
    bool succeeds;
} trial;

// What is given at once works where it is at most largest; trimming frees the bytes, or does not.
static trial try_genome(vram_controller *c, uint64_t largest, bool fits) {
    trial t = {.count = 0};
    vram_ladder ladder = {0};
    while (t.count < MOST_ATTEMPTS) {
        const uint64_t tried = c->state.batch;
        t.attempts[t.count++] = tried;
        t.succeeds = tried <= largest;
        if (t.succeeds) return t;
        const vram_decision d = vram_out_of_memory(c, &ladder, tried, fits);
        cr_expect_eq(d.before, tried);
        cr_expect_eq(d.after, c->state.batch);
        cr_expect_leq(d.after, d.before, "the batch never rises");
        if (d.reason == VRAM_SET_ASIDE) return t;
        cr_expect_eq(d.reason, d.after < d.before ? VRAM_SHRUNK : VRAM_RETRY);
    }
    cr_assert_fail("the ladder has no end");
    return t;
}

// ---- the worked values ----

static const struct {
    const char *name;
    char id_letter;
} sections[] = {{"size", 'V'}, {"oom", 'O'}, {"threshold", 'T'}, {"sample", 'G'}};
enum { SECTION_COUNT = sizeof sections / sizeof *sections };

static json_t *load_cases(void) {
    json_error_t where;
    json_t *cases =
        json_load_file(HOX_GOLDEN_DIR "/vram_cases.json", JSON_REJECT_DUPLICATES, &where);
    cr_assert_not_null(cases, "%s", where.text);
    return cases;
}

// Borrowed from cases.
static const json_t *rows_of(const json_t *cases, const char *section) {
    const json_t *rows = json_object_get(cases, section);
    cr_assert_gt(json_array_size(rows), 0, "%s has no rows", section);
    return rows;
}

// The section of that name, SECTION_COUNT where none has it.
static size_t section_of(const char *name, size_t length) {
    size_t i = 0;
    while (i < SECTION_COUNT &&
           (strlen(sections[i].name) != length || strncmp(sections[i].name, name, length) != 0))
        i++;
    return i;
}

// The note tells of a section as "name: ".
static void expect_note_of_known_sections(const char *note) {
    cr_assert_not_null(note);
    for (const char *colon = strchr(note, ':'); colon; colon = strchr(colon + 1, ':')) {
        const char *begin = colon;
        while (begin > note && !isspace((unsigned char)begin[-1]))
            begin--;
        const size_t length = (size_t)(colon - begin);
        cr_expect_lt(section_of(begin, length), SECTION_COUNT, "note: unknown section %.*s",
                     (int)length, begin);
    }
}

static void expect_known_ids(const json_t *rows, char letter) {
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) {
        const char *id = json_string_value(json_object_get(row, "id"));
        cr_assert_not_null(id, "row %zu of the section of %c", i, letter);
        cr_expect_eq(id[0], letter, "%s", id);
        for (size_t k = 0; k < i; k++) {
            const json_t *other = json_array_get(rows, k);
            cr_expect_str_neq(json_string_value(json_object_get(other, "id")), id);
        }
    }
}

Test(vram_controller, knows_all_sections_of_the_worked_values) {
    json_t *cases = load_cases();
    const char *key;
    json_t *value;
    json_object_foreach(cases, key, value) {
        if (strcmp(key, "note") == 0) {
            expect_note_of_known_sections(json_string_value(value));
            continue;
        }
        const size_t section = section_of(key, strlen(key));
        cr_assert_lt(section, SECTION_COUNT, "unknown section %s", key);
        expect_known_ids(rows_of(cases, key), sections[section].id_letter);
    }
    for (size_t i = 0; i < SECTION_COUNT; i++)
        rows_of(cases, sections[i].name);
    json_decref(cases);
}

// Members that are not in the format are an error, as are missing ones.
#define UNPACK(row, ...)                                                                           \
    do {                                                                                           \
        json_error_t unpack_error;                                                                 \
        cr_assert_eq(json_unpack_ex((json_t *)(row), &unpack_error, 0, __VA_ARGS__), 0, "%s: %s",  \
                     json_string_value(json_object_get(row, "id")), unpack_error.text);            \
    } while (0)

Test(vram_controller, formula_gives_the_worked_batches) {
    json_t *cases = load_cases();
    size_t i;
    const json_t *row;
    json_array_foreach(rows_of(cases, "size"), i, row) {
        const char *id, *note;
        json_int_t free_bytes, reserve, per_sample, cap, least, batch;
        double alpha;
        UNPACK(row, "{s:s, s:I, s:F, s:I, s:I, s:I, s:I, s:I, s?s !}", "id", &id, "free",
               &free_bytes, "alpha", &alpha, "reserve", &reserve, "bytes_per_sample", &per_sample,
               "cap", &cap, "min", &least, "batch", &batch, "note", &note);
        const vram_settings settings = {.batch_most = (uint64_t)cap,
                                        .batch_least = (uint64_t)least,
                                        .lower_bound = (uint64_t)least,
                                        .fraction = alpha,
                                        .reserve_bytes = (uint64_t)reserve,
                                        .is_adaptive = true};
        const vram_reading reading = {.total = (uint64_t)free_bytes, .free = (uint64_t)free_bytes};
        const vram_demand demand = {.lane_count = 1, .per_sample = (uint64_t)per_sample};
        vram_controller c = vram_controller_make(&settings);
        const vram_decision d = vram_before_generation(&c, &reading, &demand);
        cr_expect_eq(d.after, (uint64_t)batch, "%s: %" PRIu64, id, d.after);
        cr_expect_eq(c.state.batch, (uint64_t)batch, "%s", id);
    }
    json_decref(cases);
}

static void expect_attempts(const char *id, const trial *t, const json_t *attempts, bool succeeds) {
    size_t i;
    const json_t *attempt;
    cr_expect_eq(t->succeeds, succeeds, "%s", id);
    cr_assert_eq(t->count, json_array_size(attempts), "%s: %zu attempts", id, t->count);
    json_array_foreach(attempts, i, attempt) {
        cr_assert(json_is_integer(attempt), "%s", id);
        cr_expect_eq(t->attempts[i], (uint64_t)json_integer_value(attempt),
                     "%s: attempt %zu is %" PRIu64, id, i, t->attempts[i]);
    }
}

Test(vram_controller, ladder_makes_the_worked_attempts) {
    json_t *cases = load_cases();
    size_t i;
    const json_t *row;
    json_array_foreach(rows_of(cases, "oom"), i, row) {
        const char *id;
        json_int_t start, bound, largest;
        const json_t *attempts;
        int succeeds;
        UNPACK(row, "{s:s, s:I, s:I, s:I, s:o, s:b !}", "id", &id, "start", &start, "lower_bound",
               &bound, "largest_that_fits", &largest, "attempts", &attempts, "succeeds", &succeeds);
        for (int is_adaptive = 0; is_adaptive < 2; is_adaptive++) {
            vram_settings settings = settings_of((uint64_t)start, (uint64_t)bound);
            settings.is_adaptive = is_adaptive;
            vram_controller c = vram_controller_make(&settings);
            const trial t = try_genome(&c, (uint64_t)largest, false);
            expect_attempts(id, &t, attempts, succeeds);
        }
    }
    json_decref(cases);
}

static void expect_batches(const char *id, vram_controller *c, bool is_largest_known,
                           const json_t *readings, const json_t *batches) {
    size_t i;
    const json_t *batch;
    cr_assert_eq(json_array_size(readings), json_array_size(batches), "%s", id);
    json_array_foreach(batches, i, batch) {
        json_int_t used, total;
        cr_assert_eq(json_unpack(json_array_get(readings, i), "[I, I !]", &used, &total), 0, "%s",
                     id);
        const vram_reading reading = {
            .total = (uint64_t)total, .free = (uint64_t)(total - used), .used = (uint64_t)used};
        const vram_decision d =
            vram_after_generation(c, &reading, is_largest_known ? c->state.batch : 0);
        cr_assert(json_is_integer(batch), "%s", id);
        cr_expect_eq(c->state.batch, (uint64_t)json_integer_value(batch),
                     "%s: generation %zu: %" PRIu64, id, i, c->state.batch);
        cr_expect_eq(d.after, c->state.batch, "%s", id);
        cr_expect_eq(d.reason, d.after < d.before ? VRAM_THRESHOLD : VRAM_KEPT, "%s", id);
    }
}

Test(vram_controller, threshold_gives_the_worked_batches) {
    json_t *cases = load_cases();
    size_t i;
    const json_t *row;
    json_array_foreach(rows_of(cases, "threshold"), i, row) {
        const char *id;
        json_int_t start, bound;
        const json_t *readings, *batches;
        double threshold;
        UNPACK(row, "{s:s, s:o, s:F, s:I, s:I, s:o !}", "id", &id, "used_total", &readings,
               "threshold", &threshold, "start", &start, "lower_bound", &bound, "batch_after",
               &batches);
        for (int is_largest_known = 0; is_largest_known < 2; is_largest_known++) {
            vram_settings settings = settings_of((uint64_t)start, (uint64_t)bound);
            settings.threshold = threshold;
            vram_controller c = vram_controller_make(&settings);
            expect_batches(id, &c, is_largest_known, readings, batches);
        }
    }
    json_decref(cases);
}

enum { MOST_NODES = 1024 };

static uint64_t sample_bytes(const char *id, const json_t *sizes) {
    static uint32_t channels[MOST_NODES], heights[MOST_NODES], widths[MOST_NODES];
    size_t i;
    json_t *size;
    cr_assert_gt(json_array_size(sizes), 0, "%s", id);
    cr_assert_leq(json_array_size(sizes), MOST_NODES, "%s", id);
    json_array_foreach(sizes, i, size) {
        int height, width;
        cr_assert_eq(json_unpack(size, "[i, i !]", &height, &width), 0, "%s", id);
        channels[i] = 3;
        heights[i] = (uint32_t)height;
        widths[i] = (uint32_t)width;
    }
    uint64_t bytes = 0;
    cr_assert(plan_bytes_per_sample(channels, heights, widths, json_array_size(sizes), &bytes),
              "%s", id);
    return bytes;
}

Test(vram_controller, samples_take_the_worked_bytes) {
    json_t *cases = load_cases();
    size_t i;
    const json_t *row;
    json_array_foreach(rows_of(cases, "sample"), i, row) {
        const char *id;
        const json_t *sizes;
        json_int_t bytes;
        UNPACK(row, "{s:s, s:o, s:I !}", "id", &id, "executed_nodes_hw", &sizes, "bytes_per_sample",
               &bytes);
        const uint64_t found = sample_bytes(id, sizes);
        cr_expect_eq(found, (uint64_t)bytes, "%s: %" PRIu64, id, found);
    }
    json_decref(cases);
}

// ---- the formula ----

// Case C01: noise made an estimate negative, and unsigned arithmetic made 4096 of it.
Test(vram_controller, negative_numerator_is_the_least_batch_and_one_warning) {
    const vram_settings settings = {.batch_most = 4096,
                                    .batch_least = 16,
                                    .lower_bound = 16,
                                    .fraction = 0.8,
                                    .reserve_bytes = 268435456,
                                    .is_adaptive = true};
    const vram_reading reading = {.total = 104857600, .free = 104857600};
    const vram_demand demand = {.lane_count = 1, .per_sample = 16588};
    vram_controller c = vram_controller_make(&settings);
    cr_expect_eq(vram_share(&settings, &reading, 1), -184549376);
    for (int generation = 0; generation < 100; generation++) {
        const vram_decision before = vram_before_generation(&c, &reading, &demand);
        cr_expect_eq(before.after, 16);
        cr_expect_eq(before.warnings, generation == 0 ? VRAM_WARN_NOTHING_LEFT : 0);
        cr_expect_eq(before.reason, generation == 0 ? VRAM_FORMULA : VRAM_KEPT);
        const vram_decision after = vram_after_generation(&c, &reading, 16);
        cr_expect_eq(after.after, 16);
        cr_expect_eq(after.warnings, 0);
    }
}

#define ALL UINT64_MAX
enum {
    NOTHING = VRAM_WARN_NOTHING_LEFT,
    CLAMPED = VRAM_WARN_FREE_CLAMPED,
    UNKNOWN = VRAM_WARN_UNKNOWN_TOTAL
};

static const struct {
    const char *what;
    uint64_t most, least;
    double fraction, threshold;
    uint64_t reserve;
    vram_reading reading; // total, free, used
    vram_demand demand;   // lanes, fixed, per sample
    uint64_t batch;
    uint32_t warnings;
} formula_rows[] = {
    {"cap wins over least", 64, 256, 1, 0, 0, {9999, 9999, 0}, {1, 0, 1}, 64, 0},
    {"and over nothing", 64, 256, 1, 0, 0, {9999, 0, 9999}, {1, 0, 1}, 64, NOTHING},
    {"500.5", 5000, 1, 0.5, 0, 0, {2000, 1001, 0}, {1, 0, 1}, 500, 0},
    {"600 / 7 = 85.7", 5000, 1, 1, 0, 400, {2000, 1000, 0}, {1, 0, 7}, 85, 0},
    // floor(1000 / 3) - 33 = 300, and not (1000 - 33) / 3 = 322
    {"three lanes", 5000, 1, 1, 0, 0, {2000, 1000, 0}, {3, 33, 7}, 42, 0},
    {"fixed fills the share", 5000, 3, 1, 0, 0, {2000, 1001, 0}, {2, 500, 1}, 3, NOTHING},
    {"but for a byte", 5000, 1, 1, 0, 0, {2000, 1002, 0}, {2, 500, 1}, 1, 0},
    {"less than a sample", 5000, 9, 1, 0, 0, {2000, 1000, 0}, {1, 0, 1001}, 9, 0},
    // min(4000 - 1000, 12000 - 8000) / 2 - 300 = 1200
    {"alpha's term", 5000, 1, 0.5, 0.75, 1000, {16000, 8000, 8000}, {2, 300, 100}, 12, 0},
    // min(6000 - 1000, 12000 - 10000) / 2 - 300 = 700
    {"threshold's term", 5000, 1, 1, 0.75, 1000, {16000, 6000, 10000}, {2, 300, 100}, 7, 0},
    // 5000 / 2 - 300 = 2200
    {"threshold off", 5000, 1, 1, 0, 1000, {16000, 6000, 10000}, {2, 300, 100}, 22, 0},
    {"no total", 5000, 1, 1, 0.75, 1000, {0, 6000, 10000}, {2, 300, 100}, 22, UNKNOWN},
    {"500.5 - 100", 5000, 1, 1, 0.5, 0, {1001, 901, 100}, {1, 0, 1}, 400, 0},
    {"at the threshold", 5000, 5, 1, 0.75, 0, {16000, 4000, 12000}, {1, 0, 1}, 5, NOTHING},
    {"above it", 5000, 5, 1, 0.75, 0, {16000, 3999, 12001}, {2, 0, 1}, 5, NOTHING},
    {"samples of nothing", 5000, 5, 1, 0, 0, {2000, 1, 0}, {1, 0, 0}, 5000, 0},
    {"nothing for them", 5000, 5, 1, 0, 0, {2000, 0, 2000}, {1, 0, 0}, 5, NOTHING},
    {"free above total", 5000, 1, 1, 0, 0, {1000, 1001, 0}, {1, 0, 1}, 1000, CLAMPED},
    {"free is total", 5000, 1, 1, 0, 0, {1000, 1000, 0}, {1, 0, 1}, 1000, 0},
    {"no total, no clamp", 5000, 1, 1, 0, 0, {0, 1001, 0}, {1, 0, 1}, 1001, 0},
    // 2^53 + 1 is no double; 2^63 and more is no signed number
    {"2^53", ALL, 1, 1, 0, 0, {ALL, 9007199254740993, 0}, {1, 0, 1}, 9007199254740992, 0},
    {"2^64", ALL, 1, 1, 0, 0, {ALL, ALL, 0}, {1, 0, 1}, INT64_MAX, 0},
    {"2^63", ALL, 1, 0.5, 0, 0, {ALL, ALL, 0}, {1, 0, 1}, INT64_MAX, 0},
    {"2^62", ALL, 1, 0.25, 0, 0, {ALL, ALL, 0}, {1, 0, 1}, UINT64_C(1) << 62, 0},
    {"huge sample", ALL, 7, 1, 0, 0, {ALL, ALL, 0}, {1, 0, ALL}, 7, 0},
    {"huge reserve", 5000, 7, 1, 0, ALL, {2000, 1000, 0}, {1, 0, 1}, 7, NOTHING},
    {"huge fixed", 5000, 7, 1, 0, 0, {2000, 1000, 0}, {1, ALL, 1}, 7, NOTHING},
    {"huge used", 5000, 7, 1, 1, 0, {1, 1, ALL}, {1, 0, 1}, 7, NOTHING},
    {"all is huge", ALL, ALL, 1, 1, ALL, {ALL, ALL, ALL}, {UINT32_MAX, ALL, ALL}, ALL, NOTHING},
};

Test(vram_controller, formula_gives_what_the_table_says) {
    for (size_t i = 0; i < sizeof formula_rows / sizeof *formula_rows; i++) {
        const char *what = formula_rows[i].what;
        const vram_settings settings = {.batch_most = formula_rows[i].most,
                                        .batch_least = formula_rows[i].least,
                                        .lower_bound = formula_rows[i].least,
                                        .fraction = formula_rows[i].fraction,
                                        .threshold = formula_rows[i].threshold,
                                        .reserve_bytes = formula_rows[i].reserve,
                                        .is_adaptive = true};
        vram_controller c = vram_controller_make(&settings);
        cr_expect_eq(c.state.batch, settings.batch_most, "%s", what);
        const vram_decision d =
            vram_before_generation(&c, &formula_rows[i].reading, &formula_rows[i].demand);
        cr_expect_eq(d.after, formula_rows[i].batch, "%s: %" PRIu64, what, d.after);
        cr_expect_eq(c.state.batch, d.after, "%s", what);
        cr_expect_eq(d.before, settings.batch_most, "%s", what);
        cr_expect_eq(d.reason, d.after == d.before ? VRAM_KEPT : VRAM_FORMULA, "%s", what);
        cr_expect_eq(d.warnings, formula_rows[i].warnings, "%s: %u", what, d.warnings);
        cr_expect_eq(d.reading.total, formula_rows[i].reading.total, "%s", what);
        cr_expect_eq(d.reading.used, formula_rows[i].reading.used, "%s", what);
    }
}

// The largest reserve that settings allow, and one lane's fixed bytes besides: what is left lies
// below -2^63. It is nothing, as it is without the fixed bytes.
Test(vram_controller, numerator_below_64_bits_is_the_least_batch) {
    static const uint64_t fixed[] = {0, 1, 2, 1000, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        for (uint64_t per_sample = 0; per_sample < 2; per_sample++) {
            vram_settings settings = settings_of(4096, 16);
            settings.batch_least = 16;
            settings.reserve_bytes = INT64_MAX;
            vram_controller c = vram_controller_make(&settings);
            const vram_reading full = {.total = 1000, .used = 1000};
            const vram_demand demand = {
                .lane_count = 1, .fixed = fixed[i], .per_sample = per_sample};
            const vram_decision d = vram_before_generation(&c, &full, &demand);
            cr_expect_eq(d.after, 16, "fixed %" PRIu64 ": %" PRIu64, fixed[i], d.after);
            cr_expect_eq(d.warnings, VRAM_WARN_NOTHING_LEFT, "fixed %" PRIu64, fixed[i]);
        }
}

Test(vram_controller, share_is_what_one_lane_may_fill) {
    static const struct {
        vram_settings settings;
        vram_reading reading;
        uint32_t lane_count;
        int64_t share;
    } rows[] = {
        {{.fraction = 1}, {2000, 1000, 0}, 1, 1000},
        {{.fraction = 1}, {2000, 1000, 0}, 3, 333},
        {{.fraction = 1}, {2000, 1000, 0}, 1001, 0},
        {{.fraction = 0.5, .reserve_bytes = 100}, {2000, 1000, 0}, 4, 100},
        {{.fraction = 1, .threshold = 0.5}, {2000, 1000, 900}, 1, 100},
        {{.fraction = 1, .threshold = 0.5}, {2000, 1000, 1000}, 1, 0},
        {{.fraction = 1, .threshold = 0.5}, {2000, 1000, 1100}, 1, -100},
        {{.fraction = 1, .threshold = 0.5}, {0, 1000, 1100}, 1, 1000},
        {{.fraction = 1, .reserve_bytes = 1500}, {2000, 1000, 0}, 5, -100},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_eq(vram_share(&rows[i].settings, &rows[i].reading, rows[i].lane_count),
                     rows[i].share, "row %zu", i);
}

Test(vram_controller, formula_follows_free_memory_up_and_down) {
    static const uint64_t free_bytes[] = {700, 100, 5000, 0, 64, 64};
    static const uint64_t batches[] = {700, 100, 1000, 1, 64, 64};
    const vram_settings settings = settings_of(1000, 16);
    vram_controller c = vram_controller_make(&settings);
    uint64_t before = 1000;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        const vram_reading reading = {.total = 5000, .free = free_bytes[i]};
        const vram_decision d = vram_before_generation(&c, &reading, &small_demand);
        cr_expect_eq(d.before, before);
        cr_expect_eq(d.after, batches[i], "%zu: %" PRIu64, i, d.after);
        cr_expect_eq(d.reason, before == batches[i] ? VRAM_KEPT : VRAM_FORMULA);
        before = batches[i];
    }
}

Test(vram_controller, that_is_not_adaptive_starts_at_the_cap_and_only_shrinks) {
    static const vram_reading nothing = {.total = 1000, .free = 0, .used = 500};
    vram_settings settings = settings_of(1024, 16);
    settings.is_adaptive = false;
    settings.threshold = 0.72;
    settings.recovery_generations = 1;
    vram_controller c = vram_controller_make(&settings);
    vram_decision d = vram_before_generation(&c, &nothing, &small_demand);
    cr_expect_eq(d.after, 1024);
    cr_expect_eq(d.reason, VRAM_KEPT);
    cr_expect_eq(d.warnings, 0, "the formula is not asked, so it does not warn");
    cr_expect_eq(d.reading.used, 500);
    vram_after_generation(&c, &over, 0);
    cr_expect_eq(c.state.batch, 512);
    vram_out_of_memory(&c, &(vram_ladder){0}, 512, false);
    for (int generation = 0; generation < 50; generation++) {
        d = vram_before_generation(&c, &plenty, &small_demand);
        cr_expect_eq(d.after, 256);
        cr_expect_eq(d.reason, VRAM_KEPT);
        d = vram_after_generation(&c, &plenty, 256);
        cr_expect_eq(d.after, 256);
        cr_expect_eq(d.reason, VRAM_KEPT);
    }
    cr_expect_eq(c.state.batch, 256);
    cr_expect_leq(c.state.ceiling, 1024);
}

// ---- warnings ----

// Before and after a generation; the warnings of both.
static uint32_t warnings_of(vram_controller *c, const vram_reading *reading) {
    const uint32_t before = vram_before_generation(c, reading, &small_demand).warnings;
    const uint32_t after = vram_after_generation(c, reading, 0).warnings;
    cr_expect_eq(before & after, 0);
    return before | after;
}

Test(vram_controller, unknown_total_switches_the_threshold_off_with_one_warning) {
    static const vram_reading unknown = {.free = 100, .used = UINT64_MAX};
    for (int is_adaptive = 0; is_adaptive < 2; is_adaptive++) {
        vram_settings settings = settings_of(64, 16);
        settings.is_adaptive = is_adaptive;
        settings.threshold = 0.5;
        vram_controller c = vram_controller_make(&settings);
        for (int generation = 0; generation < 20; generation++) {
            cr_expect_eq(warnings_of(&c, &unknown), generation == 0 ? VRAM_WARN_UNKNOWN_TOTAL : 0);
            cr_expect_eq(c.state.batch, 64);
        }
    }
}

Test(vram_controller, unknown_total_is_no_warning_without_a_threshold) {
    static const vram_reading unknown = {.free = 100, .used = UINT64_MAX};
    const vram_settings settings = settings_of(64, 16);
    vram_controller c = vram_controller_make(&settings);
    cr_expect_eq(warnings_of(&c, &unknown), 0);
}

Test(vram_controller, free_above_total_is_clamped_with_one_warning) {
    static const vram_reading odd = {.total = 1000, .free = UINT64_MAX, .used = 3};
    for (int is_adaptive = 0; is_adaptive < 2; is_adaptive++) {
        vram_settings settings = settings_of(5000, 16);
        settings.is_adaptive = is_adaptive;
        vram_controller c = vram_controller_make(&settings);
        for (int generation = 0; generation < 20; generation++) {
            const vram_decision before = vram_before_generation(&c, &odd, &small_demand);
            cr_expect_eq(before.warnings, generation == 0 ? VRAM_WARN_FREE_CLAMPED : 0);
            cr_expect_eq(before.after, is_adaptive ? 1000 : 5000);
            const vram_decision after = vram_after_generation(&c, &odd, 0);
            cr_expect_eq(after.warnings, 0);
            for (int k = 0; k < 2; k++) {
                const vram_reading *told = k ? &after.reading : &before.reading;
                cr_expect_eq(told->total, 1000);
                cr_expect_eq(told->free, 1000);
                cr_expect_eq(told->used, 3);
            }
        }
    }
}

Test(vram_controller, one_warning_does_not_silence_another) {
    static const vram_reading odd = {.total = 1000, .free = 2000}, unknown = {.free = 5},
                              empty = {.total = 1000};
    vram_settings settings = settings_of(64, 16);
    settings.threshold = 0.9;
    vram_controller c = vram_controller_make(&settings);
    cr_expect_eq(warnings_of(&c, &odd), VRAM_WARN_FREE_CLAMPED);
    cr_expect_eq(warnings_of(&c, &unknown), VRAM_WARN_UNKNOWN_TOTAL);
    cr_expect_eq(warnings_of(&c, &empty), VRAM_WARN_NOTHING_LEFT);
    cr_expect_eq(warnings_of(&c, &odd), 0);
    cr_expect_eq(warnings_of(&c, &unknown), 0);
    cr_expect_eq(warnings_of(&c, &empty), 0);
}

// ---- the threshold ----

Test(vram_controller, threshold_halves_what_was_given_at_once) {
    static const struct {
        uint64_t largest, after;
    } rows[] = {
        {0, 512},    // unknown: B
        {300, 150},  // the split is smaller than B
        {5000, 512}, // B was lowered meanwhile
        {33, 16},    {17, 16}, {16, 1024}, {10, 1024},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vram_settings settings = settings_of(1024, 16);
        settings.threshold = 0.72;
        vram_controller c = vram_controller_make(&settings);
        const vram_decision d = vram_after_generation(&c, &over, rows[i].largest);
        cr_expect_eq(d.before, 1024);
        cr_expect_eq(d.after, rows[i].after, "%" PRIu64 ": %" PRIu64, rows[i].largest, d.after);
        cr_expect_eq(c.state.batch, d.after);
        cr_expect_eq(c.state.ceiling, d.after, "a shrink lowers the ceiling");
        cr_expect_eq(d.reason, d.after < 1024 ? VRAM_THRESHOLD : VRAM_KEPT);
        cr_expect_eq(d.reading.total, 1000);
        cr_expect_eq(d.reading.free, 100);
        cr_expect_eq(d.reading.used, 900);
    }
}

Test(vram_controller, threshold_that_is_off_never_shrinks) {
    static const vram_reading full = {.total = UINT64_MAX, .used = UINT64_MAX};
    const vram_settings settings = settings_of(1024, 16);
    vram_controller c = vram_controller_make(&settings);
    cr_expect_eq(vram_after_generation(&c, &full, 0).after, 1024);
}

Test(vram_controller, threshold_and_ladder_take_the_largest_numbers) {
    static const vram_reading full = {.total = UINT64_MAX, .used = UINT64_MAX};
    vram_settings settings = settings_of(UINT64_MAX, 1);
    settings.threshold = 0.99;
    vram_controller c = vram_controller_make(&settings);
    cr_expect_eq(vram_after_generation(&c, &full, UINT64_MAX).after, UINT64_MAX / 2);
    c = vram_controller_make(&settings);
    vram_ladder ladder = {0};
    cr_expect_eq(vram_out_of_memory(&c, &ladder, UINT64_MAX, false).after, UINT64_MAX / 2);
    settings.lower_bound = UINT64_MAX;
    c = vram_controller_make(&settings);
    cr_expect_eq(vram_after_generation(&c, &full, UINT64_MAX).after, UINT64_MAX);
    ladder = (vram_ladder){0};
    cr_expect_eq(vram_out_of_memory(&c, &ladder, UINT64_MAX, false).reason, VRAM_RETRY);
    cr_expect_eq(vram_out_of_memory(&c, &ladder, UINT64_MAX, false).reason, VRAM_SET_ASIDE);
    cr_expect_eq(c.state.batch, UINT64_MAX);
}

// ---- the ladder ----

Test(vram_controller, bytes_that_came_free_are_one_more_try_of_each_size) {
    static const struct {
        uint64_t start, bound, largest;
        uint64_t attempts[12];
        bool succeeds;
    } rows[] = {
        {256, 16, 0, {256, 256, 128, 128, 64, 64, 32, 32, 16, 16}, false},
        {256, 16, 32, {256, 256, 128, 128, 64, 64, 32}, true},
        {1024, 16, 0, {1024, 1024, 512, 512, 256, 256, 128, 128, 64, 64}, false},
        {16, 16, 0, {16, 16, 16}, false}, // the second is not counted, the third is the bound's
        {24, 16, 0, {24, 24, 16, 16, 16}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const vram_settings settings = settings_of(rows[i].start, rows[i].bound);
        vram_controller c = vram_controller_make(&settings);
        const trial t = try_genome(&c, rows[i].largest, true);
        cr_expect_eq(t.succeeds, rows[i].succeeds, "row %zu", i);
        for (size_t k = 0; k < 12; k++)
            cr_expect_eq(t.attempts[k], rows[i].attempts[k], "row %zu: attempt %zu is %" PRIu64, i,
                         k, t.attempts[k]);
    }
}

Test(vram_controller, try_that_is_not_counted_changes_nothing) {
    const vram_settings settings = settings_of(256, 16);
    vram_controller c = vram_controller_make(&settings);
    vram_ladder ladder = {0};
    const vram_decision d = vram_out_of_memory(&c, &ladder, 256, true);
    cr_expect_eq(d.reason, VRAM_RETRY);
    cr_expect_eq(d.before, 256);
    cr_expect_eq(d.after, 256);
    cr_expect_eq(ladder.retries, 0);
    cr_expect_eq(c.state.batch, 256);
    cr_expect_eq(c.state.ceiling, 256);
}

// SPEC: B = min(B, max(L, tried / 2)).
Test(vram_controller, batch_that_another_lane_has_lowered_is_not_lowered_twice) {
    static const struct {
        uint64_t batch, tried, after;
    } rows[] = {
        {64, 256, 64},   // 128 is above B
        {128, 256, 128}, // 128 is B
        {129, 256, 128}, {256, 256, 128},
        {16, 256, 16}, // at the bound already
        {8, 256, 8},   // below it
        {256, 31, 16},   {256, 17, 16},
        {256, 16, 256}, // tried at the bound: B has nothing to do with it
        {256, 3, 256},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const vram_settings settings = settings_of(rows[i].batch, 16);
        vram_controller c = vram_controller_make(&settings);
        vram_ladder ladder = {0};
        const vram_decision d = vram_out_of_memory(&c, &ladder, rows[i].tried, false);
        cr_expect_eq(d.before, rows[i].batch);
        cr_expect_eq(d.after, rows[i].after, "row %zu: %" PRIu64, i, d.after);
        cr_expect_eq(c.state.batch, rows[i].after, "row %zu", i);
        cr_expect_eq(c.state.ceiling, rows[i].after, "row %zu", i);
        cr_expect_eq(d.reason, d.after < d.before ? VRAM_SHRUNK : VRAM_RETRY, "row %zu", i);
        cr_expect_eq(ladder.retries, 1, "it counts for the genome all the same");
        cr_expect_eq(d.warnings, 0);
        cr_expect(d.reading.total == 0 && d.reading.free == 0 && d.reading.used == 0);
    }
}

Test(vram_controller, genomes_climb_down_ladders_of_their_own) {
    const vram_settings settings = settings_of(1024, 16);
    vram_controller c = vram_controller_make(&settings);
    cr_expect_eq(try_genome(&c, 0, false).count, 5);
    cr_expect_eq(c.state.batch, 64);
    const trial second = try_genome(&c, 0, false); // 64, 32, 16 and once more
    cr_expect_eq(second.count, 4);
    cr_expect_eq(c.state.batch, 16);
    const trial third = try_genome(&c, 16, false);
    cr_expect(third.succeeds && third.count == 1);
}

Test(vram_controller, batch_below_the_bound_is_never_raised) {
    vram_settings settings = settings_of(8, 16);
    settings.threshold = 0.5;
    vram_controller c = vram_controller_make(&settings);
    const trial t = try_genome(&c, 0, false);
    cr_expect_eq(t.count, 2);
    cr_expect_eq(c.state.batch, 8);
    cr_expect_eq(vram_after_generation(&c, &over, 8).after, 8);
    cr_expect_eq(c.state.ceiling, 8);
}

Test(vram_controller, set_aside_genome_leaves_the_batch_alone) {
    const vram_settings settings = settings_of(256, 16);
    vram_controller c = vram_controller_make(&settings);
    vram_ladder ladder = {.retries = 4};
    const vram_decision d = vram_out_of_memory(&c, &ladder, 256, false);
    cr_expect_eq(d.reason, VRAM_SET_ASIDE);
    cr_expect_eq(d.after, 256);
    cr_expect_eq(c.state.batch, 256);
    cr_expect_eq(c.state.ceiling, 256);
}

// ---- recovery ----

// One letter is a generation:
//   .  nothing happens                    o  out of memory at B: one shrink
//   O  a ladder of two shrinks            u  a try that is not counted
//   b  a retry at the bound               a  a genome is set aside
//   %  above the threshold: a shrink      =  above it, but all was given in chunks of the bound
static vram_decision live_through(vram_controller *c, char generation) {
    vram_ladder ladder = {0};
    const uint64_t bound = c->settings.lower_bound;
    switch (generation) {
        case 'O': vram_out_of_memory(c, &ladder, c->state.batch, false); // fall through
        case 'o': vram_out_of_memory(c, &ladder, c->state.batch, false); break;
        case 'u': vram_out_of_memory(c, &ladder, c->state.batch, true); break;
        case 'b': vram_out_of_memory(c, &ladder, bound, false); break;
        case 'a':
            ladder.was_at_bound = true;
            cr_expect_eq(vram_out_of_memory(c, &ladder, bound, false).reason, VRAM_SET_ASIDE);
            break;
        default: break;
    }
    if (generation == '%' || generation == '=')
        return vram_after_generation(c, &over, generation == '=' ? bound : 0);
    return vram_after_generation(c, &plenty, 0);
}

static const struct {
    const char *what;
    uint64_t most;
    uint32_t recovery;
    const char *generations;
    uint64_t ceilings[24]; // after each
    uint64_t wait;         // in the end
} recoveries[] = {
    {"up to the cap", 64, 2, "oo........", {32, 16, 16, 32, 32, 64, 64, 64, 64, 64}, 2},
    {"a cap that is no power", 50, 2, "oo.......", {25, 12, 12, 24, 24, 48, 48, 50, 50}, 2},
    {"odd", 51, 1, "o...", {25, 50, 51, 51}, 1},
    {"half of the cap", 64, 1, "o..", {32, 64, 64}, 1},
    {"every generation", 64, 1, "O...", {16, 32, 64, 64}, 1},
    {"never", 64, 0, "o.......", {32, 32, 32, 32, 32, 32, 32, 32}, 0},
    {"nothing to recover from", 64, 2, ".....o..", {64, 64, 64, 64, 64, 32, 32, 64}, 2},
    {"a shrink is no clean generation", 64, 3, "o..o...", {32, 32, 32, 16, 16, 16, 32}, 3},
    {"nor is a retry at the bound", 64, 3, "o..b...", {32, 32, 32, 32, 32, 32, 64}, 3},
    {"nor a genome set aside", 64, 3, "o..a...", {32, 32, 32, 32, 32, 32, 64}, 3},
    {"nor one above the threshold", 64, 3, "o..=...", {32, 32, 32, 32, 32, 32, 64}, 3},
    {"a try that is not counted is", 64, 3, "o..u", {32, 32, 32, 64}, 3},
    {"at once after doubling", 64, 2, "o..o....", {32, 32, 64, 32, 32, 32, 32, 64}, 4},
    {"last in the span", 64, 2, "o...o....", {32, 32, 64, 64, 32, 32, 32, 32, 64}, 4},
    {"after the span", 64, 2, "o....o..", {32, 32, 64, 64, 64, 32, 32, 64}, 2},
    {"below the cap", 64, 2, "oo..o....", {32, 16, 16, 32, 16, 16, 16, 16, 32}, 4},
    {"by the threshold", 64, 2, "o..%....", {32, 32, 64, 32, 32, 32, 32, 64}, 4},
    {"one ladder doubles once", 64, 2, "o..O....", {32, 32, 64, 16, 16, 16, 16, 32}, 4},
    {"a span is of clean generations", 64, 2, "o..b.o", {32, 32, 64, 64, 64, 32}, 4},
    {"no shrink, no doubling",
     64,
     2,
     "o..b....o..",
     {32, 32, 64, 64, 64, 64, 64, 64, 32, 32, 64},
     2},
    {"again",
     64,
     2,
     "o..o....o........",
     {32, 32, 64, 32, 32, 32, 32, 64, 32, 32, 32, 32, 32, 32, 32, 32, 64},
     8},
    {"the span has doubled, too",
     64,
     2,
     "o..o.......o",
     {32, 32, 64, 32, 32, 32, 32, 64, 64, 64, 64, 32},
     8},
    {"and ends", 64, 2, "o..o........o", {32, 32, 64, 32, 32, 32, 32, 64, 64, 64, 64, 64, 32}, 4},
};
enum { RECOVERY_COUNT = sizeof recoveries / sizeof *recoveries };

static vram_settings recovery_settings(size_t row) {
    vram_settings settings = settings_of(recoveries[row].most, 4);
    settings.threshold = 0.72;
    settings.recovery_generations = recoveries[row].recovery;
    return settings;
}

Test(vram_controller, clean_generations_raise_the_ceiling) {
    for (size_t row = 0; row < RECOVERY_COUNT; row++) {
        const char *what = recoveries[row].what;
        const vram_settings settings = recovery_settings(row);
        vram_controller c = vram_controller_make(&settings);
        uint64_t ceiling = settings.batch_most;
        for (size_t i = 0; recoveries[row].generations[i]; i++) {
            const vram_decision before = vram_before_generation(&c, &plenty, &small_demand);
            cr_expect_eq(before.after, ceiling, "%s: B of generation %zu: %" PRIu64, what, i,
                         before.after);
            const vram_decision after = live_through(&c, recoveries[row].generations[i]);
            const bool has_risen = c.state.ceiling > ceiling;
            ceiling = recoveries[row].ceilings[i];
            cr_expect_eq(c.state.ceiling, ceiling, "%s: generation %zu: %" PRIu64, what, i,
                         c.state.ceiling);
            cr_expect_leq(c.state.batch, before.after, "%s: B rises before, not after", what);
            cr_expect_eq(after.reason == VRAM_RECOVERED, has_risen, "%s: generation %zu", what, i);
            cr_expect_eq(after.after, c.state.batch, "%s", what);
        }
        cr_expect_eq(c.state.wait, recoveries[row].wait, "%s: %" PRIu64, what, c.state.wait);
    }
}

Test(vram_controller, doubling_the_wait_never_wraps) {
    vram_settings settings = settings_of(64, 4);
    settings.recovery_generations = UINT32_MAX;
    vram_controller c = vram_controller_make(&settings);
    for (int i = 0; i < 200; i++) {
        vram_state state = c.state;
        state.batch = state.ceiling = 64;
        state.is_on_probation = true;
        vram_controller_restore(&c, &state);
        vram_out_of_memory(&c, &(vram_ladder){0}, 64, false);
        if (i == 0) cr_expect_eq(c.state.wait, 2 * (uint64_t)UINT32_MAX);
        cr_expect_geq(c.state.wait, state.wait);
    }
}

// ---- saved and restored ----

Test(vram_controller, state_is_all_that_the_future_depends_on) {
    for (size_t row = 0; row < RECOVERY_COUNT; row++) {
        const vram_settings settings = recovery_settings(row);
        vram_controller through = vram_controller_make(&settings);
        vram_controller again = vram_controller_make(&settings);
        for (const char *g = recoveries[row].generations; *g; g++) {
            vram_controller fresh = vram_controller_make(&settings);
            vram_controller_restore(&fresh, &again.state);
            again = fresh;
            vram_before_generation(&through, &plenty, &small_demand);
            vram_before_generation(&again, &plenty, &small_demand);
            live_through(&through, *g);
            live_through(&again, *g);
            cr_expect_eq(through.state.batch, again.state.batch);
            cr_expect_eq(through.state.ceiling, again.state.ceiling);
            cr_expect_eq(through.state.clean_generations, again.state.clean_generations);
            cr_expect_eq(through.state.wait, again.state.wait);
            cr_expect_eq(through.state.is_on_probation, again.state.is_on_probation);
        }
    }
}

Test(vram_controller, restored_state_is_brought_within_new_settings) {
    static const struct {
        const char *what;
        uint64_t batch, ceiling, wait, new_batch, new_ceiling, new_wait;
    } rows[] = {
        {"as it was", 100, 200, 16, 100, 200, 16},
        {"at the limits", 1000, 1000, 8, 1000, 1000, 8},
        {"batch 0", 0, 200, 16, 1, 200, 16},
        {"ceiling 0", 100, 0, 16, 100, 1, 16},
        {"batch above the cap", 1001, 1000, 16, 1000, 1000, 16},
        {"ceiling above the cap", 100, 1001, 16, 100, 1000, 16},
        {"wait below the setting", 100, 200, 7, 100, 200, 8},
        {"all too small", 0, 0, 0, 1, 1, 8},
        {"all too large", UINT64_MAX, UINT64_MAX, UINT64_MAX, 1000, 1000, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int is_on_probation = 0; is_on_probation < 2; is_on_probation++) {
            vram_settings settings = settings_of(1000, 16);
            settings.recovery_generations = 8;
            vram_controller c = vram_controller_make(&settings);
            const vram_state state = {.batch = rows[i].batch,
                                      .ceiling = rows[i].ceiling,
                                      .clean_generations = 5,
                                      .wait = rows[i].wait,
                                      .is_on_probation = is_on_probation};
            vram_controller_restore(&c, &state);
            cr_expect_eq(c.state.batch, rows[i].new_batch, "%s", rows[i].what);
            cr_expect_eq(c.state.ceiling, rows[i].new_ceiling, "%s", rows[i].what);
            cr_expect_eq(c.state.wait, rows[i].new_wait, "%s", rows[i].what);
            cr_expect_eq(c.state.clean_generations, 5, "%s", rows[i].what);
            cr_expect_eq(c.state.is_on_probation, is_on_probation, "%s", rows[i].what);
        }
}

Test(vram_controller, starts_at_the_cap_without_a_history) {
    vram_settings settings = settings_of(1000, 16);
    settings.recovery_generations = 8;
    const vram_controller c = vram_controller_make(&settings);
    cr_expect_eq(c.state.batch, 1000);
    cr_expect_eq(c.state.ceiling, 1000);
    cr_expect_eq(c.state.wait, 8);
    cr_expect_eq(c.state.clean_generations, 0);
    cr_expect_not(c.state.is_on_probation);
}
