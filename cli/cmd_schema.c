// cmd_schema.c - hox schema: what an experiment file may say, for editors, or as the page
// docs/settings.md.
#include "command.h"
#include "result.h"

#include "config/schema.h"
#include "experiment/experiment_config.h"
#include "experiment/settings_schema.h"
#include "plugin_host/descriptor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the page ----

static void print_row(const hox_field *row) {
    json_t *value = field_default(row);
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    printf("| `%s` | %s | `%s` | %s |\n", row->name, schema_type_text(row).text, text ? text : "",
           row->help);
    free(text);
    json_decref(value);
}

static void print_table(const field_table *table) {
    puts("| key | type | default | meaning |\n|---|---|---|---|");
    for (uint32_t i = 0; i < table->count; i++)
        print_row(field_row(table, i));
    puts("");
}

static void print_plugins(const catalog *plugins, uint32_t kind) {
    for (size_t i = 0; i < plugins->entry_count; i++) {
        const hox_plugin *p = plugins->entries[i].plugin;
        if (!p || p->kind != kind) continue;
        printf("### %s `%s`\n\n", descriptor_kind_name(kind), p->name);
        if (HOX_HAS(p, summary) && p->summary) printf("%s.\n\n", p->summary);
        const field_table table = {p->fields, p->field_count, p->field_size};
        if (p->field_count > 0) print_table(&table);
    }
}

static void print_page(const catalog *plugins) {
    puts("# Settings\n\nEvery key of an experiment file. All have defaults. This page is what "
         "`hox schema --markdown` prints.\n");
    for (size_t i = 0; i < settings_object_count; i++) {
        const settings_object *o = &settings_objects[i];
        const setting_text section = setting_section(o);
        if (*o->pointer)
            printf("## `%.*s`\n\n", (int)strlen(section.text) - 1, section.text);
        else
            puts("## Top level\n");
        if (o->rows) {
            const field_table table = FIELD_TABLE(o->rows, *o->row_count);
            print_table(&table);
        }
        if (o->plugin_kind) print_plugins(plugins, o->plugin_kind);
    }
}

// ---- the command ----

int cmd_schema(const command_line *line, terminal *t) {
    const option_values *paths = command_line_values(line, "plugin-path");
    catalog plugins;
    hox_error error = HOX_ERROR_INIT;
    hox_status status = catalog_init(&plugins, paths->items, paths->count, &error);
    if (status == HOX_OK) status = catalog_scan(&plugins, &error);
    int code = command_exit_code(status, false);
    if (status != HOX_OK)
        terminal_error(t, "%s", error.message);
    else if (command_line_has(line, "markdown"))
        print_page(&plugins);
    else
        code = result_print(settings_schema(&plugins));
    catalog_deinit(&plugins);
    return code;
}
