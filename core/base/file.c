#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static hox_status failed(const char *path, const char *doing, hox_error *error) {
    return hox_error_set(error, HOX_IO, "%s: cannot %s: %s", path, doing, strerror(errno));
}

static hox_status read_open(int descriptor, const char *path, size_t most, char **data,
                            size_t *size, hox_error *error) {
    struct stat info;
    if (fstat(descriptor, &info) != 0) return failed(path, "read", error);
    if (!S_ISREG(info.st_mode)) return hox_error_set(error, HOX_IO, "%s: not a regular file", path);
    if ((uint64_t)info.st_size > most)
        return hox_error_set(error, HOX_IO, "%s: %lld bytes, at most %zu are read", path,
                             (long long)info.st_size, most);
    const size_t room = (size_t)info.st_size;
    char *bytes = malloc(room + 1);
    if (!bytes) return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "%s: out of memory", path);
    size_t filled = 0;
    while (filled < room) {
        const ssize_t got = read(descriptor, bytes + filled, room - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            failed(path, "read", error);
            free(bytes);
            return HOX_IO;
        }
        if (got == 0) break;
        filled += (size_t)got;
    }
    bytes[filled] = 0;
    *data = bytes;
    *size = filled;
    return HOX_OK;
}

hox_status file_read(const char *path, size_t most, char **data, size_t *size, hox_error *error) {
    *data = NULL;
    *size = 0;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO must not hang us
    if (descriptor < 0) return failed(path, "open", error);
    const hox_status status = read_open(descriptor, path, most, data, size, error);
    close(descriptor);
    return status;
}

hox_status file_write_all(int descriptor, const char *path, const void *data, size_t size,
                          hox_error *error) {
    const char *at = data;
    while (size > 0) {
        const ssize_t put = write(descriptor, at, size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return failed(path, "write", error);
        at += put;
        size -= (size_t)put;
    }
    return HOX_OK;
}

static hox_status sync_folder_of(const char *path, hox_error *error) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path);
    else
        strcpy(folder, ".");
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return failed(folder, "open", error);
    const int result = fsync(descriptor);
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return result == 0 ? HOX_OK : failed(folder, "sync", error);
}

static hox_status write_new(const char *path, const void *data, size_t size, hox_error *error) {
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) return failed(path, "create", error);
    hox_status status = file_write_all(descriptor, path, data, size, error);
    if (status == HOX_OK && fsync(descriptor) != 0) status = failed(path, "sync", error);
    if (close(descriptor) != 0 && status == HOX_OK) status = failed(path, "write", error);
    return status;
}

hox_status file_write(const char *path, const void *data, size_t size, hox_error *error) {
    char beside[PATH_MAX];
    if (snprintf(beside, sizeof beside, "%s.tmp", path) >= (int)sizeof beside)
        return hox_error_set(error, HOX_IO, "%.200s...: the path is too long", path);
    hox_status status = write_new(beside, data, size, error);
    if (status == HOX_OK && rename(beside, path) != 0) status = failed(path, "replace", error);
    if (status != HOX_OK) {
        unlink(beside);
        return status;
    }
    return sync_folder_of(path, error);
}

hox_status file_make_folders(const char *path, hox_error *error) {
    char partial[PATH_MAX];
    const size_t length = strlen(path);
    if (length >= sizeof partial)
        return hox_error_set(error, HOX_IO, "%.200s...: the path is too long", path);
    for (size_t end = 1; end <= length; end++) {
        if (path[end] != '/' && path[end] != 0) continue;
        memcpy(partial, path, end);
        partial[end] = 0;
        if (mkdir(partial, 0777) != 0 && errno != EEXIST) return failed(partial, "make", error);
    }
    struct stat info;
    if (stat(path, &info) != 0) return failed(path, "make", error);
    if (!S_ISDIR(info.st_mode)) return hox_error_set(error, HOX_IO, "%s: not a folder", path);
    return HOX_OK;
}
