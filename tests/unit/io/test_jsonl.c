// test_jsonl.c - a line an object, whole or not at all.
#include "io/jsonl.h"
#include "temp_folder.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/resource.h>

Test(jsonl, grows_by_whole_lines) {
    const temp_folder folder = temp_folder_make();
    char *path = temp_path(&folder, "lines.jsonl");
    jsonl file;
    cr_assert_eq(jsonl_create(&file, path, NULL), HOX_OK);
    cr_assert_eq(jsonl_append(&file, json_pack("{s:i, s:s}", "a", 1, "b", "two\nlines"), NULL),
                 HOX_OK);
    cr_assert_eq(jsonl_append(&file, json_object(), NULL), HOX_OK);
    cr_assert_eq(jsonl_sync(&file, NULL), HOX_OK);
    char *text = temp_read(path, NULL);
    cr_expect_str_eq(text, "{\"a\":1,\"b\":\"two\\nlines\"}\n{}\n");
    cr_expect_eq(jsonl_append(&file, NULL, NULL), HOX_OUT_OF_HOST_MEMORY);
    jsonl_close(&file);
    jsonl_close(&file);
    free(text);
    free(path);
    temp_folder_remove(&folder);
}

Test(jsonl, never_writes_into_a_file_that_is_there) {
    const temp_folder folder = temp_folder_make();
    char *path = temp_path(&folder, "lines.jsonl");
    temp_write(path, "mine\n");
    hox_error error = HOX_ERROR_INIT;
    jsonl file;
    cr_expect_eq(jsonl_create(&file, path, &error), HOX_IO);
    cr_expect(strstr(error.message, path), "%s", error.message);
    char *text = temp_read(path, NULL);
    cr_expect_str_eq(text, "mine\n");
    jsonl_close(&file);
    free(text);
    free(path);
    temp_folder_remove(&folder);
}

Test(jsonl, says_when_a_line_does_not_fit) {
    const temp_folder folder = temp_folder_make();
    char *path = temp_path(&folder, "lines.jsonl");
    const struct rlimit limit = {4, 4};
    signal(SIGXFSZ, SIG_IGN);
    jsonl file;
    cr_assert_eq(jsonl_create(&file, path, NULL), HOX_OK);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(jsonl_append(&file, json_pack("{s:i}", "abcdef", 1), &error), HOX_IO);
    cr_expect(strstr(error.message, path), "%s", error.message);
    cr_expect(strstr(error.message, "File too large"), "%s", error.message);
    jsonl_close(&file);
    free(path);
    temp_folder_remove(&folder);
}

// ---- going on ----

static const char three[] = "{\"a\":1}\n{\"a\":22}\n{\"a\":333}\n";

// Reopens a file that holds text (NULL = there is none) behind so many lines, adds a line, and
// compares.
static void check_reopen(const char *text, uint64_t lines, const char *expected) {
    const temp_folder folder = temp_folder_make();
    char *path = temp_path(&folder, "lines.jsonl");
    if (text) temp_write(path, text);
    jsonl file;
    cr_assert_eq(jsonl_reopen(&file, path, lines, NULL), HOX_OK);
    cr_assert_eq(jsonl_append(&file, json_object(), NULL), HOX_OK);
    jsonl_close(&file);
    char *now = temp_read(path, NULL);
    cr_expect_str_eq(now, expected, "behind %zu lines of %s: %s", (size_t)lines,
                     text ? text : "nothing", now);
    free(now);
    free(path);
    temp_folder_remove(&folder);
}

Test(jsonl, goes_on_behind_so_many_lines) {
    check_reopen(three, 0, "{}\n");
    check_reopen(three, 1, "{\"a\":1}\n{}\n");
    check_reopen(three, 2, "{\"a\":1}\n{\"a\":22}\n{}\n");
    check_reopen(three, 3, "{\"a\":1}\n{\"a\":22}\n{\"a\":333}\n{}\n");
    check_reopen(three, UINT64_MAX, "{\"a\":1}\n{\"a\":22}\n{\"a\":333}\n{}\n");
    check_reopen(NULL, 0, "{}\n");
    check_reopen(NULL, UINT64_MAX, "{}\n");
    check_reopen("", UINT64_MAX, "{}\n");
}

Test(jsonl, drops_half_a_line_at_the_end) {
    check_reopen("{\"a\":1}\n{\"a\"", UINT64_MAX, "{\"a\":1}\n{}\n");
    check_reopen("{\"a\":1}\n{\"a\"", 1, "{\"a\":1}\n{}\n");
    check_reopen("{\"a\"", UINT64_MAX, "{}\n");
}

Test(jsonl, counts_whole_lines) {
    static const struct {
        const char *text; // NULL = no file
        uint64_t count;
    } rows[] = {{NULL, 0}, {"", 0}, {"{}", 0}, {"{}\n", 1}, {"{}\n{", 1}, {three, 3}};
    const temp_folder folder = temp_folder_make();
    char *path = temp_path(&folder, "lines.jsonl");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].text) temp_write(path, rows[i].text);
        cr_expect_eq(jsonl_count(path), rows[i].count, "row %zu", i);
    }
    free(path);
    temp_folder_remove(&folder);
}

Test(jsonl, says_what_it_cannot_reopen) {
    const temp_folder folder = temp_folder_make();
    hox_error error = HOX_ERROR_INIT;
    jsonl file;
    cr_expect_eq(jsonl_reopen(&file, folder.path, 0, &error), HOX_IO);
    cr_expect(strstr(error.message, folder.path), "%s", error.message);
    cr_expect_eq(file.descriptor, -1);
    jsonl_close(&file);
    temp_folder_remove(&folder);
}
