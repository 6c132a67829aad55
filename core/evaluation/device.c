#include "evaluation/device.h"

#include <stdbool.h>
#include <string.h>

static const char *const kind_names[] = {
    [HOX_DEVICE_CPU] = "cpu", [HOX_DEVICE_CUDA] = "cuda", [HOX_DEVICE_OTHER] = "other"};

static bool is_wanted(const hox_device_info *info, const char *wanted) {
    if (strcmp(wanted, "auto") == 0 || strcmp(wanted, info->address) == 0) return true;
    return info->kind < sizeof kind_names / sizeof *kind_names && kind_names[info->kind] &&
           strcmp(wanted, kind_names[info->kind]) == 0;
}

hox_status device_choose(const instance *runtime, const char *wanted, uint32_t *device,
                         hox_device_info *info, hox_error *error) {
    const hox_runtime_api *api = runtime->plugin->runtime;
    const hox_host *host = &runtime->services.host;
    uint32_t count = 0;
    char seen[200] = "";
    bool is_found = false;
    HOX_TRY(api->device_count(host, &count, error));
    for (uint32_t i = 0; i < count; i++) {
        hox_device_info one = {.struct_size = sizeof one};
        HOX_TRY(api->device_info(host, i, &one, error));
        const size_t used = strlen(seen);
        snprintf(seen + used, sizeof seen - used, "%s%s", used ? ", " : "", one.address);
        if (!is_wanted(&one, wanted) || (is_found && one.score <= info->score)) continue;
        *info = one;
        *device = i;
        is_found = true;
    }
    if (is_found) return HOX_OK;
    return hox_error_set(error, HOX_DEVICE,
                         "/evaluation/device: runtime %s has no device \"%.32s\" here; it has: %s",
                         runtime->plugin->name, wanted, *seen ? seen : "none");
}
