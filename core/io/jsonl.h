// jsonl.h - a file that grows by one JSON object a line (jsonlines.org).
#pragma once

#include <hox/status.h>
#include <jansson.h>

typedef struct jsonl {
    char *path;
    int descriptor; // -1 = closed
} jsonl;

#define JSONL_CLOSED ((jsonl){NULL, -1})

// Creates the file; it must not be there. Errors: IO. [main]
hox_status jsonl_create(jsonl *file, const char *path, hox_error *error) HOX_MUST_CHECK;

// Takes the reference; NULL counts as out of memory. The whole line goes out in one write. Errors:
// IO. [main]
hox_status jsonl_append(jsonl *file, json_t *line, hox_error *error) HOX_MUST_CHECK;
hox_status jsonl_sync(jsonl *file, hox_error *error) HOX_MUST_CHECK; // onto the disk
void jsonl_close(jsonl *file);                                       // a closed one too

// Whole lines in a file; 0 where there is none. [any]
uint64_t jsonl_count(const char *path);

// Opens a file to go on behind its first lines lines; what stands after them is dropped. UINT64_MAX
// = after all whole lines. Creates it where it is missing. Errors: IO. [main]
hox_status jsonl_reopen(jsonl *file, const char *path, uint64_t lines,
                        hox_error *error) HOX_MUST_CHECK;
