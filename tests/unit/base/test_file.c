// test_file.c - whole files, in folders of the test's own.
#include "base/file.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/hox_file_XXXXXX";

static const char *path_in(const char *name) {
    static char paths[4][96];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

static void set_up(void) {
    cr_assert_not_null(mkdtemp(folder));
}

static void tear_down(void) {
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_expect_eq(system(command), 0);
}

TestSuite(file, .init = set_up, .fini = tear_down, .timeout = 20);

static void write_ok(const char *path, const void *data, size_t size) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(file_write(path, data, size, &error), HOX_OK, "%s", error.message);
}

static void expect_content(const char *path, const void *expected, size_t expected_size) {
    char *data;
    size_t size;
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(file_read(path, 1 << 20, &data, &size, &error), HOX_OK, "%s", error.message);
    cr_assert_eq(size, expected_size);
    cr_expect_arr_eq(data, expected, expected_size);
    cr_expect_eq(data[size], 0);
    free(data);
}

static void expect_unreadable(const char *path, size_t most, const char *reason) {
    char *data = (char *)1;
    size_t size = 1;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(file_read(path, most, &data, &size, &error), HOX_IO);
    cr_expect_null(data);
    cr_expect_eq(size, 0);
    cr_expect(strstr(error.message, path) && strstr(error.message, reason), "%s", error.message);
}

Test(file, reads_what_it_wrote) {
    const char *path = path_in("a");
    write_ok(path, "one\0two", 7);
    expect_content(path, "one\0two", 7);
    write_ok(path, "three", 5);
    expect_content(path, "three", 5);
    write_ok(path, "", 0);
    expect_content(path, "", 0);
    cr_expect_neq(access(path_in("a.tmp"), F_OK), 0, "the file beside is left");
}

Test(file, keeps_the_old_file_where_the_new_cannot_be_written) {
    const char *path = path_in("a");
    write_ok(path, "old", 3);
    cr_assert_eq(mkdir(path_in("a.tmp"), 0777), 0);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(file_write(path, "new", 3, &error), HOX_IO);
    cr_expect(strstr(error.message, path), "%s", error.message);
    expect_content(path, "old", 3);
}

Test(file, leaves_nothing_beside_where_the_new_cannot_take_its_place) {
    const char *path = path_in("a");
    cr_assert_eq(mkdir(path, 0777), 0);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(file_write(path, "new", 3, &error), HOX_IO);
    cr_expect(strstr(error.message, path), "%s", error.message);
    cr_expect_neq(access(path_in("a.tmp"), F_OK), 0);
}

Test(file, does_not_write_into_a_folder_that_is_missing) {
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(file_write(path_in("b/a"), "new", 3, &error), HOX_IO);
    cr_expect(strstr(error.message, "b/a"), "%s", error.message);
}

Test(file, reads_at_most_what_it_may) {
    const char *path = path_in("a");
    char *data;
    size_t size;
    write_ok(path, "12345", 5);
    cr_assert_eq(file_read(path, 5, &data, &size, NULL), HOX_OK);
    free(data);
    expect_unreadable(path, 4, "5 bytes");
}

Test(file, reads_regular_files_only) {
    expect_unreadable(folder, 100, "not a regular file");
    expect_unreadable(path_in("missing"), 100, "No such file");
    const char *fifo = path_in("fifo");
    cr_assert_eq(mkfifo(fifo, 0666), 0);
    expect_unreadable(fifo, 100, "not a regular file"); // and does not wait for a writer
    expect_unreadable("/dev/zero", 100, "not a regular file");
}

Test(file, write_all_says_why_it_could_not) {
    const char *path = path_in("a");
    write_ok(path, "old", 3);
    const int descriptor = open(path, O_RDONLY);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(file_write_all(descriptor, path, "new", 3, &error), HOX_IO);
    cr_expect(strstr(error.message, path), "%s", error.message);
    close(descriptor);
    expect_content(path, "old", 3);
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

Test(file, makes_folders_as_deep_as_needed) {
    cr_expect_eq(file_make_folders(path_in("b/c//d/"), NULL), HOX_OK);
    cr_expect(is_folder(path_in("b/c/d")));
    cr_expect_eq(file_make_folders(path_in("b/c/d"), NULL), HOX_OK, "what is there is fine");
    cr_expect_eq(file_make_folders("/", NULL), HOX_OK);
    cr_assert_eq(chdir(folder), 0);
    cr_expect_eq(file_make_folders("e/f", NULL), HOX_OK);
    cr_expect(is_folder(path_in("e/f")));
}

Test(file, makes_no_folder_over_a_file) {
    const char *path = path_in("a");
    write_ok(path, "old", 3);
    hox_error error = HOX_ERROR_INIT, below = HOX_ERROR_INIT, none = HOX_ERROR_INIT;
    cr_expect_eq(file_make_folders(path, &error), HOX_IO);
    cr_expect(strstr(error.message, path), "%s", error.message);
    cr_expect_eq(file_make_folders(path_in("a/b/c"), &below), HOX_IO);
    cr_expect(strstr(below.message, "a/b"), "%s", below.message);
    cr_expect_eq(file_make_folders("", &none), HOX_IO);
    expect_content(path, "old", 3);
}
