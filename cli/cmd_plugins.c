// cmd_plugins.c - hox plugins list: every file that was tried, and why one was refused; hox plugins
// info: the options of one, and a runtime's devices.
#include "command.h"
#include "devices.h"
#include "result.h"

#include "config/schema.h"
#include "plugin_host/catalog.h"
#include "plugin_host/descriptor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_or_empty(const char *text) {
    return text ? text : "";
}

static const char *version_of(const hox_plugin *p) {
    return HOX_HAS(p, version) ? text_or_empty(p->version) : "";
}

static const char *summary_of(const hox_plugin *p) {
    return HOX_HAS(p, summary) ? text_or_empty(p->summary) : "";
}

// ---- list ----

static void print_entry(const catalog_entry *entry) {
    if (!entry->plugin)
        printf("refused  %s: %s\n", entry->path, entry->refusal);
    else
        printf("%-8s %-18s %-7s %s  [%s]\n", descriptor_kind_name(entry->kind), entry->plugin->name,
               version_of(entry->plugin), summary_of(entry->plugin), entry->path);
}

static json_t *entry_json(const catalog_entry *entry) {
    if (!entry->plugin)
        return json_pack("{s:s, s:s}", "file", entry->path, "refused", entry->refusal);
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "file", entry->path, "kind",
                     descriptor_kind_name(entry->kind), "name", entry->plugin->name, "version",
                     version_of(entry->plugin), "summary", summary_of(entry->plugin));
}

static int print_catalog(const catalog *c, const command_line *line) {
    if (command_line_has(line, "json")) {
        json_t *list = json_array();
        for (size_t i = 0; i < c->entry_count; i++)
            json_array_append_new(list, entry_json(&c->entries[i]));
        return result_print(list);
    }
    for (size_t i = 0; i < c->entry_count; i++)
        print_entry(&c->entries[i]);
    if (c->entry_count > 0) return EXIT_OK;
    puts("no plugin file was found; looked in:");
    for (size_t i = 0; i < c->folder_count; i++)
        printf("  %s\n", c->folders[i]);
    return EXIT_OK;
}

// ---- info ----

static void print_field(const hox_field *row) {
    json_t *value = field_default(row);
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    printf("  %-16s %-22s default %s\n      %s\n", row->name, schema_type_text(row).text,
           text ? text : "?", row->help);
    free(text);
    json_decref(value);
}

static void print_devices(const hox_plugin *runtime) {
    json_t *devices = devices_json(runtime);
    printf("devices: ");
    devices_print(devices);
    json_decref(devices);
}

static int print_plugin(const catalog_entry *entry) {
    const hox_plugin *p = entry->plugin;
    printf("%s %s %s\n%s\n%s\n", descriptor_kind_name(p->kind), p->name, version_of(p),
           summary_of(p), entry->path);
    if (HOX_HAS(p, licence) && p->licence) printf("licence %s\n", p->licence);
    if (p->kind == HOX_KIND_RUNTIME) print_devices(p);
    puts(p->field_count > 0 ? "options:" : "no options");
    const field_table table = {p->fields, p->field_count, p->field_size};
    for (uint32_t i = 0; i < p->field_count; i++)
        print_field(field_row(&table, i));
    return EXIT_OK;
}

static json_t *plugin_json(const catalog_entry *entry) {
    const hox_plugin *p = entry->plugin;
    const field_table table = {p->fields, p->field_count, p->field_size};
    json_t *json = entry_json(entry), *options = json_object();
    for (uint32_t i = 0; i < p->field_count; i++)
        json_object_set_new(options, field_row(&table, i)->name,
                            schema_of_field(field_row(&table, i)));
    json_object_set_new(json, "options", options);
    if (p->kind != HOX_KIND_RUNTIME) return json;
    json_t *devices = devices_json(p);
    json_object_update(json, devices);
    json_decref(devices);
    return json;
}

// Every usable plugin with this name: one name may stand for several kinds.
static int print_named(const catalog *c, const command_line *line, terminal *t) {
    const char *name = line->words.items[0];
    const bool is_json = command_line_has(line, "json");
    json_t *list = json_array();
    bool is_found = false;
    for (size_t i = 0; i < c->entry_count; i++) {
        const catalog_entry *entry = &c->entries[i];
        if (!entry->plugin || strcmp(entry->plugin->name, name) != 0) continue;
        is_found = true;
        if (is_json)
            json_array_append_new(list, plugin_json(entry));
        else
            print_plugin(entry);
    }
    if (is_found && is_json) return result_print(list);
    json_decref(list);
    if (is_found) return EXIT_OK;
    terminal_error(t, "there is no plugin \"%s\"; \"hox plugins list\" shows what there is", name);
    return EXIT_PLUGIN;
}

// ---- both ----

static int with_catalog(const command_line *line, terminal *t, bool is_list) {
    const option_values *paths = command_line_values(line, "plugin-path");
    catalog c;
    hox_error error = HOX_ERROR_INIT;
    hox_status status = catalog_init(&c, paths->items, paths->count, &error);
    if (status == HOX_OK) status = catalog_scan(&c, &error);
    int code = command_exit_code(status, false);
    if (status != HOX_OK)
        terminal_error(t, "%s", error.message);
    else
        code = is_list ? print_catalog(&c, line) : print_named(&c, line, t);
    catalog_deinit(&c);
    return code;
}

int cmd_plugins_list(const command_line *line, terminal *t) {
    return with_catalog(line, t, true);
}

int cmd_plugins_info(const command_line *line, terminal *t) {
    return with_catalog(line, t, false);
}
