#include "base/memory_limit.h"

#include <ctype.h>
#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

// No amount reaches this: with it version 1 says "no limit" (LONG_MAX rounded down to a page), and
// below it sums of three cannot overflow.
static const uint64_t TOO_MUCH = UINT64_C(1) << 62;

// A hierarchy of control groups that may hold the memory controller.
typedef struct hierarchy {
    const char *filesystem;
    const char *controller; // as /proc/self/cgroup lists it; version 2 lists none
    const char *limit_file, *usage_file;
    const char *idle_key; // in memory.stat: page cache not touched lately
} hierarchy;

static const hierarchy hierarchies[] = {
    {"cgroup", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
    {"cgroup2", "", "memory.max", "memory.current", "inactive_file"},
};

static const struct {
    int resource;
    const char *used_key; // in /proc/self/status
} resources[] = {{RLIMIT_AS, "VmSize:"}, {RLIMIT_DATA, "VmData:"}};

// ---- text files ----

typedef struct lines {
    FILE *file; // NULL: there are no lines
    char *text; // the line at hand, without its end
    size_t room;
} lines;

static lines lines_open(const char *folder, const char *name) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return (lines){0};
    return (lines){.file = fopen(path, "re")};
}

static bool lines_next(lines *in) {
    if (!in->file || getline(&in->text, &in->room, in->file) < 0) return false;
    in->text[strcspn(in->text, "\n")] = 0;
    return true;
}

static void lines_close(lines *in) {
    if (in->file) fclose(in->file);
    free(in->text);
}

static bool parse_bytes(const char *text, uint64_t *bytes) {
    text += strspn(text, " \t");
    if (!isdigit((unsigned char)*text)) return false; // "max", and the signs strtoull would take
    char *end;
    const unsigned long long number = strtoull(text, &end, 10); // ULLONG_MAX where it overflows
    const uint64_t unit = strcmp(end, " kB") == 0 ? 1024 : 1;
    if (number >= TOO_MUCH / unit || (unit == 1 && *end != 0)) return false;
    *bytes = number * unit;
    return true;
}

// The number behind key on the first line that has both; with key "" a line is the number.
static bool read_bytes(const char *folder, const char *name, const char *key, uint64_t *bytes) {
    lines in = lines_open(folder, name);
    const size_t length = strlen(key);
    bool is_found = false;
    while (!is_found && lines_next(&in))
        is_found = strncmp(in.text, key, length) == 0 && parse_bytes(in.text + length, bytes);
    lines_close(&in);
    return is_found;
}

static uint64_t read_bytes_or_0(const char *folder, const char *name, const char *key) {
    uint64_t bytes;
    return read_bytes(folder, name, key, &bytes) ? bytes : 0;
}

// ---- what limits ----

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t minus(uint64_t a, uint64_t b) { // not below 0
    return a > b ? a - b : 0;
}

static void apply(memory_limit *limit, uint64_t total, uint64_t left) {
    limit->total_bytes = least(limit->total_bytes, total);
    limit->free_bytes = least(limit->free_bytes, least(total, left));
}

static uint64_t read_available(const char *root, const char *file, uint64_t total) {
    uint64_t left;
    if (read_bytes(root, file, "MemAvailable:", &left)) return left;
    if (!read_bytes(root, file, "MemFree:", &left)) return total;
    left += read_bytes_or_0(root, file, "Buffers:"); // kernels before 3.14
    return left + read_bytes_or_0(root, file, "Cached:");
}

static void apply_machine(memory_limit *limit, const char *root) {
    static const char file[] = "proc/meminfo";
    uint64_t total;
    if (read_bytes(root, file, "MemTotal:", &total))
        apply(limit, total, read_available(root, file, total));
}

static void apply_resources(memory_limit *limit, const char *root) {
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
        struct rlimit most;
        if (getrlimit(resources[i].resource, &most) != 0 || most.rlim_cur == RLIM_INFINITY)
            continue;
        const uint64_t used = read_bytes_or_0(root, "proc/self/status", resources[i].used_key);
        apply(limit, most.rlim_cur, minus(most.rlim_cur, used));
    }
}

// Page cache that nobody has touched lately does not count as used: the kernel takes it back
// before it kills.
static void apply_group(memory_limit *limit, const hierarchy *of, const char *folder) {
    uint64_t most;
    if (!read_bytes(folder, of->limit_file, "", &most)) return;
    const uint64_t usage = read_bytes_or_0(folder, of->usage_file, "");
    const uint64_t idle = read_bytes_or_0(folder, "memory.stat", of->idle_key);
    apply(limit, most, minus(most, minus(usage, idle)));
}

