// test_device.c - which device an experiment gets, by kind, address or the best there is.
#include "evaluation/device.h"

#include <criterion/criterion.h>
#include <string.h>

static const hox_device_info devices[] = {
    {.kind = HOX_DEVICE_CPU, .score = 1, .flags = HOX_RUNTIME_TRAINS, .address = "cpu"},
    {.kind = HOX_DEVICE_CUDA, .score = 10, .address = "cuda:0"},
    {.kind = HOX_DEVICE_CUDA, .score = 12, .address = "cuda:1"},
    {.kind = HOX_DEVICE_CUDA, .score = 12, .address = "cuda:2"},
    {.kind = HOX_DEVICE_OTHER, .score = 3, .address = "npu"},
    {.kind = 99, .score = 2, .address = "new"},
};
static uint32_t device_total;
static const char *words; // NULL: it says nothing

static hox_status count_devices(const hox_host *host, uint32_t *count, hox_error *error) {
    (void)error;
    if (words) host->log(host, HOX_LOG_INFO, words);
    *count = device_total;
    return HOX_OK;
}

static hox_status describe(const hox_host *host, uint32_t device, hox_device_info *info,
                           hox_error *error) {
    (void)host;
    if (device >= device_total) return hox_error_set(error, HOX_DEVICE, "no device %u", device);
    *info = devices[device];
    return HOX_OK;
}

static bool trains; // is asked for

static hox_status choose(const char *wanted, uint32_t *device, hox_error *error) {
    static const hox_runtime_api api = {
        .struct_size = sizeof api, .device_count = count_devices, .device_info = describe};
    static const hox_plugin plugin = {.name = "double", .runtime = &api};
    const instance runtime = {.plugin = &plugin};
    hox_device_info info = {0};
    *device = 99;
    const hox_status status = device_choose(&runtime, wanted, trains, device, &info, error);
    if (status == HOX_OK) cr_expect_str_eq(info.address, devices[*device].address);
    return status;
}

Test(device, is_chosen_by_kind_address_or_score) {
    static const struct {
        const char *wanted;
        uint32_t device;
    } rows[] = {{"auto", 2},   {"cpu", 0}, {"cuda", 2},  {"cuda:0", 1},
                {"cuda:2", 3}, {"npu", 4}, {"other", 4}, {"new", 5}};
    device_total = sizeof devices / sizeof *devices;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hox_error error = HOX_ERROR_INIT;
        uint32_t device;
        cr_expect_eq(choose(rows[i].wanted, &device, &error), HOX_OK, "%s: %s", rows[i].wanted,
                     error.message);
        cr_expect_eq(device, rows[i].device, "%s", rows[i].wanted);
    }
}

Test(device, that_is_missing_is_an_error_that_says_what_there_is) {
    device_total = 2;
    hox_error error = HOX_ERROR_INIT, none = HOX_ERROR_INIT;
    uint32_t device;
    cr_expect_eq(choose("cuda:1", &device, &error), HOX_DEVICE);
    cr_expect_str_eq(
        error.message,
        "/evaluation/device: runtime double has no device \"cuda:1\" here; it has: cpu, cuda:0");
    device_total = 0;
    cr_expect_eq(choose("auto", &device, &none), HOX_DEVICE);
    cr_expect(strstr(none.message, "here; it has: none"), "%s", none.message);
}

Test(device, that_is_missing_is_an_error_that_says_why) {
    hox_error error = HOX_ERROR_INIT;
    uint32_t device;
    device_total = 1;
    words = "no NVIDIA driver";
    cr_expect_eq(choose("cuda", &device, &error), HOX_DEVICE);
    cr_expect_str_eq(error.message, "/evaluation/device: runtime double has no device \"cuda\" "
                                    "here: no NVIDIA driver; it has: cpu");
    cr_expect_eq(choose("cpu", &device, &error), HOX_OK);
}

Test(device, that_trains_goes_first_where_that_is_asked_for) {
    hox_error error = HOX_ERROR_INIT;
    uint32_t device;
    device_total = sizeof devices / sizeof *devices;
    trains = true;
    cr_expect_eq(choose("auto", &device, &error), HOX_OK);
    cr_expect_eq(device, 0);
    cr_expect_eq(choose("cuda", &device, &error), HOX_OK);
    cr_expect_eq(device, 2, "none of that kind trains");
}
