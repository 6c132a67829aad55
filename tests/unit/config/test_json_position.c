// test_json_position.c - lines and columns, counted by hand.
#include "config/json_position.h"

#include <criterion/criterion.h>
#include <string.h>

static const char nested[] = "{\n"
                             "  \"a\": 1,\n"
                             "  \"b\": {\"c\": [10, {\"d\": 2}, [3, 4]],\n"
                             "        \"e\" : \"x, } ] : \\\" y\"},\n"
                             "  \"a/b\": {\"m~n\": true},\n"
                             "\t\"f\": null, \"g\": -1.5e3\n"
                             "}\n";
static const char accented[] = "{\"gr\303\266\303\237e\": {\"\346\227\245\": 1, \"z\": 2}}";
static const char escaped[] = "{\"a\\\"b\": 1, \"c\": {\"\\u0064\": 2}}";

static const struct {
    const char *text, *pointer;
    int line, column;
    bool is_there;
} rows[] = {
    {nested, "", 1, 1, true},
    {nested, "/a", 2, 3, true},
    {nested, "/b", 3, 3, true},
    {nested, "/b/c", 3, 9, true},
    {nested, "/b/c/0", 3, 15, true},
    {nested, "/b/c/1", 3, 19, true},
    {nested, "/b/c/1/d", 3, 20, true},
    {nested, "/b/c/2", 3, 29, true},
    {nested, "/b/c/2/1", 3, 33, true},
    {nested, "/b/e", 4, 9, true},
    {nested, "/a~1b", 5, 3, true},
    {nested, "/a~1b/m~0n", 5, 11, true},
    {nested, "/f", 6, 2, true},
    {nested, "/g", 6, 13, true},
    // missing: the nearest thing above
    {nested, "/x", 1, 1, false},
    {nested, "/b/x", 3, 3, false},
    {nested, "/b/x/c", 3, 3, false},
    {nested, "/b/c/3", 3, 9, false},
    {nested, "/b/c/1/x", 3, 19, false},
    {nested, "/a/x", 2, 3, false},
    {nested, "/a/0", 2, 3, false},
    {nested, "/a~1", 1, 1, false}, // a part of a key is no key
    {nested, "/a~1bc", 1, 1, false},
    // letters, not bytes
    {accented, "/gr\303\266\303\237e/\346\227\245", 1, 12, true},
    {accented, "/gr\303\266\303\237e/z", 1, 20, true},
    // keys written with escapes are not found, but skipped
    {escaped, "/a\"b", 1, 1, false},
    {escaped, "/c", 1, 13, true},
    {escaped, "/c/d", 1, 13, false},
    {"[]", "/0", 1, 1, false},
    {" \n [7]", "/0", 2, 3, true},
    {"{}", "/a", 1, 1, false},
    {"5", "/a", 1, 1, false},
};

Test(json_position, finds_the_place_or_the_nearest_above) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int line, column;
        const bool is_there =
            json_position_find(rows[i].text, strlen(rows[i].text), rows[i].pointer, &line, &column);
        cr_expect_eq(is_there, rows[i].is_there, "%s", rows[i].pointer);
        cr_expect(line == rows[i].line && column == rows[i].column, "%s: %d:%d", rows[i].pointer,
                  line, column);
    }
}

Test(json_position, goes_as_deep_as_the_text) {
    enum { DEPTH = 2000 };
    static char text[2 * DEPTH + 64], pointer[2 * DEPTH + 1];
    char *at = text;
    *at++ = '[';
    for (int i = 0; i < DEPTH; i++)
        *at++ = '[';
    for (int i = 0; i < DEPTH; i++)
        *at++ = ']';
    strcpy(at, ", 1]");
    int line, column;
    cr_expect(json_position_find(text, strlen(text), "/1", &line, &column));
    cr_expect_eq(column, 2 * DEPTH + 4);
    for (int i = 0; i < DEPTH; i++)
        memcpy(pointer + 2 * i, "/0", 2);
    cr_expect(json_position_find(text, strlen(text), pointer, &line, &column));
    cr_expect_eq(column, DEPTH + 1);
}
