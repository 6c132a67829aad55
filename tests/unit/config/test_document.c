// test_document.c - a file, the settings laid over it, and who is to blame for what.
#include "config/document.h"

#include "base/file.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/hox_document_XXXXXX";
static char path[64];

static void set_up(void) {
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.json", folder);
}

static void tear_down(void) {
    unlink(path);
    cr_expect_eq(rmdir(folder), 0);
}

TestSuite(document, .init = set_up, .fini = tear_down);

static hox_status load(document *d, const char *text, const char *const *sets, size_t set_count,
                       hox_error *error) {
    cr_assert_eq(file_write(path, text, strlen(text), NULL), HOX_OK);
    return document_load(d, path, sets, set_count, error);
}

static void load_ok(document *d, const char *text, const char *const *sets, size_t set_count) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(load(d, text, sets, set_count, &error), HOX_OK, "%s", error.message);
}

static const struct {
    const char *text;
    const char *sets[3];
    const char *expected;
} laid[] = {
    {"{\"seed\": 1}", {NULL}, "{\"seed\": 1}"},
    {"{\"seed\": 1}", {"seed=2"}, "{\"seed\": 2}"},
    {"{}", {"rate=0.5", "flag=true", "none=null"}, "{\"rate\":0.5,\"flag\":true,\"none\":null}"},
    {"{}", {"list=[1, 2]", "object={\"a\": 3}"}, "{\"list\":[1,2],\"object\":{\"a\":3}}"},
    {"{}", {"name=night run", "word=\"7\""}, "{\"name\":\"night run\",\"word\":\"7\"}"},
    {"{}", {"name=", "name2=[1"}, "{\"name\":\"\",\"name2\":\"[1\"}"},
    {"{}", {"formula=a=b"}, "{\"formula\":\"a=b\"}"},
    {"{\"a\": {\"b\": 1, \"c\": 2}}", {"a.b=3"}, "{\"a\":{\"b\":3,\"c\":2}}"},
    {"{}", {"a.b.c=1"}, "{\"a\":{\"b\":{\"c\":1}}}"},
    {"{\"a\": 5}", {"a.b=1"}, "{\"a\":{\"b\":1}}"},
    {"{}", {"a=1", "a=2", "a=3"}, "{\"a\":3}"},
    {"{}", {"a={\"b\": 1, \"c\": 2}", "a.b=3"}, "{\"a\":{\"b\":3,\"c\":2}}"},
    {"{}", {"a.b=3", "a={\"c\": 2}"}, "{\"a\":{\"c\":2}}"},
};

static size_t count_of(const char *const sets[3]) {
    size_t count = 0;
    while (count < 3 && sets[count])
        count++;
    return count;
}

Test(document, lays_sets_over_the_file) {
    for (size_t i = 0; i < sizeof laid / sizeof *laid; i++) {
        document d;
        load_ok(&d, laid[i].text, laid[i].sets, count_of(laid[i].sets));
        json_t *expected = json_loads(laid[i].expected, 0, NULL);
        cr_assert_not_null(expected);
        char *got = json_dumps(d.root, 0);
        cr_expect(json_equal(d.root, expected), "%s, not %s", got, laid[i].expected);
        free(got);
        json_decref(expected);
        document_deinit(&d);
    }
}

static const struct {
    const char *text, *set, *message; // the message without the path
} refused[] = {
    {"{}", "seed", "--set seed: expected key=value"},
    {"{}", "=1", "--set =1: expected key=value"},
    {"{}", "", "--set : expected key=value"},
    {"{}", ".a=1", "--set .a=1: expected section.key=value"},
    {"{}", "a.=1", "--set a.=1: expected section.key=value"},
    {"{}", "a..b=1", "--set a..b=1: expected section.key=value"},
    {"{}", "a=\xff", "--set a=\xff: not UTF-8"},
    {"{}", "\xff.a=1", "--set \xff.a=1: not UTF-8"},
    {"{\n\n  \"a\": 1, \"a\": 2}", NULL, ":3:"},
    {"{\"a\": {\"b\": 1,\n \"b\": 2}}", NULL, ":2:"},
    {"{\"a\": }", NULL, ":1:"},
    {"{\"a\": 1}\n x", NULL, ":2:"},
    {"[1]", NULL, ":1:1: expected an object"},
    {"", NULL, ":1:"},
    {"{\"a\": 1e999}", NULL, ":1:"},
};

Test(document, refuses_what_is_no_setting_and_what_is_no_json) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        document d;
        hox_error error = HOX_ERROR_INIT;
        const char *set = refused[i].set;
        cr_expect_eq(load(&d, refused[i].text, &set, set != NULL, &error), HOX_BAD_OPTION,
                     "row %zu", i);
        const char *message = error.message;
        if (!set) {
            cr_assert_eq(strncmp(message, path, strlen(path)), 0, "%s", message);
            message += strlen(path);
        }
        cr_expect_eq(strncmp(message, refused[i].message, strlen(refused[i].message)), 0, "%s",
                     message);
        document_deinit(&d); // emptied already
    }
}

Test(document, names_a_file_that_is_missing) {
    document d;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(document_load(&d, "/tmp/hox_no_such.json", NULL, 0, &error), HOX_IO);
    cr_expect(strstr(error.message, "/tmp/hox_no_such.json"), "%s", error.message);
}

Test(document, knows_the_folder_of_its_file) {
    document d;
    load_ok(&d, "{}", NULL, 0);
    cr_expect_str_eq(document_folder_of(&d, "/a"), folder);
    document_deinit(&d);
    cr_assert_eq(chdir(folder), 0);
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(document_load(&d, "run.json", NULL, 0, &error), HOX_OK, "%s", error.message);
    cr_expect_str_eq(document_folder_of(&d, "/a"), folder);
    cr_expect_str_eq(d.layers[0].path, "run.json");
    document_deinit(&d);
}

