#include "plugin_host/catalog.h"

#include "base/array.h"
#include "plugin_host/descriptor.h"
#include "plugin_host/loader.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- where to look ----

static hox_status add_folder(catalog *c, const char *path, int length, const char *below,
                             hox_error *error) {
    const char *folder = arena_print(&c->memory, error, "%.*s%s", length, path, below);
    if (!folder) return HOX_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < c->folder_count; i++)
        if (strcmp(c->folders[i], folder) == 0) return HOX_OK;
    const char **folders =
        array_grow(c->folders, &c->folder_capacity, c->folder_count + 1, sizeof *folders, error);
    if (!folders) return HOX_OUT_OF_HOST_MEMORY;
    c->folders = folders;
    folders[c->folder_count++] = folder;
    return HOX_OK;
}

static hox_status add_list(catalog *c, const char *list, hox_error *error) {
    while (list && *list) {
        const size_t length = strcspn(list, ":");
        if (length > 0) HOX_TRY(add_folder(c, list, (int)length, "", error));
        list += length + (list[length] == ':');
    }
    return HOX_OK;
}

static hox_status add_user_folder(catalog *c, hox_error *error) {
    const char *data = secure_getenv("XDG_DATA_HOME"), *home = secure_getenv("HOME");
    if (data && data[0] == '/') return add_folder(c, data, INT_MAX, "/hox/plugins", error);
    if (home && home[0] == '/')
        return add_folder(c, home, INT_MAX, "/.local/share/hox/plugins", error);
    return HOX_OK;
}

static hox_status add_own_folder(catalog *c, hox_error *error) {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return HOX_OK;
    path[length] = 0;
    for (int i = 0; i < 2; i++) { // the executable's name, then bin
        char *slash = strrchr(path, '/');
        if (slash) *slash = 0;
    }
    return add_folder(c, path, INT_MAX, "/lib/hox/plugins", error);
}

static hox_status add_folders(catalog *c, const char *const *plugin_paths, size_t count,
                              hox_error *error) {
    for (size_t i = 0; i < count; i++)
        HOX_TRY(add_list(c, plugin_paths[i], error));
    HOX_TRY(add_list(c, secure_getenv("HOX_PLUGIN_PATH"), error));
    HOX_TRY(add_user_folder(c, error));
    return add_own_folder(c, error);
}

hox_status catalog_init(catalog *c, const char *const *plugin_paths, size_t plugin_path_count,
                        hox_error *error) {
    *c = (catalog){0};
    const hox_status status = add_folders(c, plugin_paths, plugin_path_count, error);
    if (status != HOX_OK) catalog_deinit(c);
    return status;
}

void catalog_deinit(catalog *c) {
    arena_deinit(&c->memory);
    free(c->folders);
    free(c->entries);
    *c = (catalog){0};
}

// ---- what is there ----

// Splits <kind>_<name>.so. False where the name is not of that form.
static bool parse_file_name(catalog *c, const char *file, uint32_t *kind, const char **name) {
    const size_t kind_length = strcspn(file, "_"), length = strlen(file);
    *kind = descriptor_kind_of(file, kind_length);
    if (*kind == 0 || length < kind_length + 1 + 3) return false;
    *name = arena_print(&c->memory, NULL, "%.*s", (int)(length - kind_length - 4),
                        file + kind_length + 1);
    return *name && **name;
}

static const catalog_entry *find(const catalog *c, uint32_t kind, const char *name) {
    for (size_t i = 0; i < c->entry_count; i++)
        if (c->entries[i].plugin && c->entries[i].kind == kind &&
            strcmp(c->entries[i].name, name) == 0)
            return &c->entries[i];
    return NULL;
}

