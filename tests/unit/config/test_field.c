// test_field.c - a table of each type: defaults, what JSON may say, what it may not, and back.
#include "config/field.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct everything {
    int64_t whole;
    double real, rate;
    int32_t flag, colour;
    const char *text, *maybe, *path, *label;
    uint64_t seed;
    hox_int_list ints;
    hox_real_list reals;
} everything;

typedef struct inner {
    int64_t depth, population_size;
} inner;

typedef struct deepest {
    double step;
} deepest;

static const char *const colours[] = {"red", "green", "blue", NULL};

static const hox_field rows[] = {
    HOX_INT(everything, whole, 7, -5, 10, "an integer"),
    HOX_REAL(everything, real, 0.25, -1.5, 2.5, "a number"),
    HOX_RATE(everything, rate, 0.1, "a rate"),
    HOX_BOOL(everything, flag, 1, "a flag"),
    HOX_CHOICE(everything, colour, "green", colours, "a choice"),
    HOX_TEXT(everything, text, "hello", "a text"),
    HOX_TEXT(everything, maybe, NULL, "a text or nothing"),
    HOX_PATH(everything, path, "data/x", "a path"),
    HOX_LABEL(everything, label, "cat", "a label"),
    HOX_SEED(everything, seed, "a seed"),
    HOX_INTS(everything, ints, "[3, 8]", 1, 16, "integers"),
    HOX_REALS(everything, reals, "[0.5, 0.25]", 0.0, 1.0, "numbers"),
};
static const hox_field inner_rows[] = {
    HOX_INT(inner, depth, 1, 0, 9, "depth"),
    HOX_INT(inner, population_size, 128, 1, 100000, "size"),
};
static const hox_field deepest_rows[] = {HOX_REAL(deepest, step, 0.5, 0.0, 1.0, "step")};

static const char *folder_of(const void *context, const char *pointer) {
    (void)pointer;
    return context;
}

// A whole configuration and what was said about it.
typedef struct fixture {
    everything all;
    inner inner;
    deepest deepest;
    arena memory;
    problem_list problems;
    field_reader reader;
    field_section sections[3];
    hox_error error;
} fixture;

#define TABLE(rows) FIELD_TABLE(rows, sizeof(rows) / sizeof *(rows))

static void fixture_init(fixture *f) {
    *f = (fixture){.error = HOX_ERROR_INIT};
    f->reader = (field_reader){&f->memory, folder_of, "/etc/hox", &f->problems};
    f->sections[0] = (field_section){"", TABLE(rows), &f->all, false};
    f->sections[1] = (field_section){"/inner", TABLE(inner_rows), &f->inner, false};
    f->sections[2] = (field_section){"/inner/deepest", TABLE(deepest_rows), &f->deepest, false};
    cr_assert_eq(field_set_defaults(f->sections, 3, &f->reader, &f->error), HOX_OK, "%s",
                 f->error.message);
}

static void fixture_deinit(fixture *f) {
    arena_deinit(&f->memory);
    problem_list_deinit(&f->problems);
}

static hox_status read_text(fixture *f, const char *text) {
    json_error_t where;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    cr_assert_not_null(root, "%s: %s", text, where.text);
    const hox_status status = field_read(root, f->sections, 3, &f->reader, &f->error);
    json_decref(root); // what was read must not hang on it
    return status;
}

static void read_ok(fixture *f, const char *text) {
    cr_assert_eq(read_text(f, text), HOX_OK, "%s: %s", text, f->error.message);
    cr_expect_eq(f->problems.count, 0);
}

