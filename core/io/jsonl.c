#include "io/jsonl.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

hox_status jsonl_create(jsonl *file, const char *path, hox_error *error) {
    *file = JSONL_CLOSED;
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return hox_error_set(error, HOX_IO, "%s: cannot create: %s", path, strerror(errno));
    *file = (jsonl){strdup(path), descriptor};
    if (file->path) return HOX_OK;
    jsonl_close(file);
    return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
}

hox_status jsonl_append(jsonl *file, json_t *line, hox_error *error) {
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    json_decref(line);
    if (!text) return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
    const size_t length = strlen(text);
    text[length] = '\n'; // in place of the 0: the length is known
    const hox_status status = file_write_all(file->descriptor, file->path, text, length + 1, error);
    free(text);
    return status;
}

hox_status jsonl_sync(jsonl *file, hox_error *error) {
    if (fsync(file->descriptor) == 0) return HOX_OK;
    return hox_error_set(error, HOX_IO, "%s: cannot sync: %s", file->path, strerror(errno));
}

void jsonl_close(jsonl *file) {
    if (file->descriptor >= 0) close(file->descriptor);
    free(file->path);
    *file = JSONL_CLOSED;
}

// Bytes of the first lines lines of a file; *lines becomes fewer where it holds fewer.
static uint64_t bytes_of(const char *path, uint64_t *lines) {
    FILE *file = fopen(path, "re");
    uint64_t at = 0, end = 0, count = 0;
    for (int letter; file && count < *lines && (letter = getc_unlocked(file)) != EOF;) {
        at++;
        if (letter != '\n') continue;
        end = at;
        count++;
    }
    if (file) fclose(file);
    *lines = count;
    return end;
}

uint64_t jsonl_count(const char *path) {
    uint64_t lines = UINT64_MAX;
    bytes_of(path, &lines);
    return lines;
}

hox_status jsonl_reopen(jsonl *file, const char *path, uint64_t lines, hox_error *error) {
    *file = JSONL_CLOSED;
    const uint64_t bytes = bytes_of(path, &lines);
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0 || ftruncate(descriptor, (off_t)bytes) != 0) {
        const int reason = errno;
        if (descriptor >= 0) close(descriptor);
        return hox_error_set(error, HOX_IO, "%s: cannot open: %s", path, strerror(reason));
    }
    *file = (jsonl){strdup(path), descriptor};
    if (file->path) return HOX_OK;
    jsonl_close(file);
    return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
}
