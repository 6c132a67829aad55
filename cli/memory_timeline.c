#include "memory_timeline.h"

#include "command.h"
#include "result.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The events about memory, in order. Half a line at the end is left out: the run is still going, or
// was killed. NULL: errno says why.
static json_t *read_events(const char *path) {
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    json_t *events = json_array();
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) >= 0) {
        json_t *event = json_loads(line, 0, NULL);
        const char *name = json_string_value(json_object_get(event, "event"));
        if (name && strcmp(name, "memory") == 0) json_array_append(events, event);
        json_decref(event);
    }
    free(line);
    fclose(file);
    return events;
}

static long long number_at(const json_t *event, const char *key) {
    return json_integer_value(json_object_get(event, key));
}

static void print_mib(const json_t *event, const char *key) {
    if (json_is_null(json_object_get(event, key)))
        printf("  %10s", "unknown");
    else
        printf("  %10.1f", (double)number_at(event, key) / (1 << 20));
}

static void print_more(const json_t *event) {
    if (json_object_get(event, "genome"))
        printf("  genome %lld, lane %lld, %lld images", number_at(event, "genome"),
               number_at(event, "lane"), number_at(event, "tried"));
    if (json_object_get(event, "bytes_needed"))
        printf("  %lld bytes needed, %lld left", number_at(event, "bytes_needed"),
               number_at(event, "bytes_left"));
    if (json_object_get(event, "hits"))
        printf("  runners: %lld hits, %lld prepared, %lld released, %lld kept",
               number_at(event, "hits"), number_at(event, "prepares"),
               number_at(event, "evictions"), number_at(event, "runners"));
}

static void print_table(const json_t *events) {
    size_t i;
    json_t *event;
    puts("generation  why                batch   total MiB    free MiB    used MiB");
    json_array_foreach(events, i, event) {
        const char *why = json_string_value(json_object_get(event, "why"));
        printf("%10lld  %-10s  %12lld", number_at(event, "generation"), why ? why : "",
               number_at(event, "batch_after"));
        print_mib(event, "total_bytes");
        print_mib(event, "free_bytes");
        print_mib(event, "used_bytes");
        print_more(event);
        puts("");
    }
}

int memory_timeline_print(const char *run, bool is_json, terminal *t) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/events.jsonl", run);
    json_t *events = read_events(path);
    if (!events) {
        terminal_error(t, "%s: cannot read: %s; --memory wants a run's folder", path,
                       strerror(errno));
        return EXIT_CONFIGURATION;
    }
    if (is_json) return result_print(events);
    print_table(events);
    json_decref(events);
    return EXIT_OK;
}
