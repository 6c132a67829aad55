#include "plugin_host/device_list.h"

#include "plugin_host/instance.h"

#include <string.h>

// Who listens while a plugin is asked.
typedef struct listener {
    device_list *list;
    const char *name; // of the plugin: its services put it in front of each line
} listener;

// Lines become one; what was said before is not said again.
static void keep_words(void *context, uint32_t level, const char *line) {
    const listener *l = context;
    l->list->has_trouble |= level <= HOX_LOG_WARNING;
    const size_t name_length = strlen(l->name), used = strlen(l->list->said);
    if (strncmp(line, l->name, name_length) == 0 && strncmp(line + name_length, ": ", 2) == 0)
        line += name_length + 2;
    if (strstr(l->list->said, line)) return;
    snprintf(l->list->said + used, sizeof l->list->said - used, "%s%s", used ? "; " : "", line);
}

// A plugin may fill its texts to the last byte.
static void end_texts(hox_device_info *info) {
    info->name[sizeof info->name - 1] = 0;
    info->address[sizeof info->address - 1] = 0;
    info->instruction_set[sizeof info->instruction_set - 1] = 0;
    info->bus[sizeof info->bus - 1] = 0;
}

static hox_status read_devices(const instance *runtime, device_list *list, hox_error *error) {
    const hox_runtime_api *api = runtime->plugin->runtime;
    const hox_host *host = &runtime->services.host;
    uint32_t count = 0;
    HOX_TRY(api->device_count(host, &count, error));
    if (count > DEVICE_LIST_MOST)
        return hox_error_set(error, HOX_INTERNAL, "runtime %s says that it has %u devices",
                             runtime->plugin->name, count);
    for (uint32_t i = 0; i < count; i++) {
        list->items[i] = (hox_device_info){.struct_size = sizeof list->items[i]};
        HOX_TRY(api->device_info(host, i, &list->items[i], error));
        end_texts(&list->items[i]);
    }
    list->count = count;
    return HOX_OK;
}

hox_status device_list_read(const hox_plugin *runtime, device_list *list, hox_error *error) {
    listener l = {list, runtime->name};
    const log_sink log = {.level = HOX_LOG_INFO, .write = keep_words, .context = &l};
    instance own;
    list->count = 0;
    list->said[0] = 0;
    list->has_trouble = false;
    hox_status status = instance_init(&own, runtime, "", &log, error);
    if (status == HOX_OK) status = read_devices(&own, list, error);
    instance_deinit(&own);
    if (status != HOX_OK) list->said[0] = 0;
    return status;
}