Test(field, has_defaults_and_keeps_them_for_what_is_not_said) {
    fixture f;
    fixture_init(&f);
    for (int round = 0; round < 2; round++) {
        cr_expect_eq(f.all.whole, 7);
        cr_expect_eq(f.all.real, 0.25);
        cr_expect_eq(f.all.rate, 0.1);
        cr_expect_eq(f.all.flag, 1);
        cr_expect_eq(f.all.colour, 1);
        cr_expect_str_eq(f.all.text, "hello");
        cr_expect_null(f.all.maybe);
        cr_expect_str_eq(f.all.path, "/etc/hox/data/x");
        cr_expect_str_eq(f.all.label, "cat");
        cr_expect_eq(f.all.seed, 0);
        cr_expect(f.all.ints.count == 2 && f.all.ints.values[0] == 3 && f.all.ints.values[1] == 8);
        cr_expect(f.all.reals.count == 2 && f.all.reals.values[0] == 0.5 &&
                  f.all.reals.values[1] == 0.25);
        cr_expect_eq(f.inner.population_size, 128);
        cr_expect_eq(f.deepest.step, 0.5);
        read_ok(&f, "{\"inner\": {\"deepest\": {}}}");
    }
    fixture_deinit(&f);
}

Test(field, refuses_a_default_that_its_own_row_refuses) {
    static const hox_field wrong[] = {HOX_INT(inner, depth, 10, 0, 9, "depth")};
    fixture f;
    fixture_init(&f);
    const field_section section = {"/inner", TABLE(wrong), &f.inner, false};
    cr_expect_eq(field_set_defaults(&section, 1, &f.reader, &f.error), HOX_INTERNAL);
    cr_expect(strstr(f.error.message, "/inner/depth"), "%s", f.error.message);
    fixture_deinit(&f);
}

Test(field, reads_every_type) {
    fixture f;
    fixture_init(&f);
    read_ok(&f, "{\"$schema\": \"any\", \"whole\": -5, \"real\": 2, \"rate\": 1, \"flag\": false,"
                "\"colour\": \"blue\", \"text\": \"\", \"maybe\": \"m\", \"path\": \"../y\","
                "\"label\": \"dog\", \"seed\": 9, \"ints\": [1, 16, 2], \"reals\": [0, 1, 0.125],"
                "\"inner\": {\"depth\": 9, \"$note\": [1], \"deepest\": {\"step\": 1}}}");
    cr_expect_eq(f.all.whole, -5);
    cr_expect_eq(f.all.real, 2.0);
    cr_expect_eq(f.all.rate, 1.0);
    cr_expect_eq(f.all.flag, 0);
    cr_expect_eq(f.all.colour, 2);
    cr_expect_str_eq(f.all.text, "");
    cr_expect_str_eq(f.all.maybe, "m");
    cr_expect_str_eq(f.all.path, "/etc/hox/../y");
    cr_expect_str_eq(f.all.label, "dog");
    cr_expect_eq(f.all.seed, 9);
    cr_expect(f.all.ints.count == 3 && f.all.ints.values[1] == 16 && f.all.ints.values[2] == 2);
    cr_expect(f.all.reals.count == 3 && f.all.reals.values[0] == 0.0 &&
              f.all.reals.values[2] == 0.125);
    cr_expect_eq(f.inner.depth, 9);
    cr_expect_eq(f.inner.population_size, 128);
    cr_expect_eq(f.deepest.step, 1.0);
    fixture_deinit(&f);
}

Test(field, bounds_are_inclusive) {
    fixture f;
    fixture_init(&f);
    read_ok(&f, "{\"whole\": 10, \"real\": 2.5, \"ints\": [], \"reals\": []}");
    cr_expect(f.all.whole == 10 && f.all.real == 2.5);
    cr_expect(f.all.ints.count == 0 && f.all.reals.count == 0);
    read_ok(&f, "{\"whole\": -5, \"real\": -1.5}");
    cr_expect(f.all.whole == -5 && f.all.real == -1.5);
    read_ok(&f, "{\"ints\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]}");
    cr_expect(f.all.ints.count == 16 && f.all.ints.values[15] == 16);
    fixture_deinit(&f);
}

Test(field, seed_holds_64_bits) {
    fixture f;
    fixture_init(&f);
    read_ok(&f, "{\"seed\": 9223372036854775807}");
    cr_expect_eq(f.all.seed, INT64_MAX);
    read_ok(&f, "{\"seed\": \"12\"}");
    cr_expect_eq(f.all.seed, 12);
    read_ok(&f, "{\"seed\": \"18446744073709551615\"}");
    cr_expect_eq(f.all.seed, UINT64_MAX);
    read_ok(&f, "{\"seed\": \"0\"}");
    cr_expect_eq(f.all.seed, 0);
    fixture_deinit(&f);
}

