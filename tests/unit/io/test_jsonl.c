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
