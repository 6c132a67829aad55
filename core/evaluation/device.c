#include "evaluation/device.h"

#include "plugin_host/device_list.h"

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

// A device that trains goes before one that does not, where that is asked for.
static bool is_better(const hox_device_info *one, const hox_device_info *best, bool trains) {
    const uint32_t left = one->flags & HOX_RUNTIME_TRAINS, right = best->flags & HOX_RUNTIME_TRAINS;
    return trains && left != right ? left > right : one->score > best->score;
}

// What is chosen may not be what was hoped for.
static void tell(const instance *runtime, const device_list *devices,
                 const hox_device_info *chosen) {
    const log_sink *log = runtime->services.log;
    if (devices->has_trouble)
        log_line(log, HOX_LOG_WARNING, "runtime %s: %s", runtime->plugin->name, devices->said);
    for (uint32_t i = 0; i < devices->count; i++)
        if (devices->items[i].score > chosen->score)
            log_line(log, HOX_LOG_WARNING, "runtime %s does not train on %s: it runs on %s",
                     runtime->plugin->name, devices->items[i].address, chosen->address);
}

hox_status device_choose(const instance *runtime, const char *wanted, bool trains, uint32_t *device,
                         hox_device_info *info, hox_error *error) {
    device_list devices;
    char seen[120];
    bool is_found = false;
    HOX_TRY(device_list_read(runtime->plugin, &devices, error));
    for (uint32_t i = 0; i < devices.count; i++) {
        const hox_device_info *one = &devices.items[i];
        if (!is_wanted(one, wanted) || (is_found && !is_better(one, info, trains))) continue;
        *info = *one;
        *device = i;
        is_found = true;
    }
    if (is_found && strcmp(wanted, "auto") == 0) tell(runtime, &devices, info);
    if (is_found) return HOX_OK;
    list_addresses(&devices, seen, sizeof seen);
    return hox_error_set(
        error, HOX_DEVICE,
        "/evaluation/device: runtime %s has no device \"%.32s\" here%s%.300s; it has: %s",
        runtime->plugin->name, wanted, *devices.said ? ": " : "", devices.said, seen);
}

const char *device_kind_name(uint32_t kind) {
    const char *name = kind < sizeof kind_names / sizeof *kind_names ? kind_names[kind] : NULL;
    return name ? name : "unknown";
}