Test(field, label_takes_names_numbers_and_null) {
    fixture f;
    fixture_init(&f);
    read_ok(&f, "{\"label\": 3}");
    cr_expect_str_eq(f.all.label, "3");
    read_ok(&f, "{\"label\": \"3 dogs\"}");
    cr_expect_str_eq(f.all.label, "3 dogs");
    read_ok(&f, "{\"label\": null}");
    cr_expect_null(f.all.label);
    fixture_deinit(&f);
}

Test(field, path_is_relative_to_the_file_unless_absolute_or_empty) {
    fixture f;
    fixture_init(&f);
    read_ok(&f, "{\"path\": \"/abs\"}");
    cr_expect_str_eq(f.all.path, "/abs");
    read_ok(&f, "{\"path\": \"\"}");
    cr_expect_str_eq(f.all.path, "");
    fixture_deinit(&f);
}

static const struct {
    const char *json, *pointer, *text;
} refusals[] = {
    {"{\"whole\": 11}", "/whole", "11 is outside -5..10"},
    {"{\"whole\": -6}", "/whole", "-6 is outside -5..10"},
    {"{\"whole\": 1.0}", "/whole", "expected an integer"},
    {"{\"whole\": \"1\"}", "/whole", "expected an integer"},
    {"{\"whole\": null}", "/whole", "expected an integer"},
    {"{\"real\": 2.6}", "/real", "2.6 is outside -1.5..2.5"},
    {"{\"real\": -1.6}", "/real", "-1.6 is outside -1.5..2.5"},
    {"{\"real\": true}", "/real", "expected a number"},
    {"{\"rate\": 1.5}", "/rate", "1.5 is outside 0..1"},
    {"{\"flag\": 1}", "/flag", "expected true or false"},
    {"{\"flag\": \"true\"}", "/flag", "expected true or false"},
    {"{\"colour\": 1}", "/colour", "expected a string"},
    {"{\"colour\": \"blu\"}", "/colour",
     "\"blu\" is none of red, green, blue; did you mean \"blue\"?"},
    {"{\"colour\": \"yellowish\"}", "/colour", "\"yellowish\" is none of red, green, blue"},
    {"{\"text\": 1}", "/text", "expected a string"},
    {"{\"text\": null}", "/text", "expected a string"},
    {"{\"maybe\": false}", "/maybe", "expected a string or null"},
    {"{\"path\": []}", "/path", "expected a string"},
    {"{\"label\": 1.5}", "/label", "expected a string, an integer or null"},
    {"{\"seed\": -1}", "/seed", "expected an integer from 0 to 18446744073709551615"},
    {"{\"seed\": \"18446744073709551616\"}", "/seed", "expected an integer from 0"},
    {"{\"seed\": \"99999999999999999999\"}", "/seed", "expected an integer from 0"},
    {"{\"seed\": \"-1\"}", "/seed", "expected an integer from 0"},
    {"{\"seed\": \" 1\"}", "/seed", "expected an integer from 0"},
    {"{\"seed\": \"\"}", "/seed", "expected an integer from 0"},
    {"{\"seed\": 1.0}", "/seed", "expected an integer from 0"},
    {"{\"ints\": 3}", "/ints", "expected an array"},
    {"{\"ints\": [3, 17]}", "/ints/1", "17 is outside 1..16"},
    {"{\"ints\": [0]}", "/ints/0", "0 is outside 1..16"},
    {"{\"ints\": [3, 4.0]}", "/ints/1", "expected an integer"},
    {"{\"ints\": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}", "/ints", "17 values, at most 16 fit"},
    {"{\"reals\": [0.5, 1.5]}", "/reals/1", "1.5 is outside 0..1"},
    {"{\"reals\": [\"0.5\"]}", "/reals/0", "expected a number"},
    {"{\"inner\": 3}", "/inner", "expected an object"},
    {"{\"inner\": {\"deepest\": null}}", "/inner/deepest", "expected an object"},
    {"{\"inner\": {\"deepest\": {\"step\": 2}}}", "/inner/deepest/step", "2 is outside 0..1"},
    {"{\"inner\": {\"depht\": 2}}", "/inner/depht",
     "there is no such setting; did you mean \"depth\"?"},
    {"{\"inner\": {\"deepset\": {}}}", "/inner/deepset",
     "there is no such setting; did you mean \"deepest\"?"},
    {"{\"iner\": {}}", "/iner", "there is no such setting; did you mean \"inner\"?"},
    {"{\"population_size\": 64}", "/population_size",
     "there is no such setting here; it belongs to \"inner\""},
    {"{\"step\": 0.1}", "/step", "there is no such setting here; it belongs to \"inner/deepest\""},
    {"{\"inner\": {\"colour\": \"red\"}}", "/inner/colour",
     "there is no such setting here; it belongs to \"the top level\""},
    {"{\"momentum\": 1}", "/momentum", "there is no such setting"},
    {"{\"inner/deepest\": {\"step\": 1}}", "/inner~1deepest", "there is no such setting"},
    {"{\"a~b\": 1}", "/a~0b", "there is no such setting"},
    {"{\"\": 1}", "/", "there is no such setting"},
};

