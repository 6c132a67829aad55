// test_device_list.c - what a runtime has and says, also where it fails or exaggerates.
#include "plugin_host/device_list.h"

#include <criterion/criterion.h>
#include <string.h>

static struct {
    uint32_t count, fails_at; // that device_info fails; UINT32_MAX = none
    const char *words[4];     // up to the first NULL
    uint32_t level;
} script;

static hox_status count_devices(const hox_host *host, uint32_t *count, hox_error *error) {
    (void)error;
    cr_expect_eq(host->log_level, HOX_LOG_INFO);
    for (size_t i = 0; script.words[i]; i++)
        host->log(host, script.level, script.words[i]);
    *count = script.count;
    return HOX_OK;
}

static hox_status describe(const hox_host *host, uint32_t device, hox_device_info *info,
                           hox_error *error) {
    (void)host;
    if (device == script.fails_at)
        return hox_error_set(error, HOX_DEVICE, "device %u fails", device);
    cr_expect_eq(info->struct_size, sizeof *info);
    info->kind = HOX_DEVICE_CUDA;
    info->score = device;
    memset(info->name, 'x', sizeof info->name); // to the last byte
    memset(info->bus, 'y', sizeof info->bus);
    snprintf(info->address, sizeof info->address, "cuda:%u", device);
    return HOX_OK;
}

static const hox_runtime_api api = {
    .struct_size = sizeof api, .device_count = count_devices, .device_info = describe};
static const hox_plugin plugin = {
    .name = "mine", .kind = HOX_KIND_RUNTIME, .runtime = &api, .struct_size = sizeof plugin};

static device_list list;

static hox_status read_list(uint32_t count, uint32_t fails_at, hox_error *error) {
    script.count = count;
    script.fails_at = fails_at;
    memset(&list, 1, sizeof list);
    return device_list_read(&plugin, &list, error);
}

static void setup(void) {
    memset(&script, 0, sizeof script);
    script.level = HOX_LOG_INFO;
}

TestSuite(device_list, .init = setup);

Test(device_list, holds_all_devices) {
    cr_assert_eq(read_list(DEVICE_LIST_MOST, UINT32_MAX, NULL), HOX_OK);
    cr_assert_eq(list.count, DEVICE_LIST_MOST);
    for (uint32_t i = 0; i < list.count; i++) {
        cr_expect_eq(list.items[i].score, i);
        cr_expect_eq(strlen(list.items[i].name), sizeof list.items[i].name - 1);
        cr_expect_eq(strlen(list.items[i].bus), sizeof list.items[i].bus - 1);
        cr_expect_str_empty(list.items[i].instruction_set);
    }
    cr_expect_str_empty(list.said);
    cr_assert_eq(read_list(0, UINT32_MAX, NULL), HOX_OK);
    cr_expect_eq(list.count, 0);
}

Test(device_list, keeps_what_is_said_on_one_line) {
    script.words[0] = "no NVIDIA driver";
    cr_assert_eq(read_list(1, UINT32_MAX, NULL), HOX_OK);
    cr_expect_str_eq(list.said, "no NVIDIA driver", "the plugin is not named");
    script.words[1] = "no NVIDIA driver"; // again
    script.words[2] = "the AMD driver is too old: 1 < 2";
    cr_assert_eq(read_list(1, UINT32_MAX, NULL), HOX_OK);
    cr_expect_str_eq(list.said, "no NVIDIA driver; the AMD driver is too old: 1 < 2");
    script.level = HOX_LOG_DEBUG;
    cr_assert_eq(read_list(1, UINT32_MAX, NULL), HOX_OK);
    cr_expect_str_empty(list.said, "details are not for everybody");
}

Test(device_list, keeps_no_more_words_than_fit) {
    char many[2 * DEVICE_LIST_WORDS_SIZE];
    memset(many, 'a', sizeof many - 1);
    many[sizeof many - 1] = 0;
    script.words[0] = many;
    script.words[1] = "and more";
    cr_assert_eq(read_list(1, UINT32_MAX, NULL), HOX_OK);
    cr_expect_eq(strlen(list.said), DEVICE_LIST_WORDS_SIZE - 1);
}

Test(device_list, is_empty_where_the_runtime_fails) {
    hox_error error = HOX_ERROR_INIT, many = HOX_ERROR_INIT;
    script.words[0] = "no NVIDIA driver";
    cr_expect_eq(read_list(3, 1, &error), HOX_DEVICE);
    cr_expect_str_eq(error.message, "device 1 fails");
    cr_expect_eq(list.count, 0);
    cr_expect_str_empty(list.said);
    cr_expect_eq(read_list(DEVICE_LIST_MOST + 1, UINT32_MAX, &many), HOX_INTERNAL);
    cr_expect_str_eq(many.message, "runtime mine says that it has 65 devices");
    cr_expect_eq(list.count, 0);
}
