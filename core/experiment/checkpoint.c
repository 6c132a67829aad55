#include "experiment/checkpoint.h"

#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char format_name[] = "hox-checkpoint/1";
enum { NAME_SIZE = 64, KEPT = 2 };

// ---- names ----

static int is_checkpoint(const struct dirent *entry) {
    const char *name = entry->d_name;
    return strspn(name, "0123456789") == 8 && strcmp(name + 8, ".safetensors") == 0;
}

static int newest_first(const struct dirent **a, const struct dirent **b) {
    return strcmp((*b)->d_name, (*a)->d_name);
}

// Names of the files there are; returns their number. free_names frees them.
static int list_names(const char *folder, struct dirent ***names) {
    *names = NULL;
    const int count = scandir(folder, names, is_checkpoint, newest_first);
    return count > 0 ? count : 0;
}

static void free_names(struct dirent **names, int count) {
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static void path_of(const char *folder, const char *name, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
}

// Keeps the newest and the one before. What has a higher number is of a run that could not go on
// from it.
static void drop_others(const char *folder, const char *newest) {
    struct dirent **names;
    const int count = list_names(folder, &names);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i]->d_name, newest) <= 0 && kept++ < KEPT) continue;
        char path[PATH_MAX];
        path_of(folder, names[i]->d_name, path);
        unlink(path); // one too many does no harm
    }
    free_names(names, count);
}

// ---- the container ----

// A name for state and weights together.
static void hash_all(const char *state, const float *values, size_t count,
                     char text[HASH_TEXT_SIZE]) {
    const hash128 parts[2] = {hash_bytes(state, strlen(state)),
                              hash_bytes(values, count * sizeof *values)};
    hash_print(hash_bytes(parts, sizeof parts).words, text);
}

// The header's text, padded to a multiple of 8. NULL without memory.
static char *print_header(const char *state, const float *values, size_t count) {
    char hash[HASH_TEXT_SIZE];
    hash_all(state, values, count, hash);
    json_t *header =
        json_pack("{s:{s:s, s:s, s:s}, s:{s:s, s:[I], s:[i,I]}}", "__metadata__", "format",
                  format_name, "xxh128", hash, "state", state, "kernels", "dtype", "F32", "shape",
                  (json_int_t)count, "data_offsets", 0, (json_int_t)(count * sizeof *values));
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    const size_t length = text ? strlen(text) : 0;
    char *padded = text ? malloc((length + 7) / 8 * 8 + 1) : NULL;
    if (padded) {
        memset(padded, ' ', (length + 7) / 8 * 8);
        memcpy(padded, text, length);
        padded[(length + 7) / 8 * 8] = 0;
    }
    free(text);
    return padded;
}

static hox_status write_container(const char *path, const char *header, const float *values,
                                  size_t count, hox_error *error) {
    const size_t header_size = strlen(header), total = 8 + header_size + count * sizeof *values;
    char *bytes = array_create(total, 1, error);
    if (!bytes) return HOX_OUT_OF_HOST_MEMORY;
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)((uint64_t)header_size >> 8 * i & 0xff);
    memcpy(bytes + 8, header, header_size);
    if (count > 0) memcpy(bytes + 8 + header_size, values, count * sizeof *values);
    const hox_status status = file_write(path, bytes, total, error);
    free(bytes);
    return status;
}

hox_status checkpoint_save(const char *folder, const run_state *run, const evolution_state *evolved,
                           hox_error *error) {
    kernel_values values;
    json_t *json = checkpoint_state_print(run, evolved, &values, error);
    char *state = json ? json_dumps(json, JSON_COMPACT) : NULL;
    char *header = state ? print_header(state, values.values, values.count) : NULL;
    hox_status status = HOX_OUT_OF_HOST_MEMORY;
    char name[NAME_SIZE], path[PATH_MAX];
    snprintf(name, sizeof name, "%08u.safetensors", evolved->generation);
    if (header) {
        path_of(folder, name, path);
        status = write_container(path, header, values.values, values.count, error);
    } else {
        hox_error_set(error, status, "out of memory");
    }
    free(header);
    free(state);
    json_decref(json);
    free(values.values);
    if (status == HOX_OK) drop_others(folder, name);
    return status;
}

// ---- loading ----

// A checkpoint in memory; values points into bytes.
typedef struct container {
    char *bytes;
    size_t size, header_size;
    json_t *header;
    float *values; // a copy: the data need not be aligned in the file
    size_t value_count;
} container;

static void container_deinit(container *c) {
    free(c->bytes);
    free(c->values);
    json_decref(c->header);
}

