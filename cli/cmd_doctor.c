// cmd_doctor.c - hox doctor: what this machine offers, and what to install.
#include "command.h"
#include "devices.h"
#include "result.h"

#include "base/cpu.h"
#include "base/memory_limit.h"
#include "io/contact_sheet.h"
#include "plugin_host/catalog.h"
#include "plugin_host/descriptor.h"

#include <hox/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

// ---- the machine ----

static json_t *cpu_json(void) {
    return json_pack("{s:i, s:s}", "cores", (int)cpu_core_count(), "instruction_set",
                     cpu_instruction_set());
}

// What this process may have: limits of containers and control groups count.
static json_t *memory_json(void) {
    const memory_limit limit = memory_limit_read("");
    return json_pack("{s:I, s:I}", "total_bytes", (json_int_t)limit.total_bytes, "available_bytes",
                     (json_int_t)limit.free_bytes);
}

static json_t *system_json(void) {
    struct utsname u;
    uname(&u);
    return json_pack("{s:s, s:s}", "kernel", u.release, "machine", u.machine);
}

// ---- runtimes ----

static json_t *runtime_json(const hox_plugin *plugin) {
    json_t *json = json_pack("{s:s}", "name", plugin->name), *devices = devices_json(plugin);
    json_object_update(json, devices);
    json_decref(devices);
    return json;
}

static json_t *runtimes_json(const catalog *plugins) {
    json_t *list = json_array();
    for (size_t i = 0; i < plugins->entry_count; i++)
        if (plugins->entries[i].plugin && plugins->entries[i].kind == HOX_KIND_RUNTIME)
            json_array_append_new(list, runtime_json(plugins->entries[i].plugin));
    return list;
}

static json_t *plugins_json(const catalog *plugins) {
    json_t *refused = json_array();
    int usable = 0;
    for (size_t i = 0; i < plugins->entry_count; i++)
        if (plugins->entries[i].plugin)
            usable++;
        else
            json_array_append_new(refused, json_sprintf("%s: %s", plugins->entries[i].path,
                                                        plugins->entries[i].refusal));
    return json_pack("{s:i, s:o}", "usable", usable, "refused", refused);
}

// ---- what to install ----

static void advise(json_t *list, bool is_missing, const char *advice) {
    if (is_missing) json_array_append_new(list, json_string(advice));
}

static json_t *advice_json(const catalog *plugins) {
    json_t *list = json_array();
    bool has_runtime = false;
    for (size_t i = 0; i < plugins->entry_count; i++)
        has_runtime |= plugins->entries[i].plugin && plugins->entries[i].kind == HOX_KIND_RUNTIME;
    advise(list, !has_runtime,
           "no runtime was found: build hox, or name its plugins' folder with --plugin-path");
    advise(list, access("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz", R_OK) != 0,
           "the default dataset is missing: install dataset-fashion-mnist");
    advise(list, !contact_sheet_is_available(),
           "no contact sheets: install libgd-dev and build hox again");
    return list;
}

// ---- all of it ----

static json_t *report_json(const catalog *plugins) {
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "hox", HOX_VERSION_TEXT, "system",
                     system_json(), "cpu", cpu_json(), "memory", memory_json(), "plugins",
                     plugins_json(plugins), "runtimes", runtimes_json(plugins), "advice",
                     advice_json(plugins));
}

static const char *text_at(const json_t *json, const char *key) {
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "";
}

static double gib_at(const json_t *json, const char *key) {
    return (double)json_integer_value(json_object_get(json, key)) / (double)(1 << 30);
}

static void print_report(const json_t *report) {
    const json_t *cpu = json_object_get(report, "cpu"), *memory = json_object_get(report, "memory");
    const json_t *plugins = json_object_get(report, "plugins");
    size_t i;
    json_t *item;
    printf("hox %s on %s, kernel %s\n", text_at(report, "hox"),
           text_at(json_object_get(report, "system"), "machine"),
           text_at(json_object_get(report, "system"), "kernel"));
    printf("CPU: %lld cores, %s", (long long)json_integer_value(json_object_get(cpu, "cores")),
           text_at(cpu, "instruction_set"));
    printf("\nmemory: %.1f GiB, %.1f GiB available\n", gib_at(memory, "total_bytes"),
           gib_at(memory, "available_bytes"));
    printf("plugins: %lld usable\n",
           (long long)json_integer_value(json_object_get(plugins, "usable")));
    json_array_foreach(json_object_get(plugins, "refused"), i, item) {
        printf("  refused %s\n", json_string_value(item));
    }
    json_array_foreach(json_object_get(report, "runtimes"), i, item) {
        printf("runtime %s: ", text_at(item, "name"));
        devices_print(item);
    }
    json_array_foreach(json_object_get(report, "advice"), i, item) {
        printf("to do: %s\n", json_string_value(item));
    }
}

int cmd_doctor(const command_line *line, terminal *t) {
    const option_values *paths = command_line_values(line, "plugin-path");
    catalog plugins = {0};
    hox_error error = HOX_ERROR_INIT;
    hox_status status = catalog_init(&plugins, paths->items, paths->count, &error);
    if (status == HOX_OK) status = catalog_scan(&plugins, &error);
    int code = command_exit_code(status, false);
    if (status != HOX_OK) {
        terminal_error(t, "%s", error.message);
    } else {
        json_t *report = report_json(&plugins);
        if (command_line_has(line, "json"))
            code = result_print(json_incref(report));
        else
            print_report(report);
        json_decref(report);
    }
    catalog_deinit(&plugins);
    return code;
}
