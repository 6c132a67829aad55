// test_devices.c - a runtime's devices as doctor and plugins info show them.
#include "devices.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <string.h>

static const hox_device_info infos[] = {
    {.address = "cpu", .name = "Intel Xeon", .total_bytes = UINT64_C(25232932864)},
    {.address = "cuda:0",
     .name = "NVIDIA H200",
     .bus = "0000:1b:00.0",
     .total_bytes = UINT64_C(150109880320)},
    {.address = "npu"}};

static struct {
    uint32_t first, count;
    const char *words;
    hox_status status;
} script;

static hox_status count_devices(const hox_host *host, uint32_t *count, hox_error *error) {
    if (script.words) host->log(host, HOX_LOG_INFO, script.words);
    *count = script.count;
    return script.status ? hox_error_set(error, script.status, "it is broken") : HOX_OK;
}

static hox_status describe(const hox_host *host, uint32_t device, hox_device_info *info,
                           hox_error *error) {
    (void)host, (void)error;
    *info = infos[script.first + device];
    return HOX_OK;
}

static const hox_runtime_api api = {
    .struct_size = sizeof api, .device_count = count_devices, .device_info = describe};
static const hox_plugin plugin = {
    .name = "mine", .kind = HOX_KIND_RUNTIME, .runtime = &api, .struct_size = sizeof plugin};

static const struct {
    uint32_t first, count;
    const char *words;
    hox_status status;
    const char *line;
} rows[] = {
    {0, 1, NULL, HOX_OK, "cpu (Intel Xeon, 23.5 GiB)\n"},
    {0, 1, "no NVIDIA driver", HOX_OK, "cpu (Intel Xeon, 23.5 GiB); no NVIDIA driver\n"},
    {0, 2, NULL, HOX_OK,
     "cpu (Intel Xeon, 23.5 GiB), cuda:0 (NVIDIA H200, 0000:1b:00.0, 139.8 GiB)\n"},
    {2, 1, NULL, HOX_OK, "npu\n"},
    {0, 0, NULL, HOX_OK, "no device\n"},
    {0, 0, "nothing here", HOX_OK, "no device: nothing here\n"},
    {0, 1, NULL, HOX_DEVICE, "no device: it is broken\n"},
};

Test(devices, stand_on_one_line, .init = cr_redirect_stdout) {
    char expected[1024] = "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        script.first = rows[i].first;
        script.count = rows[i].count;
        script.words = rows[i].words;
        script.status = rows[i].status;
        json_t *devices = devices_json(&plugin);
        devices_print(devices);
        json_decref(devices);
        strcat(expected, rows[i].line);
    }
    fflush(stdout);
    cr_expect_stdout_eq_str(expected);
}

Test(devices, are_told_as_json) {
    script.count = 2;
    script.words = "no";
    json_t
        *devices = devices_json(&plugin),
        *expected = json_loads(
            "{\"devices\": [{\"address\": \"cpu\", \"name\": \"Intel Xeon\", \"bus\": \"\", "
            "\"total_bytes\": 25232932864}, {\"address\": \"cuda:0\", \"name\": \"NVIDIA H200\", "
            "\"bus\": \"0000:1b:00.0\", \"total_bytes\": 150109880320}], \"said\": \"no\"}",
            0, NULL);
    cr_expect_not_null(expected);
    cr_expect(json_equal(devices, expected));
    json_decref(devices);
    script.words = NULL;
    devices = devices_json(&plugin);
    cr_expect(json_is_null(json_object_get(devices, "said")));
    json_decref(devices);
    json_decref(expected);
}
