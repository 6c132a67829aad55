// runtime_fixture.h - a runtime of cpu_runtimes.h, opened; its images and runners. All ends the
// test where it fails.
#pragma once

#include "cpu_runtimes.h"
#include "host_double.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <hox/plugin.h>
#include <stdbool.h>

// ---- rows: the indices 0 .. count - 1, for no pointers may stand in a row ----

struct criterion_test_params index_params(size_t count);

#define EACH_ROW(suite, name, count)                                                               \
    ParameterizedTestParameters(suite, name) {                                                     \
        return index_params(count);                                                                \
    }                                                                                              \
    ParameterizedTest(size_t *row, suite, name)

// ---- a runtime ----

typedef struct opened {
    const char *name, *instruction_set;
    host_double host;
    const hox_plugin *plugin;
    const hox_runtime_api *api;
    void *options;
    hox_runtime *runtime; // NULL = not here
    hox_runtime_caps caps;
} opened;

enum { LANES = 2 };

// False, with a line, where this processor has not got it.
bool open_any(opened *self, size_t row);
// Skips the test then.
void open_runtime(opened *self, size_t row);
void close_runtime(opened *self);
void say_skipped(const opened *self, const char *why);

size_t image_size(const hox_plan *plan); // floats

// Written in two parts, the later one first.
hox_samples *make_samples(const opened *self, const hox_plan *plan, const float *images,
                          size_t count);

// On lane 0, in fp32.
hox_status prepare(const opened *self, const hox_plan *plan, uint32_t purpose, size_t capacity,
                   hox_runner **runner, hox_error *error);
hox_runner *make_runner(const opened *self, const hox_plan *plan, uint32_t purpose,
                        size_t capacity);