static void expect_blame(const document *d, const char *pointer, const char *expected) {
    char line[256];
    const problem p = {pointer, "is wrong"};
    document_describe(d, &p, line, sizeof line);
    const char *got = line;
    if (expected[0] == ':') {
        cr_assert_eq(strncmp(line, path, strlen(path)), 0, "%s", line);
        got += strlen(path);
    }
    cr_expect_str_eq(got, expected);
}

Test(document, blames_the_place_in_the_file_or_the_set) {
    static const char *const sets[] = {"a.b=1", "a.list=[1, 2]", "new.key=3", "x/y.z=4", "a.b=5"};
    document d;
    load_ok(&d, "{\n  \"a\": {\"b\": 0, \"c\": 1},\n  \"bb\": 2}", sets, 5);
    expect_blame(&d, "/a/c", ":2:17: /a/c: is wrong");
    expect_blame(&d, "/bb", ":3:3: /bb: is wrong");
    expect_blame(&d, "", ":1:1: /: is wrong");
    expect_blame(&d, "/a", ":2:3: /a: is wrong");
    expect_blame(&d, "/a/missing", ":2:3: /a/missing: is wrong");
    expect_blame(&d, "/a/b", "--set a.b=5: is wrong"); // the last of them
    expect_blame(&d, "/a/list", "--set a.list=[1, 2]: is wrong");
    expect_blame(&d, "/a/list/1", "--set a.list=[1, 2]: is wrong");
    expect_blame(&d, "/a/lis", ":2:3: /a/lis: is wrong");
    expect_blame(&d, "/a/lists", ":2:3: /a/lists: is wrong");
    expect_blame(&d, "/new/key", "--set new.key=3: is wrong");
    expect_blame(&d, "/new", "--set new.key=3: is wrong"); // a section only the set has
    expect_blame(&d, "/x~1y/z", "--set x/y.z=4: is wrong");
    expect_blame(&d, "/x/y/z", ":1:1: /x/y/z: is wrong");
    document_deinit(&d);
}

// ---- extends ----

static char base_path[80];

static void write_base(const char *text) {
    snprintf(base_path, sizeof base_path, "%s/base.json", folder);
    cr_assert_eq(file_write(base_path, text, strlen(text), NULL), HOX_OK);
}

Test(document, lies_over_the_file_it_extends) {
    static const char *const sets[] = {"a.d=9"};
    document d;
    write_base("{\"a\": {\"b\": 1, \"c\": 2, \"d\": 3}, \"list\": [1, 2]}");
    load_ok(&d, "{\"extends\": \"base.json\", \"a\": {\"b\": 5}, \"list\": [7]}", sets, 1);
    json_t *expected =
        json_loads("{\"a\": {\"b\": 5, \"c\": 2, \"d\": 9}, \"list\": [7]}", 0, NULL);
    cr_expect(json_equal(d.root, expected));
    json_decref(expected);
    document_deinit(&d);
    unlink(base_path);
}

Test(document, blames_the_file_that_says_it) {
    document d;
    char line[256], start[100];
    write_base("{\n \"a\": {\"b\": 1, \"c\": 2}}");
    load_ok(&d, "{\"extends\": \"base.json\",\n\n\"a\": {\"b\": 5}}", NULL, 0);
    document_describe(&d, &(problem){"/a/c", "is wrong"}, line, sizeof line);
    snprintf(start, sizeof start, "%s/base.json:2:16: /a/c", folder);
    cr_expect_eq(strncmp(line, start, strlen(start)), 0, "%s", line);
    document_describe(&d, &(problem){"/a/b", "is wrong"}, line, sizeof line);
    snprintf(start, sizeof start, "%s:3:7: /a/b", path);
    cr_expect_eq(strncmp(line, start, strlen(start)), 0, "%s", line);
    document_deinit(&d);
    unlink(base_path);
}

Test(document, takes_paths_relative_to_the_file_that_says_them) {
    static const char *const sets[] = {"set=x"};
    document d;
    char below[100], here[4096];
    snprintf(below, sizeof below, "%s/below", folder);
    cr_assert_eq(file_make_folders(below, NULL), HOX_OK);
    snprintf(base_path, sizeof base_path, "%s/below/base.json", folder);
    cr_assert_eq(file_write(base_path, "{\"theirs\": 1}", 13, NULL), HOX_OK);
    load_ok(&d, "{\"extends\": \"below/base.json\", \"ours\": 1}", sets, 1);
    cr_expect_str_eq(document_folder_of(&d, "/theirs"), below);
    cr_expect_str_eq(document_folder_of(&d, "/ours"), folder);
    cr_expect_str_eq(document_folder_of(&d, "/set"), getcwd(here, sizeof here));
    document_deinit(&d);
    unlink(base_path);
    rmdir(below);
}

Test(document, refuses_what_it_cannot_extend) {
    static const struct {
        const char *text, *expected;
    } rows[] = {{"{\"extends\": 3}", ":1:2: /extends: expected the path of a file"},
                {"{\"extends\": \"\"}", ":1:2: /extends: expected the path of a file"},
                {"{\"extends\": \"run.json\"}", "is there a circle?"},
                {"{\"extends\": \"none.json\"}", "none.json: cannot open"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        document d;
        hox_error error = HOX_ERROR_INIT;
        cr_expect_eq(load(&d, rows[i].text, NULL, 0, &error), HOX_BAD_OPTION);
        cr_expect(strstr(error.message, rows[i].expected), "%s", error.message);
    }
}
