// child.h - the hox executable as a child process, seen from outside: exit code, stdout, stderr.
#pragma once

#include "temp_folder.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct child {
    temp_folder folder;   // its current folder, and where its output goes
    const char *out_path; // where stdout goes instead of a file; "" = it is closed
    bool closes_all;      // stdin, stdout and stderr
    pid_t process;
    int code; // exit code; 128 + signal where one ended it
    char *out, *err;
} child;

// Then put files in the folder; out_path and closes_all may be set.
void child_init(child *self);
void child_deinit(child *self);

// Words behind "hox", NULL at the end.
void child_start(child *self, const char *const *words);
void child_wait(child *self); // fills code, out and err
void child_run(child *self, const char *const *words);

// Waits until stderr holds this text; ends the test where the child ends before, or after a minute.
void child_wait_for(child *self, const char *text);

char *child_read(const child *self, const char *name); // a file in its folder; yours
void child_write(const child *self, const char *name, const char *text);
size_t line_count(const char *text);
