// catalog.h - where plugins are looked for, and what is found there. Files are named
// <kind>_<name>.so.
#pragma once

#include "base/arena.h"
#include "base/log.h"

#include <hox/plugin.h>

// One file that was tried.
typedef struct catalog_entry {
    const char *path;
    uint32_t kind;            // from the file name
    const char *name;         // from the file name
    const hox_plugin *plugin; // NULL = refused
    const char *refusal;      // why, NULL = usable
} catalog_entry;

typedef struct catalog {
    arena memory;
    const char **folders; // in the order of search
    size_t folder_count, folder_capacity;
    catalog_entry *entries;
    size_t entry_count, entry_capacity;
} catalog;

// Folders in order: plugin_paths (each a list with : between), HOX_PLUGIN_PATH, the user's data
// folder, next to the executable (../lib/hox/plugins). Never the current folder. Nothing is opened
// yet. Errors: OUT_OF_HOST_MEMORY. [main]
hox_status catalog_init(catalog *c, const char *const *plugin_paths, size_t plugin_path_count,
                        hox_error *error) HOX_MUST_CHECK;
void catalog_deinit(catalog *c);

// Tries every *.so in every folder, sorted by name within a folder; one bad file never stops the
// others. Of two with the same kind and name the one in the earlier folder counts. [main]
hox_status catalog_scan(catalog *c, hox_error *error) HOX_MUST_CHECK;

// Opens one: name is a plugin's name, or, with a slash in it, a path (relative to folder). *path is
// the catalog's. Errors: NOT_FOUND (says where was looked and what there is), VERSION. [main]
// A file that is there and refused, where a later one is taken, is a warning in log, which may be
// NULL.
hox_status catalog_open(catalog *c, uint32_t kind, const char *name, const char *folder,
                        const log_sink *log, const hox_plugin **plugin, const char **path,
                        hox_error *error) HOX_MUST_CHECK;
