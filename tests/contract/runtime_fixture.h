// runtime_fixture.h - a runtime of runtimes.h, opened; its images and runners. All ends the
// test where it fails.
#pragma once

#include "host_double.h"
#include "runtimes.h"

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
    uint32_t device;
    host_double host;
    const hox_plugin *plugin;
    const hox_runtime_api *api;
    void *options;
    hox_runtime *runtime; // NULL = not here
    hox_runtime_caps caps;
} opened;

enum { LANES = 2 };

// The row's plugin with its options, before it is opened; a GPU is the fake driver's. False, with a
// line, where this build has not got it.
bool choose_runtime(opened *self, size_t row);
// False, with a line, where this processor or build has not got it.
bool open_any(opened *self, size_t row);
// Skips the test then.
void open_runtime(opened *self, size_t row);
void close_runtime(opened *self);
size_t gpu_row(const char *file); // of that plugin on the first GPU
// Of the fake driver: 0, 1, 2; see fibres.h.
void choose_thread_order(int order);
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