static hox_status try_file(catalog *c, const char *folder, const char *file, hox_error *error) {
    catalog_entry entry = {.path = arena_print(&c->memory, error, "%s/%s", folder, file),
                           .name = ""};
    if (!entry.path) return HOX_OUT_OF_HOST_MEMORY;
    hox_error why = HOX_ERROR_INIT;
    if (!parse_file_name(c, file, &entry.kind, &entry.name)) {
        entry.refusal = "the file name is not runtime_<name>.so, dataset_<name>.so or "
                        "fitness_<name>.so";
    } else if (find(c, entry.kind, entry.name)) {
        entry.refusal =
            arena_print(&c->memory, error, "hidden by %s", find(c, entry.kind, entry.name)->path);
    } else if (loader_open(entry.path, entry.kind, entry.name, &entry.plugin, &why) != HOX_OK) {
        const size_t path_length = strlen(entry.path); // the entry has the path already
        const bool says_path = strncmp(why.message, entry.path, path_length) == 0;
        entry.refusal =
            arena_print(&c->memory, error, "%s", why.message + (says_path ? path_length + 2 : 0));
    }
    if (!entry.plugin && !entry.refusal) return HOX_OUT_OF_HOST_MEMORY;
    catalog_entry *entries =
        array_grow(c->entries, &c->entry_capacity, c->entry_count + 1, sizeof *entries, error);
    if (!entries) return HOX_OUT_OF_HOST_MEMORY;
    c->entries = entries;
    entries[c->entry_count++] = entry;
    return HOX_OK;
}

static int is_shared_object(const struct dirent *entry) {
    const size_t length = strlen(entry->d_name);
    return length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static hox_status scan_folder(catalog *c, const char *folder, hox_error *error) {
    struct dirent **files;
    const int count = scandir(folder, &files, is_shared_object, by_name);
    if (count < 0) return HOX_OK; // a folder that is not there holds nothing
    hox_status status = HOX_OK;
    for (int i = 0; i < count; i++) {
        if (status == HOX_OK) status = try_file(c, folder, files[i]->d_name, error);
        free(files[i]);
    }
    free(files);
    return status;
}

hox_status catalog_scan(catalog *c, hox_error *error) {
    c->entry_count = 0;
    for (size_t i = 0; i < c->folder_count; i++)
        HOX_TRY(scan_folder(c, c->folders[i], error));
    return HOX_OK;
}

// ---- one of them ----

static hox_status open_path(catalog *c, uint32_t kind, const char *name, const char *folder,
                            const hox_plugin **plugin, const char **path, hox_error *error) {
    *path = name[0] == '/' ? arena_print(&c->memory, error, "%s", name)
                           : arena_print(&c->memory, error, "%s/%s", folder, name);
    return *path ? loader_open(*path, kind, NULL, plugin, error) : HOX_OUT_OF_HOST_MEMORY;
}

static hox_status not_found(const catalog *c, uint32_t kind, const char *name, hox_error *error) {
    char folders[300] = "";
    for (size_t i = 0; i < c->folder_count; i++) {
        const size_t used = strlen(folders);
        snprintf(folders + used, sizeof folders - used, "%s%s", used ? ", " : "", c->folders[i]);
    }
    return hox_error_set(
        error, HOX_NOT_FOUND,
        "no %s plugin \"%.64s\"; \"hox plugins list\" shows what there is (looked in %s)",
        descriptor_kind_name(kind), name, folders);
}

hox_status catalog_open(catalog *c, uint32_t kind, const char *name, const char *folder,
                        const log_sink *log, const hox_plugin **plugin, const char **path,
                        hox_error *error) {
    *plugin = NULL;
    *path = NULL;
    if (strchr(name, '/')) return open_path(c, kind, name, folder, plugin, path, error);
    hox_error refusal = HOX_ERROR_INIT; // of the first that is there but cannot be used
    for (size_t i = 0; i < c->folder_count; i++) {
        const char *tried = arena_print(&c->memory, error, "%s/%s_%s.so", c->folders[i],
                                        descriptor_kind_name(kind), name);
        if (!tried) return HOX_OUT_OF_HOST_MEMORY;
        if (access(tried, F_OK) != 0) continue;
        if (loader_open(tried, kind, name, plugin, &refusal) != HOX_OK) continue;
        if (refusal.status != HOX_OK)
            log_line(log, HOX_LOG_WARNING, "%s; %s is taken instead", refusal.message, tried);
        *path = tried;
        return HOX_OK;
    }
    if (refusal.status != HOX_OK) return hox_error_pass(error, refusal.status, &refusal);
    return not_found(c, kind, name, error);
}
