// test_catalog.c - where plugins are looked for, and in which order.
#include "plugin_host/catalog.h"
#include "plugin_host/loader.h"
#include "temp_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <unistd.h>

enum { FIRST, SECOND, THIRD, FOLDERS };
static temp_folder folders[FOLDERS];

static void setup(void) {
    for (int i = 0; i < FOLDERS; i++)
        folders[i] = temp_folder_make();
    unsetenv("HOX_PLUGIN_PATH");
    setenv("XDG_DATA_HOME", "/nowhere", 1);
}

static void teardown(void) {
    for (int i = 0; i < FOLDERS; i++)
        temp_folder_remove(&folders[i]);
}

TestSuite(catalog, .init = setup, .fini = teardown);

// A plugin of this build, in a folder of the test.
static void put(int folder, const char *file) {
    char target[4096], *link = temp_path(&folders[folder], file);
    snprintf(target, sizeof target, HOX_PLUGIN_DIR "/%s", file);
    cr_assert_eq(symlink(target, link), 0);
    free(link);
}

static void put_text(int folder, const char *file) {
    char *path = temp_path(&folders[folder], file);
    temp_write(path, "no plugin\n");
    free(path);
}

static catalog open_catalog(const char *paths) {
    catalog c;
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(catalog_init(&c, &paths, paths != NULL, &error), HOX_OK, "%s", error.message);
    return c;
}

static void check_open(catalog *c, const char *name, const char *folder, int where,
                       const char *file) {
    const hox_plugin *plugin;
    const char *path;
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(catalog_open(c, HOX_KIND_FITNESS, name, folder, NULL, &plugin, &path, &error),
                 HOX_OK, "%s", error.message);
    char *expected = temp_path(&folders[where], file);
    cr_expect_str_eq(path, expected);
    cr_expect_str_eq(plugin->name, "accuracy");
    free(expected);
}

Test(catalog, looks_in_order_and_once_in_each_folder) {
    char paths[256], variable[256], user[256];
    snprintf(paths, sizeof paths, "%s::%s:", folders[SECOND].path, folders[FIRST].path);
    snprintf(variable, sizeof variable, ":%s:%s", folders[THIRD].path, folders[SECOND].path);
    setenv("HOX_PLUGIN_PATH", variable, 1);
    setenv("XDG_DATA_HOME", "/home/data", 1);
    catalog c = open_catalog(paths);
    cr_assert_eq(c.folder_count, 5);
    cr_expect_str_eq(c.folders[0], folders[SECOND].path);
    cr_expect_str_eq(c.folders[1], folders[FIRST].path);
    cr_expect_str_eq(c.folders[2], folders[THIRD].path);
    cr_expect_str_eq(c.folders[3], "/home/data/hox/plugins");
    // next to the executable: .../tests/unit/<this>, so .../tests/lib
    snprintf(user, sizeof user, "/tests/unit/lib/hox/plugins");
    cr_expect_str_eq(c.folders[4] + strlen(c.folders[4]) - strlen(user), user);
    catalog_deinit(&c);

    unsetenv("XDG_DATA_HOME");
    setenv("HOME", "/home/me", 1);
    c = open_catalog(NULL);
    cr_expect_str_eq(c.folders[2], "/home/me/.local/share/hox/plugins");
    catalog_deinit(&c);
}

Test(catalog, sorts_by_name_and_hides_the_later_ones) {
    char paths[256];
    snprintf(paths, sizeof paths, "%s:%s", folders[FIRST].path, folders[SECOND].path);
    put(FIRST, "runtime_eager.so");
    put(FIRST, "dataset_synthetic.so");
    put_text(FIRST, "fitness_accuracy.so");
    put_text(FIRST, "readme.txt");
    put_text(FIRST, "libother.so");
    put(SECOND, "runtime_eager.so");
    put(SECOND, "fitness_accuracy.so");
    catalog c = open_catalog(paths);
    for (int i = 0; i < 2; i++) // scanning again changes nothing
        cr_assert_eq(catalog_scan(&c, NULL), HOX_OK);
    static const struct {
        int folder;
        const char *file, *refusal;
    } expected[] = {
        {FIRST, "dataset_synthetic.so", NULL},
        {FIRST, "fitness_accuracy.so", "not a shared object"},
        {FIRST, "libother.so", "the file name is not"},
        {FIRST, "runtime_eager.so", NULL},
        {SECOND, "fitness_accuracy.so", NULL},
        {SECOND, "runtime_eager.so", "hidden by "},
    };
    cr_assert_eq(c.entry_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < c.entry_count; i++) {
        char *path = temp_path(&folders[expected[i].folder], expected[i].file);
        cr_expect_str_eq(c.entries[i].path, path);
        cr_expect_eq(!c.entries[i].plugin, expected[i].refusal != NULL, "%s", path);
        cr_expect_eq(!c.entries[i].refusal, !expected[i].refusal, "%s", path);
        if (c.entries[i].refusal)
            cr_expect(strstr(c.entries[i].refusal, expected[i].refusal), "%s: %s", path,
                      c.entries[i].refusal);
        free(path);
    }
    cr_expect(strstr(c.entries[5].refusal, c.entries[3].path), "%s", c.entries[5].refusal);
    catalog_deinit(&c);
}

