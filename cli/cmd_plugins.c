// cmd_plugins.c - hox plugins: every file that was tried, and why one was refused.
#include "command.h"
#include "option.h"

#include "plugin_host/catalog.h"
#include "plugin_host/descriptor.h"

#include <stdio.h>
#include <string.h>

static const char *text_or_empty(const char *text) {
    return text ? text : "";
}

static void print_entry(const catalog_entry *entry) {
    if (!entry->plugin) {
        printf("refused  %s: %s\n", entry->path, entry->refusal);
        return;
    }
    const hox_plugin *p = entry->plugin;
    printf("%-8s %-18s %-7s %s  [%s]\n", descriptor_kind_name(entry->kind), p->name,
           HOX_HAS(p, version) ? text_or_empty(p->version) : "",
           HOX_HAS(p, summary) ? text_or_empty(p->summary) : "", entry->path);
}

static void print_catalog(const catalog *c) {
    for (size_t i = 0; i < c->entry_count; i++)
        print_entry(&c->entries[i]);
    if (c->entry_count > 0) return;
    puts("no plugin file was found; looked in:");
    for (size_t i = 0; i < c->folder_count; i++)
        printf("  %s\n", c->folders[i]);
}

int cmd_plugins(int argc, char **argv) {
    option_values paths = {0}, words = {0};
    const option options[] = {
        {"plugin-path", "DIRS", "folders to look in first, with : between", &paths, true}};
    const int code = option_parse(argc, argv, "plugins [list] [--plugin-path DIRS]", options,
                                  sizeof options / sizeof *options, &words);
    if (code >= 0) return code;
    if (words.count > 1 || (words.count == 1 && strcmp(words.items[0], "list") != 0)) {
        fprintf(stderr, "hox plugins: unknown word \"%s\"; expected: hox plugins list\n",
                words.items[words.count - 1]);
        return EXIT_USAGE;
    }
    catalog c;
    hox_error error = HOX_ERROR_INIT;
    hox_status status = catalog_init(&c, paths.items, paths.count, &error);
    if (status == HOX_OK) status = catalog_scan(&c, &error);
    if (status == HOX_OK)
        print_catalog(&c);
    else
        fprintf(stderr, "hox plugins: %s\n", error.message);
    catalog_deinit(&c);
    return status == HOX_OK ? EXIT_OK : EXIT_RUN_FAILED;
}
