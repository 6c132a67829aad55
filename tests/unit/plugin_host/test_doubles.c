// test_doubles.c - plugins that lie are refused in words before any of their functions is called;
// the honest ones beside them load all the same (case C19).
#include "doubles.h"
#include "plugin_host/catalog.h"
#include "plugin_host/loader.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *folder, *file;
    bool accepted;
    const char *message;
} rows[] = {
#define X(folder, file, accepted, message) {folder, file, accepted, message},
    DOUBLES(X)
#undef X
};
enum { ROWS = sizeof rows / sizeof *rows };

static void look_only_there(void) {
    unsetenv("HOX_PLUGIN_PATH");
    setenv("XDG_DATA_HOME", "/nowhere", 1);
}

static void path_of(size_t row, char path[4096]) {
    snprintf(path, 4096, HOX_DOUBLES_DIR "/%s/%s", rows[row].folder, rows[row].file);
}

static const catalog_entry *find_entry(const catalog *c, const char *path) {
    for (size_t i = 0; i < c->entry_count; i++)
        if (strcmp(c->entries[i].path, path) == 0) return &c->entries[i];
    return NULL;
}

static size_t rows_in(const char *folder) {
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        count += strcmp(rows[i].folder, folder) == 0;
    return count;
}

static void check_row(const catalog *c, size_t row) {
    char path[4096];
    path_of(row, path);
    const catalog_entry *entry = find_entry(c, path);
    cr_assert_not_null(entry, "%s was not tried", path);
    if (rows[row].accepted) {
        cr_expect_not_null(entry->plugin, "%s: %s", path, entry->refusal);
        cr_expect_null(entry->refusal, "%s", path);
        return;
    }
    cr_expect_null(entry->plugin, "%s: accepted", path);
    cr_expect(entry->refusal && strstr(entry->refusal, rows[row].message), "%s: %s", path,
              entry->refusal);
}

Test(doubles, are_judged_file_by_file) {
    look_only_there();
    cr_assert_gt(ROWS, 60);
    for (size_t i = 0; i < ROWS; i++) {
        if (i > 0 && strcmp(rows[i].folder, rows[i - 1].folder) == 0) continue;
        char folder[4096];
        snprintf(folder, sizeof folder, HOX_DOUBLES_DIR "/%s", rows[i].folder);
        const char *const paths[] = {folder};
        catalog c;
        hox_error error = HOX_ERROR_INIT;
        cr_assert_eq(catalog_init(&c, paths, 1, &error), HOX_OK, "%s", error.message);
        cr_assert_eq(catalog_scan(&c, &error), HOX_OK, "%s", error.message);
        cr_expect_eq(c.entry_count, rows_in(rows[i].folder), "%s", folder);
        for (size_t k = 0; k < ROWS; k++)
            if (strcmp(rows[k].folder, rows[i].folder) == 0) check_row(&c, k);
        catalog_deinit(&c);
    }
}

// By path there is no file name to hold the kind against; the kind that is wanted counts.
Test(doubles, are_refused_by_path_with_the_path_in_front) {
    for (size_t i = 0; i < ROWS; i++) {
        char path[4096], expected[4096];
        path_of(i, path);
        const char *rest = strchr(rows[i].file, '_');
        snprintf(expected, sizeof expected, "%.*s", (int)strlen(rest) - 4, rest + 1);
        const uint32_t kind = rows[i].file[0] == 'r'   ? HOX_KIND_RUNTIME
                              : rows[i].file[0] == 'd' ? HOX_KIND_DATASET
                                                       : HOX_KIND_FITNESS;
        const hox_plugin *plugin = (const hox_plugin *)path;
        hox_error error = HOX_ERROR_INIT;
        const hox_status status = loader_open(path, kind, expected, &plugin, &error);
        cr_expect_eq(status, rows[i].accepted ? HOX_OK : HOX_VERSION, "%s: %s", path,
                     error.message);
        if (rows[i].accepted) {
            cr_expect_str_eq(plugin->name, expected);
            continue;
        }
        cr_expect_null(plugin, "%s", path);
        cr_expect(strncmp(error.message, path, strlen(path)) == 0, "%s", error.message);
        cr_expect(strstr(error.message, rows[i].message), "%s", error.message);
    }
}
