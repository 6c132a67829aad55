// runtime_fixture.c - see runtime_fixture.h.
#include "runtime_fixture.h"

#include "plugin_fixture.h"

#include <stdlib.h>

struct criterion_test_params index_params(size_t count) {
    enum { MOST_ROWS = 128 };
    static size_t indices[MOST_ROWS];
    cr_assert_leq(count, MOST_ROWS);
    for (size_t i = 0; i < count; i++)
        indices[i] = i;
    return cr_make_param_array(size_t, indices, count);
}

void say_skipped(const opened *self, const char *why) {
    fprintf(stderr, "skipped: %s %s: %s\n", self->name,
            self->instruction_set ? self->instruction_set : "", why);
}

bool open_any(opened *self, size_t row) {
    hox_error error = HOX_ERROR_INIT;
    *self = (opened){.name = runtimes[row].file,
                     .instruction_set = runtimes[row].instruction_set,
                     .plugin = plugin_load(runtimes[row].file),
                     .caps = {.struct_size = sizeof self->caps}};
    self->api = self->plugin->runtime;
    self->options = plugin_options(self->plugin);
    host_double_init(&self->host);
    cpu_runtimes_choose(row);
    const hox_status status =
        self->api->open(&self->host.host, 0, LANES, self->options, &self->runtime, &error);
    cr_assert(status == HOX_OK || status == HOX_UNSUPPORTED, "%s", error.message);
    if (status == HOX_OK)
        self->api->caps(self->runtime, &self->caps);
    else
        say_skipped(self, error.message);
    return status == HOX_OK;
}

void open_runtime(opened *self, size_t row) {
    if (!open_any(self, row)) cr_skip_test("this processor lacks %s", self->instruction_set);
}

void close_runtime(opened *self) {
    if (self->runtime) self->api->close(self->runtime);
    self->runtime = NULL;
    free(self->options);
    cr_expect_eq(self->host.live_bytes, 0, "%s: %zu bytes stay in the ledger", self->name,
                 (size_t)self->host.live_bytes);
}

size_t image_size(const hox_plan *plan) {
    return (size_t)plan->node_channels[0] * plan->node_height[0] * plan->node_width[0];
}

hox_samples *make_samples(const opened *self, const hox_plan *plan, const float *images,
                          size_t count) {
    hox_error error = HOX_ERROR_INIT;
    hox_samples *samples;
    const size_t half = count / 2;
    cr_assert_eq(self->api->samples_create(self->runtime, count, plan->node_channels[0],
                                           plan->node_height[0], plan->node_width[0], &samples,
                                           &error),
                 HOX_OK, "%s", error.message);
    cr_assert_eq(self->api->samples_write(samples, half, count - half,
                                          images + half * image_size(plan), &error),
                 HOX_OK, "%s", error.message);
    cr_assert_eq(self->api->samples_write(samples, 0, half, images, &error), HOX_OK, "%s",
                 error.message);
    return samples;
}

hox_status prepare(const opened *self, const hox_plan *plan, uint32_t purpose, size_t capacity,
                   hox_runner **runner, hox_error *error) {
    const hox_prepare_options options = {.struct_size = sizeof options,
                                         .capacity = (uint32_t)capacity,
                                         .precision = HOX_PRECISION_FP32,
                                         .purpose = purpose};
    return self->api->prepare(self->runtime, 0, plan, &options, runner, error);
}

hox_runner *make_runner(const opened *self, const hox_plan *plan, uint32_t purpose,
                        size_t capacity) {
    hox_error error = HOX_ERROR_INIT;
    hox_runner *runner;
    cr_assert_eq(prepare(self, plan, purpose, capacity, &runner, &error), HOX_OK, "%s",
                 error.message);
    return runner;
}