Test(field, refuses_what_its_row_does_not_allow) {
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        fixture f;
        fixture_init(&f);
        cr_expect_eq(read_text(&f, refusals[i].json), HOX_BAD_OPTION, "%s", refusals[i].json);
        cr_assert_eq(f.problems.count, 1, "%s", refusals[i].json);
        const problem *p = &f.problems.items[0];
        cr_expect_str_eq(p->pointer, refusals[i].pointer);
        cr_expect_eq(strncmp(p->text, refusals[i].text, strlen(refusals[i].text)), 0, "%s: %s",
                     refusals[i].json, p->text);
        cr_expect(strstr(f.error.message, p->pointer) && strstr(f.error.message, p->text), "%s",
                  f.error.message);
        fixture_deinit(&f);
    }
}

Test(field, says_nothing_more_where_nothing_is_near) {
    fixture f;
    fixture_init(&f);
    cr_expect_eq(read_text(&f, "{\"momentum\": 1}"), HOX_BAD_OPTION);
    cr_expect_str_eq(f.problems.items[0].text, "there is no such setting");
    fixture_deinit(&f);
}

Test(field, tells_every_problem_at_once_and_reads_the_rest) {
    fixture f;
    fixture_init(&f);
    cr_expect_eq(read_text(&f, "{\"whole\": 11, \"real\": 1, \"ints\": [0, 3, 99], \"sed\": 1,"
                               "\"inner\": {\"depth\": 2, \"population_size\": 0}}"),
                 HOX_BAD_OPTION);
    static const char *const expected[] = {"/whole", "/ints/0", "/ints/2", "/sed",
                                           "/inner/population_size"};
    cr_assert_eq(f.problems.count, 5);
    for (size_t i = 0; i < 5; i++)
        cr_expect_str_eq(f.problems.items[i].pointer, expected[i]);
    cr_expect_eq(f.all.real, 1.0);
    cr_expect_eq(f.inner.depth, 2);
    cr_expect_eq(f.all.ints.count, 2, "a wrong list stays as it was");
    fixture_deinit(&f);
}

Test(field, refuses_a_root_that_is_no_object_and_keys_without_end) {
    fixture f;
    fixture_init(&f);
    json_t *array = json_array();
    cr_expect_eq(field_read(array, f.sections, 3, &f.reader, &f.error), HOX_BAD_OPTION);
    json_decref(array);
    char text[1100];
    snprintf(text, sizeof text, "{\"%01000d\": 1}", 0);
    cr_expect_eq(read_text(&f, text), HOX_BAD_OPTION);
    memset(text + 2, '~', 250); // each becomes two letters
    cr_expect_eq(read_text(&f, text), HOX_BAD_OPTION);
    cr_expect_eq(f.problems.count, 3);
    fixture_deinit(&f);
}

