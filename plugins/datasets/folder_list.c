// folder_list.c - see folder_list.h.
#include "folder_list.h"

#include "block.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIRST_TEXT_BYTES = 4096 };

static hox_status make_room(folder_list *list, uint64_t bytes, hox_error *error) {
    if (list->text_bytes - list->text_used >= bytes) return HOX_OK;
    const uint64_t wanted = list->text_bytes ? 2 * list->text_bytes : FIRST_TEXT_BYTES;
    void *block;
    HOX_TRY(take_block(list->host, wanted, &block, error));
    if (list->text) memcpy(block, list->text, list->text_used);
    return_block(list->host, list->text, list->text_bytes);
    list->text = block;
    list->text_bytes = wanted;
    return HOX_OK;
}

static hox_status add_name(folder_list *list, const char *name, hox_error *error) {
    const uint64_t bytes = strlen(name) + 1; // at most 256
    HOX_TRY(make_room(list, bytes, error));
    memcpy(list->text + list->text_used, name, bytes);
    list->text_used += bytes;
    list->count++;
    return HOX_OK;
}

static bool is_left_out(const char *name) {
    static const char *const readmes[] = {"README", "README.md", "README.txt"};
    for (size_t i = 0; i < sizeof readmes / sizeof *readmes; i++)
        if (strcasecmp(name, readmes[i]) == 0) return true;
    return name[0] == '.';
}

static hox_status read_text(folder_list *list, DIR *folder, const char *path, hox_error *error) {
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry && errno != 0)
            return hox_error_set(error, HOX_IO, "%s: %s", path, strerror(errno));
        if (!entry) return HOX_OK;
        if (!is_left_out(entry->d_name)) HOX_TRY(add_name(list, entry->d_name, error));
    }
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static hox_status sort_names(folder_list *list, hox_error *error) {
    if (list->count == 0) return HOX_OK;
    void *block;
    HOX_TRY(take_block(list->host, list->count * sizeof *list->names, &block, error));
    list->names = block;
    const char *name = list->text;
    for (uint64_t i = 0; i < list->count; i++) {
        list->names[i] = name;
        name += strlen(name) + 1;
    }
    qsort(list->names, list->count, sizeof *list->names, compare_names);
    return HOX_OK;
}

hox_status folder_list_read(folder_list *list, const hox_host *host, const char *path,
                            hox_error *error) {
    list->host = host;
    DIR *folder = opendir(path);
    if (!folder) return hox_error_set(error, HOX_IO, "%s: %s", path, strerror(errno));
    const hox_status status = read_text(list, folder, path, error);
    closedir(folder);
    return status == HOX_OK ? sort_names(list, error) : status;
}

void folder_list_deinit(folder_list *list) {
    return_block(list->host, list->names, list->count * sizeof *list->names);
    return_block(list->host, list->text, list->text_bytes);
    *list = (folder_list){0};
}

int64_t folder_list_find(const folder_list *list, const char *name) {
    if (list->count == 0) return -1;
    const char **found =
        bsearch(&name, list->names, list->count, sizeof *list->names, compare_names);
    return found ? found - list->names : -1;
}