Test(catalog, opens_by_name_the_first_that_can_be_used) {
    char paths[256];
    snprintf(paths, sizeof paths, "%s:%s:%s", folders[FIRST].path, folders[SECOND].path,
             folders[THIRD].path);
    put_text(FIRST, "fitness_accuracy.so");
    put(SECOND, "fitness_accuracy.so");
    put(THIRD, "fitness_accuracy.so");
    catalog c = open_catalog(paths);
    check_open(&c, "accuracy", "/", SECOND, "fitness_accuracy.so");
    catalog_deinit(&c);
}

Test(catalog, says_why_what_is_there_cannot_be_used) {
    put_text(FIRST, "fitness_accuracy.so");
    catalog c = open_catalog(folders[FIRST].path);
    const hox_plugin *plugin;
    const char *path;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(catalog_open(&c, HOX_KIND_FITNESS, "accuracy", "/", NULL, &plugin, &path, &error),
                 HOX_VERSION);
    char expected[256];
    snprintf(expected, sizeof expected, "%s/fitness_accuracy.so: not a shared object",
             folders[FIRST].path);
    cr_expect_str_eq(error.message, expected);
    cr_expect_null(plugin);
    cr_expect_null(path);
    catalog_deinit(&c);
}

Test(catalog, says_where_it_looked_in_vain) {
    put(FIRST, "fitness_accuracy.so");
    catalog c = open_catalog(folders[FIRST].path);
    const hox_plugin *plugin;
    const char *path;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(catalog_open(&c, HOX_KIND_DATASET, "accuracy", "/", NULL, &plugin, &path, &error),
                 HOX_NOT_FOUND);
    cr_expect(strstr(error.message, "no dataset plugin \"accuracy\""), "%s", error.message);
    cr_expect(strstr(error.message, "hox plugins list"), "%s", error.message);
    cr_expect(strstr(error.message, folders[FIRST].path), "%s", error.message);
    catalog_deinit(&c);
}

Test(catalog, takes_a_path_from_the_folder_of_the_file_that_says_it) {
    put(FIRST, "fitness_accuracy.so");
    char *sub = temp_path(&folders[SECOND], "sub"), *file = temp_path(&folders[SECOND], "sub/any");
    cr_assert_eq(mkdir(sub, 0777), 0);
    cr_assert_eq(symlink(HOX_PLUGIN_DIR "/fitness_accuracy.so", file), 0);
    catalog c = open_catalog(NULL);
    check_open(&c, "sub/any", folders[SECOND].path, SECOND, "sub/any");
    check_open(&c, "./sub/any", folders[SECOND].path, SECOND, "./sub/any");
    check_open(&c, file, "/elsewhere", SECOND, "sub/any");

    const hox_plugin *plugin;
    const char *path;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(catalog_open(&c, HOX_KIND_RUNTIME, file, "/", NULL, &plugin, &path, &error),
                 HOX_VERSION);
    cr_expect(strstr(error.message, "kind 3 (fitness) where a runtime is wanted"), "%s",
              error.message);
    hox_error missing = HOX_ERROR_INIT;
    cr_expect_eq(
        catalog_open(&c, HOX_KIND_FITNESS, "./none.so", "/tmp", NULL, &plugin, &path, &missing),
        HOX_VERSION);
    cr_expect_str_eq(missing.message, "/tmp/./none.so: No such file or directory");
    catalog_deinit(&c);
    free(sub);
    free(file);
}

Test(catalog, never_looks_in_the_current_folder) {
    put(FIRST, "fitness_accuracy.so");
    cr_assert_eq(chdir(folders[FIRST].path), 0);
    setenv("HOX_PLUGIN_PATH", ":", 1);
    setenv("XDG_DATA_HOME", "", 1);
    setenv("HOME", "relative", 1);
    catalog c = open_catalog("::");
    const hox_plugin *plugin;
    const char *path;
    cr_expect_eq(catalog_open(&c, HOX_KIND_FITNESS, "accuracy", folders[FIRST].path, NULL, &plugin,
                              &path, NULL),
                 HOX_NOT_FOUND);
    cr_assert_eq(catalog_scan(&c, NULL), HOX_OK);
    cr_expect_eq(c.entry_count, 0);
    catalog_deinit(&c);
}

Test(catalog, does_not_wait_for_a_fifo) {
    char *path = temp_path(&folders[FIRST], "fitness_fifo.so");
    cr_assert_eq(mkfifo(path, 0666), 0);
    put(FIRST, "fitness_accuracy.so");
    catalog c = open_catalog(folders[FIRST].path);
    cr_assert_eq(catalog_scan(&c, NULL), HOX_OK);
    cr_assert_eq(c.entry_count, 2);
    cr_expect_not_null(c.entries[0].plugin);
    cr_expect_str_eq(c.entries[1].refusal, "not a regular file");
    catalog_deinit(&c);
    free(path);
}

Test(catalog, hands_out_the_same_plugin_twice) {
    const hox_plugin *first, *second;
    cr_assert_eq(loader_open(HOX_PLUGIN_DIR "/fitness_accuracy.so", 0, NULL, &first, NULL), HOX_OK);
    cr_assert_eq(loader_open(HOX_PLUGIN_DIR "/fitness_accuracy.so", 0, NULL, &second, NULL),
                 HOX_OK);
    cr_expect_eq(first, second);
}