Test(field, accepts_all_where_the_plugin_could_not_be_opened) {
    fixture f;
    fixture_init(&f);
    f.sections[1] = (field_section){.pointer = "/inner", .accepts_all = true};
    read_ok(&f, "{\"inner\": {\"anything\": [1, {}], \"depth\": 99}, \"whole\": 1}");
    cr_expect_eq(f.all.whole, 1);
    cr_expect_eq(read_text(&f, "{\"anything\": 1}"), HOX_BAD_OPTION, "in its own place only");
    fixture_deinit(&f);
}

static void print_into(fixture *from, fixture *into) {
    json_t *printed = field_print(from->sections, 3, &from->error);
    cr_assert_not_null(printed, "%s", from->error.message);
    char *text = json_dumps(printed, 0);
    json_decref(printed);
    read_ok(into, text);
    free(text);
}

static void expect_same_text(const char *a, const char *b) {
    cr_expect(a && b ? strcmp(a, b) == 0 : a == b, "%s, %s", a ? a : "null", b ? b : "null");
}

static void expect_same(const fixture *a, const fixture *b) {
    cr_expect_eq(a->all.whole, b->all.whole);
    cr_expect_eq(a->all.real, b->all.real);
    cr_expect_eq(a->all.rate, b->all.rate);
    cr_expect_eq(a->all.flag, b->all.flag);
    cr_expect_eq(a->all.colour, b->all.colour);
    cr_expect_eq(a->all.seed, b->all.seed);
    cr_expect_eq(memcmp(&a->all.ints, &b->all.ints, sizeof a->all.ints), 0);
    cr_expect_eq(memcmp(&a->all.reals, &b->all.reals, sizeof a->all.reals), 0);
    cr_expect_eq(memcmp(&a->inner, &b->inner, sizeof a->inner), 0);
    cr_expect_eq(a->deepest.step, b->deepest.step);
    expect_same_text(a->all.text, b->all.text);
    expect_same_text(a->all.maybe, b->all.maybe);
    expect_same_text(a->all.path, b->all.path);
    expect_same_text(a->all.label, b->all.label);
}

Test(field, reads_back_what_it_prints) {
    static const char *const texts[] = {
        "{}",
        "{\"whole\": -5, \"real\": 0.1, \"rate\": 0.30000000000000004, \"flag\": false,"
        "\"colour\": \"blue\", \"text\": \"\\\"\\u00e9\\n\", \"maybe\": \"\", \"path\": \"\","
        "\"label\": null, \"seed\": \"18446744073709551615\", \"ints\": [],"
        "\"reals\": [0.1, 1e-300, 1], \"inner\": {\"depth\": 0, \"deepest\": {\"step\": 1e-17}}}",
        "{\"label\": 12, \"path\": \"../a b\", \"seed\": 9223372036854775807}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fixture from, into;
        fixture_init(&from);
        fixture_init(&into);
        read_ok(&from, texts[i]);
        // Everything is said: nothing of what the second one holds may be left.
        read_ok(&into, "{\"whole\": 3, \"real\": 1, \"flag\": true, \"text\": \"t\","
                       "\"maybe\": \"u\", \"path\": \"v\", \"label\": \"w\", \"seed\": 5,"
                       "\"ints\": [7, 7, 7], \"inner\": {\"depth\": 4}}");
        print_into(&from, &into);
        expect_same(&from, &into);
        fixture_deinit(&from);
        fixture_deinit(&into);
    }
}

// A plugin built against a newer table: rows longer than ours.
Test(field, walks_rows_longer_than_its_own) {
    struct {
        hox_field row;
        char more[24];
    } longer[2] = {{.row = HOX_INT(inner, depth, 4, 0, 9, "depth")},
                   {.row = HOX_INT(inner, population_size, 5, 1, 9, "size")}};
    inner target = {0};
    fixture f;
    fixture_init(&f);
    const field_section section = {"", {&longer[0].row, 2, sizeof *longer}, &target, false};
    cr_assert_eq(field_set_defaults(&section, 1, &f.reader, NULL), HOX_OK);
    cr_expect(target.depth == 4 && target.population_size == 5);
    fixture_deinit(&f);
}
