// file.h - whole files in and out; a file is either the old one or the new one, never half.
#pragma once

#include <hox/status.h>
#include <stdbool.h>

// *data is the caller's (free) and ends in a 0 that *size does not count. Errors: IO (names the
// path), also for what is no regular file or is larger than most bytes. [any]
hox_status file_read(const char *path, size_t most, char **data, size_t *size,
                     hox_error *error) HOX_MUST_CHECK;

// Writes beside, syncs, renames, syncs the folder. Errors: IO; the old file stays, or, where only
// the folder's sync failed, the new one is already there. [main]
hox_status file_write(const char *path, const void *data, size_t size,
                      hox_error *error) HOX_MUST_CHECK;

// Every byte or an error. [any]
hox_status file_write_all(int descriptor, const char *path, const void *data, size_t size,
                          hox_error *error) HOX_MUST_CHECK;

// Makes path and what is missing above it. Errors: IO. [main]
hox_status file_make_folders(const char *path, hox_error *error) HOX_MUST_CHECK;