// The group below the mount point and all above it: the limit of each holds. group: "" or "/...".
static void apply_groups(memory_limit *limit, const hierarchy *of, const char *root,
                         const char *point, const char *group) {
    char folder[PATH_MAX];
    const int length = snprintf(folder, sizeof folder, "%s%s%s", root, point, group);
    if (length < 0 || length >= (int)sizeof folder) return;
    const size_t shortest = (size_t)length - strlen(group);
    apply_group(limit, of, folder);
    while (strlen(folder) > shortest) {
        *strrchr(folder, '/') = 0;
        apply_group(limit, of, folder);
    }
}

// ---- where the groups are ----

static bool list_has(char *list, const char *word) { // cuts the list up
    for (const char *item; (item = strsep(&list, ","));)
        if (strcmp(item, word) == 0) return true;
    return false;
}

// The path of this process's group, from a line "4:cpu,memory:/path"; yours, or NULL.
static char *read_group(const char *root, const hierarchy *of) {
    lines in = lines_open(root, "proc/self/cgroup");
    char *group = NULL;
    while (!group && lines_next(&in)) {
        char *rest = in.text;
        strsep(&rest, ":");
        char *controllers = strsep(&rest, ":");
        if (rest && *rest == '/' && list_has(controllers, of->controller)) group = strdup(rest);
    }
    lines_close(&in);
    return group;
}

static void decode_octal(char *text) { // "\040" is a space
    char *to = text;
    while (*text) {
        if (*text == '\\' && strspn(text + 1, "01234567") >= 3) {
            *to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
            text += 4;
        } else {
            *to++ = *text++;
        }
    }
    *to = 0;
}

typedef struct mount {
    char *group; // of the hierarchy that is seen at point
    char *point;
} mount;

// "36 35 98:0 /group /point rw,noatime shared:1 - cgroup cgroup rw,memory" (proc_pid_mountinfo(5))
static bool parse_mount(char *line, const hierarchy *of, mount *out) {
    char *fields[5], *rest = strstr(line, " - ");
    if (!rest) return false;
    *rest = 0;
    rest += 3;
    for (size_t i = 0; i < 5; i++)
        fields[i] = strsep(&line, " ");
    const char *filesystem = strsep(&rest, " ");
    strsep(&rest, " "); // the source
    if (!fields[4] || strcmp(filesystem, of->filesystem) != 0) return false;
    *out = (mount){fields[3], fields[4]};
    decode_octal(out->group);
    decode_octal(out->point);
    return !*of->controller || list_has(rest, of->controller);
}

// What of path is below top: "" or "/..."; NULL where path is elsewhere, as with a "..". Of path.
static const char *path_below(const char *path, const char *top) {
    const size_t length = strcmp(top, "/") == 0 ? 0 : strlen(top);
    if (strncmp(path, top, length) != 0) return NULL;
    path += length;
    return (*path == '/' || *path == 0) && !strstr(path, "/..") ? path : NULL;
}

// A container may be told of a group that no mount reaches; then a mount's own group is the nearest
// that can be read. Where several mounts show the group all count: one may show more of what is
// above it.
static void apply_hierarchy(memory_limit *limit, const hierarchy *of, const char *root) {
    char *group = read_group(root, of);
    lines in = lines_open(root, "proc/self/mountinfo");
    memory_limit elsewhere = *limit;
    bool is_found = false;
    mount seen;
    while (group && lines_next(&in)) {
        if (!parse_mount(in.text, of, &seen)) continue;
        const char *below = path_below(group, seen.group);
        apply_groups(below ? limit : &elsewhere, of, root, seen.point, below ? below : "");
        is_found = is_found || below;
    }
    if (!is_found) *limit = elsewhere;
    lines_close(&in);
    free(group);
}

memory_limit memory_limit_read(const char *root) {
    memory_limit limit = {UINT64_MAX, UINT64_MAX};
    apply_machine(&limit, root);
    apply_resources(&limit, root);
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
        apply_hierarchy(&limit, &hierarchies[i], root);
    return limit.total_bytes == UINT64_MAX ? (memory_limit){0} : limit;
}

void memory_return_large_blocks(void) {
    mallopt(M_MMAP_THRESHOLD, 1 << 20); // saying it keeps the library from raising it
}