static hox_status damaged(const char *what, hox_error *error) {
    return hox_error_set(error, HOX_CORRUPT, "%s", what);
}

static hox_status parse_header(container *c, hox_error *error) {
    uint64_t header_size = 0;
    if (c->size < 8) return damaged("it is cut off", error);
    for (int i = 7; i >= 0; i--)
        header_size = header_size << 8 | (unsigned char)c->bytes[i];
    if (header_size > c->size - 8) return damaged("it is cut off", error);
    c->header_size = header_size;
    c->header = json_loadb(c->bytes + 8, header_size, JSON_REJECT_DUPLICATES, NULL);
    if (!c->header) return damaged("its header is no JSON", error);
    const size_t data_size = c->size - 8 - header_size;
    if (data_size % sizeof *c->values != 0) return damaged("it is cut off", error);
    c->value_count = data_size / sizeof *c->values;
    c->values = array_create(c->value_count, sizeof *c->values, error);
    if (!c->values) return HOX_OUT_OF_HOST_MEMORY;
    memcpy(c->values, c->bytes + 8 + header_size, data_size);
    return HOX_OK;
}

static const char *metadata(const container *c, const char *key) {
    return json_string_value(json_object_get(json_object_get(c->header, "__metadata__"), key));
}

// All of the header follows from state and weights, so that no changed byte goes unseen.
static hox_status check_container(const container *c, hox_error *error) {
    const char *format = metadata(c, "format"), *state = metadata(c, "state");
    if (!format || strcmp(format, format_name) != 0)
        return hox_error_set(error, HOX_CORRUPT, "its format is \"%.40s\" where \"%s\" is read",
                             format ? format : "", format_name);
    if (!state) return damaged("its state is missing", error);
    char *expected = print_header(state, c->values, c->value_count);
    if (!expected) return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
    const bool is_right =
        strlen(expected) == c->header_size && memcmp(expected, c->bytes + 8, c->header_size) == 0;
    free(expected);
    return is_right ? HOX_OK : damaged("its checksum is wrong", error);
}

static hox_status read_state(const container *c, run_state *run, evolution_state *evolved,
                             hox_error *error) {
    json_t *state = json_loads(metadata(c, "state"), 0, NULL);
    if (!state) return damaged("its state is no JSON", error);
    const hox_status status =
        checkpoint_state_read(state, c->values, c->value_count, run, evolved, error);
    json_decref(state);
    return status;
}

static hox_status load_one(const char *path, run_state *run, evolution_state *evolved,
                           hox_error *error) {
    container c = {0};
    hox_status status = file_read(path, SIZE_MAX / 4, &c.bytes, &c.size, error);
    if (status == HOX_OK) status = parse_header(&c, error);
    if (status == HOX_OK) status = check_container(&c, error);
    if (status == HOX_OK) status = read_state(&c, run, evolved, error);
    container_deinit(&c);
    return status;
}

// A state whose lines are not all there has lost them with the disk's cache.
static hox_status check_lines(const run_state *run, uint64_t metrics_lines, uint64_t genomes_lines,
                              hox_error *error) {
    if (run->metrics_lines <= metrics_lines && run->genomes_lines <= genomes_lines) return HOX_OK;
    return damaged("metrics.jsonl or genomes.jsonl is shorter than it says", error);
}

hox_status checkpoint_load(const char *folder, uint64_t metrics_lines, uint64_t genomes_lines,
                           const log_sink *log, run_state *run, evolution_state *evolved,
                           hox_error *error) {
    struct dirent **names;
    const int count = list_names(folder, &names);
    hox_status status = HOX_NOT_FOUND;
    for (int i = 0; i < count && status != HOX_OK; i++) {
        char path[PATH_MAX];
        hox_error why = HOX_ERROR_INIT;
        path_of(folder, names[i]->d_name, path);
        status = load_one(path, run, evolved, &why);
        if (status == HOX_OK) {
            status = check_lines(run, metrics_lines, genomes_lines, &why);
            if (status != HOX_OK) {
                genome_destroy(run->champion);
                evolution_state_deinit(evolved);
            }
        }
        if (status != HOX_OK)
            log_line(log, HOX_LOG_WARNING, "checkpoint %s is skipped: %s", path, why.message);
        else if (i == 0)
            drop_others(folder, names[i]->d_name); // a save that was killed left one too many
    }
    free_names(names, count);
    if (status == HOX_OK) return HOX_OK;
    if (count == 0)
        return hox_error_set(error, HOX_NOT_FOUND, "%s: there is no checkpoint yet", folder);
    return hox_error_set(error, HOX_CORRUPT, "%s: none of the %d checkpoints can be read", folder,
                         count);
}
