// runtime_fixture.c - see runtime_fixture.h.
#include "runtime_fixture.h"

#include "plugin_fixture.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

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

size_t gpu_row(const char *file) {
    size_t row = 0;
    while (row < RUNTIMES && (runtimes[row].device != 1 || strcmp(runtimes[row].file, file) != 0))
        row++;
    cr_assert_lt(row, RUNTIMES, "no row for %s on a GPU", file);
    return row;
}

// Whoever asks for the driver after this gets the fake one.
static void *load_fake_driver(void) {
    if (!*HOX_FAKE_CUDA_PATH) return NULL;
    unsetenv("CUDA_VISIBLE_DEVICES");
    void *driver = dlopen(HOX_FAKE_CUDA_PATH, RTLD_NOW | RTLD_GLOBAL);
    cr_assert(driver, "%s", dlerror());
    return driver;
}

void choose_thread_order(int order) {
    void (*set_order)(int) = NULL;
    *(void **)&set_order = dlsym(load_fake_driver(), "fake_cuda_set_order");
    cr_assert(set_order);
    set_order(order);
}

bool choose_runtime(opened *self, size_t row) {
    *self = (opened){.name = runtimes[row].file,
                     .instruction_set = runtimes[row].instruction_set,
                     .device = runtimes[row].device,
                     .plugin = plugin_load(runtimes[row].file),
                     .caps = {.struct_size = sizeof self->caps}};
    uint32_t count = 0;
    self->api = self->plugin->runtime;
    self->options = plugin_options(self->plugin);
    host_double_init(&self->host);
    runtimes_choose(row);
    if (self->device > 0) load_fake_driver();
    cr_assert_eq(self->api->device_count(&self->host.host, &count, NULL), HOX_OK);
    if (self->device >= count) say_skipped(self, self->host.last_log);
    return self->device < count;
}

bool open_any(opened *self, size_t row) {
    hox_error error = HOX_ERROR_INIT;
    if (!choose_runtime(self, row)) return false;
    const hox_status status = self->api->open(&self->host.host, self->device, LANES, self->options,
                                              &self->runtime, &error);
    cr_assert(status == HOX_OK || status == HOX_UNSUPPORTED, "%s", error.message);
    if (status == HOX_OK)
        self->api->caps(self->runtime, &self->caps);
    else
        say_skipped(self, error.message);
    return status == HOX_OK;
}

void open_runtime(opened *self, size_t row) {
    if (!open_any(self, row)) cr_skip_test("not here: %s", self->name);
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
