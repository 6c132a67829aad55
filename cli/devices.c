#include "devices.h"

#include "plugin_host/device_list.h"

#include <stdio.h>

static json_t *device_json(const hox_device_info *d) {
    return json_pack("{s:s, s:s, s:s, s:I}", "address", d->address, "name", d->name, "bus", d->bus,
                     "total_bytes", (json_int_t)d->total_bytes);
}

json_t *devices_json(const hox_plugin *runtime) {
    device_list list;
    hox_error error = HOX_ERROR_INIT;
    json_t *devices = json_array();
    const char *said = list.said;
    if (device_list_read(runtime, &list, &error) != HOX_OK) said = error.message;
    for (uint32_t i = 0; i < list.count; i++)
        json_array_append_new(devices, device_json(&list.items[i]));
    return json_pack("{s:o, s:s?}", "devices", devices, "said", *said ? said : NULL);
}

// What is known of it: (NVIDIA H200, 0000:1b:00.0, 139.8 GiB)
static void print_device(const json_t *device) {
    char size[32] = "";
    const double bytes = (double)json_integer_value(json_object_get(device, "total_bytes"));
    if (bytes > 0.0) snprintf(size, sizeof size, "%.1f GiB", bytes / (1 << 30));
    const char *const parts[] = {json_string_value(json_object_get(device, "name")),
                                 json_string_value(json_object_get(device, "bus")), size};
    const char *before = " (";
    fputs(json_string_value(json_object_get(device, "address")), stdout);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!*parts[i]) continue;
        printf("%s%s", before, parts[i]);
        before = ", ";
    }
    if (*before == ',') putchar(')');
}

void devices_print(const json_t *devices) {
    const json_t *list = json_object_get(devices, "devices");
    const char *said = json_string_value(json_object_get(devices, "said"));
    size_t i;
    json_t *device;
    if (json_array_size(list) == 0) printf("no device");
    json_array_foreach(list, i, device) {
        if (i > 0) printf(", ");
        print_device(device);
    }
    if (said) printf("%s%s", json_array_size(list) == 0 ? ": " : "; ", said);
    puts("");
}
