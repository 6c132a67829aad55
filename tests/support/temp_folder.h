// temp_folder.h - a folder of the test's own, and small files in it.
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct temp_folder {
    char path[64];
} temp_folder;

static inline temp_folder temp_folder_make(void) {
    temp_folder folder = {"/tmp/hox-test-XXXXXX"};
    if (!mkdtemp(folder.path)) abort();
    return folder;
}

static inline int temp_folder_remove_one(const char *path, const struct stat *info, int type,
                                         struct FTW *walk) {
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static inline void temp_folder_remove(const temp_folder *folder) {
    nftw(folder->path, temp_folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

// folder/name; yours.
static inline char *temp_path(const temp_folder *folder, const char *name) {
    char *path;
    if (asprintf(&path, "%s/%s", folder->path, name) < 0) abort();
    return path;
}

static inline void temp_write(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) abort();
}

// The whole file with a 0 behind it; yours. *size may be NULL.
static inline char *temp_read(const char *path, size_t *size) {
    FILE *file = fopen(path, "r");
    char *bytes = NULL;
    size_t filled = 0, room = 0;
    if (!file) {
        perror(path);
        abort();
    }
    do {
        room = room ? 2 * room : 4096;
        bytes = realloc(bytes, room + 1);
        if (!bytes) abort();
        filled += fread(bytes + filled, 1, room - filled, file);
    } while (filled == room);
    fclose(file);
    bytes[filled] = 0;
    if (size) *size = filled;
    return bytes;
}
