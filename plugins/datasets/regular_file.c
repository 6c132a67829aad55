// regular_file.c - see regular_file.h.
#include "regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// O_NONBLOCK: opening a FIFO must not wait for a writer.
const char *regular_file_open(const char *path, int *descriptor, uint64_t *size) {
    const int opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (opened < 0) return strerror(errno);
    struct stat facts;
    const char *trouble = NULL;
    if (fstat(opened, &facts) != 0)
        trouble = strerror(errno);
    else if (!S_ISREG(facts.st_mode))
        trouble = "not a regular file";
    else if (facts.st_size == 0)
        trouble = "the file is empty";
    if (trouble) {
        close(opened);
        return trouble;
    }
    *descriptor = opened;
    *size = (uint64_t)facts.st_size;
    return NULL;
}

uint64_t regular_file_read(int descriptor, void *bytes, uint64_t size) {
    uint64_t offset = 0;
    errno = 0;
    while (offset < size) {
        const uint64_t left = size - offset;
        const ssize_t got =
            read(descriptor, (char *)bytes + offset, left < (1U << 30) ? left : 1U << 30);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        offset += (uint64_t)got;
    }
    if (offset == size) errno = 0;
    return offset;
}
