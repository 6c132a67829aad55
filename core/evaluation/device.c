#include "evaluation/device.h"

#include "plugin_host/device_list.h"

#include <stdbool.h>
#include <string.h>

static const char *const kind_names[] = {
    [HOX_DEVICE_CPU] = "cpu", [HOX_DEVICE_CUDA] = "cuda", [HOX_DEVICE_OTHER] = "other"};

static bool is_wanted(const hox_device_info *info, const char *wanted) {
    if (strcmp(wanted, "auto") == 0 || strcmp(wanted, info->address) == 0) return true;
    return info->kind < sizeof kind_names / sizeof *kind_names && kind_names[info->kind] &&
           strcmp(wanted, kind_names[info->kind]) == 0;
}

static void list_addresses(const device_list *devices, char *text, size_t size) {
    size_t used = 0;
    snprintf(text, size, "none");
    for (uint32_t i = 0; i < devices->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
                                 devices->items[i].address);
}

hox_status device_choose(const instance *runtime, const char *wanted, uint32_t *device,
                         hox_device_info *info, hox_error *error) {
    device_list devices;
    char seen[120];
    bool is_found = false;
    HOX_TRY(device_list_read(runtime->plugin, &devices, error));
    for (uint32_t i = 0; i < devices.count; i++) {
        const hox_device_info *one = &devices.items[i];
        if (!is_wanted(one, wanted) || (is_found && one->score <= info->score)) continue;
        *info = *one;
        *device = i;
        is_found = true;
    }
    if (is_found) return HOX_OK;
    list_addresses(&devices, seen, sizeof seen);
    return hox_error_set(
        error, HOX_DEVICE,
        "/evaluation/device: runtime %s has no device \"%.32s\" here%s%s; it has: %s",
        runtime->plugin->name, wanted, *devices.said ? ": " : "", devices.said, seen);
}
