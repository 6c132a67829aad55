// folder_list.h - the names in a folder, in the order of their bytes.
#pragma once

#include <hox/host.h>

typedef struct folder_list {
    const hox_host *host;
    uint64_t count;
    const char **names; // sorted; they lie in text
    char *text;
    uint64_t text_used, text_bytes;
} folder_list;

// Hidden names (those that begin with ".") and READMEs are left out. list starts zeroed; on
// failure, too, folder_list_deinit frees what it holds. Errors: IO. [main]
hox_status folder_list_read(folder_list *list, const hox_host *host, const char *path,
                            hox_error *error);
void folder_list_deinit(folder_list *list); // leaves it zeroed

// Where the name stands; -1 if it does not.
int64_t folder_list_find(const folder_list *list, const char *name);
