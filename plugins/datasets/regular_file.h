// regular_file.h - opens what must be a file with contents: no folder, FIFO or device.
#pragma once

#include <stdint.h>

// NULL: *descriptor is yours to close, *size its bytes, more than 0. Else what is wrong, in words
// that stand until the next call; nothing is open. [main]
const char *regular_file_open(const char *path, int *descriptor, uint64_t *size);

// How many of size bytes were there: fewer only at the end of the file or where reading failed
// (then errno is not 0). [any]
uint64_t regular_file_read(int descriptor, void *bytes, uint64_t size);
