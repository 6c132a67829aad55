#include "experiment/run_directory.h"

#include "base/cpu.h"
#include "base/file.h"
#include "base/hash.h"
#include "evaluation/device.h"
#include "io/genome_json.h"
#include "io/json_value.h"
#include "io/safetensors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <hox/version.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static hox_status no_memory(hox_error *error) {
    return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
}

// ---- the folder ----

// All that a run leaves which is killed before its settings are there.
static bool is_of_a_start(const char *name) {
    return strcmp(name, "lock") == 0 || strcmp(name, "config.resolved.json.tmp") == 0;
}

static bool is_unused(const char *path) {
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT || errno == ENOTDIR; // what is no folder is said when it is made
    bool unused = true;
    for (const struct dirent *entry; unused && (entry = readdir(folder));)
        unused = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                 is_of_a_start(entry->d_name);
    closedir(folder);
    return unused;
}

static hox_status use_folder(const char *path, hox_error *error) {
    if (!is_unused(path))
        return hox_error_set(error, HOX_IO,
                             "%s: holds something already; a run needs a folder of its own", path);
    return file_make_folders(path, error);
}

// The first of <out>/<name>-<date>-<time>, ...-2, ...-3 that is not there yet.
static hox_status make_new_folder(const experiment_config *config, char *path, size_t size,
                                  hox_error *error) {
    HOX_TRY(file_make_folders(config->run.out, error));
    const time_t now = time(NULL);
    struct tm local;
    char stamp[32];
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    for (int n = 1; n < 1000; n++) {
        char suffix[8] = "";
        if (n > 1) snprintf(suffix, sizeof suffix, "-%d", n);
        if (snprintf(path, size, "%s/%s-%s%s", config->run.out, config->head.name, stamp, suffix) >=
            (int)size)
            break;
        if (mkdir(path, 0777) == 0) return HOX_OK;
        if (errno != EEXIST) break;
    }
    return hox_error_set(error, HOX_IO, "%.300s: cannot make: %s", path, strerror(errno));
}

static hox_status make_folder_in(const run_directory *d, const char *name, hox_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", d->path, name);
    return file_make_folders(path, error);
}

// Held until the descriptor is closed, or the process ends in whatever way; also over NFS.
static hox_status take_lock(run_directory *d, hox_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/lock", d->path);
    d->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (d->lock < 0)
        return hox_error_set(error, HOX_IO, "%s: cannot open: %s", path, strerror(errno));
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(d->lock, F_SETLK, &whole) == 0) return HOX_OK;
    fcntl(d->lock, F_GETLK, &whole);
    return hox_error_set(error, HOX_IO, "%s: another process (%d) is at work in this folder",
                         d->path, (int)whole.l_pid);
}

static hox_status create(run_directory *d, experiment_config *config, const char *out,
                         hox_error *error) {
    char path[PATH_MAX], file[PATH_MAX + 16];
    if (out) {
        snprintf(path, sizeof path, "%s", out);
        HOX_TRY(use_folder(path, error));
    } else {
        HOX_TRY(make_new_folder(config, path, sizeof path, error));
    }
    d->path = strdup(path);
    if (!d->path) return no_memory(error);
    HOX_TRY(take_lock(d, error));
    HOX_TRY(use_folder(path, error)); // still: another run may have come and gone
    HOX_TRY(run_directory_write_config(d, config, error));
    HOX_TRY(make_folder_in(d, "champion", error));
    HOX_TRY(make_folder_in(d, "checkpoint", error));
    snprintf(file, sizeof file, "%s/metrics.jsonl", path);
    HOX_TRY(jsonl_create(&d->metrics, file, error));
    snprintf(file, sizeof file, "%s/genomes.jsonl", path);
    HOX_TRY(jsonl_create(&d->genomes, file, error));
    snprintf(file, sizeof file, "%s/events.jsonl", path);
    return jsonl_create(&d->events, file, error);
}

hox_status run_directory_create(run_directory *d, experiment_config *config, const char *out,
                                hox_error *error) {
    *d = RUN_DIRECTORY_CLOSED;
    const hox_status status = create(d, config, out, error);
    if (status != HOX_OK) run_directory_close(d);
    return status;
}

void run_directory_close(run_directory *d) {
    if (!d->path) return;
    jsonl_close(&d->metrics);
    jsonl_close(&d->genomes);
    jsonl_close(&d->events);
    if (d->lock >= 0) close(d->lock);
    free(d->path);
    *d = RUN_DIRECTORY_CLOSED;
}

hox_status run_directory_open(run_directory *d, const char *path, hox_error *error) {
    *d = RUN_DIRECTORY_CLOSED;
    d->path = strdup(path);
    if (!d->path) return no_memory(error);
    const hox_status status = take_lock(d, error);
    if (status != HOX_OK) run_directory_close(d);
    return status;
}

void run_directory_count_lines(const run_directory *d, uint64_t *metrics, uint64_t *genomes) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/metrics.jsonl", d->path);
    *metrics = jsonl_count(path);
    snprintf(path, sizeof path, "%s/genomes.jsonl", d->path);
    *genomes = jsonl_count(path);
}

hox_status run_directory_continue(run_directory *d, uint64_t metrics, uint64_t genomes,
                                  hox_error *error) {
    char path[PATH_MAX];
    HOX_TRY(make_folder_in(d, "champion", error));
    HOX_TRY(make_folder_in(d, "checkpoint", error));
    snprintf(path, sizeof path, "%s/metrics.jsonl", d->path);
    HOX_TRY(jsonl_reopen(&d->metrics, path, metrics, error));
    snprintf(path, sizeof path, "%s/genomes.jsonl", d->path);
    HOX_TRY(jsonl_reopen(&d->genomes, path, genomes, error));
    snprintf(path, sizeof path, "%s/events.jsonl", d->path);
    return jsonl_reopen(&d->events, path, UINT64_MAX, error);
}

hox_status run_directory_sync(run_directory *d, hox_error *error) {
    HOX_TRY(jsonl_sync(&d->metrics, error));
    HOX_TRY(jsonl_sync(&d->genomes, error));
    return jsonl_sync(&d->events, error);
}

// Takes the reference.
static hox_status write_json(const run_directory *d, const char *name, json_t *json,
                             hox_error *error) {
    char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    json_decref(json);
    if (!text) return no_memory(error);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", d->path, name);
    const hox_status status = file_write(path, text, strlen(text), error);
    free(text);
    return status;
}

hox_status run_directory_write_config(run_directory *d, experiment_config *config,
                                      hox_error *error) {
    json_t *json = experiment_config_print(config, error);
    return json ? write_json(d, "config.resolved.json", json, error) : HOX_OUT_OF_HOST_MEMORY;
}

// ---- run.json ----

static json_t *plugin_json(const instance *i) {
    char *bytes;
    size_t size;
    json_t *hash = json_null();
    if (file_read(i->path, SIZE_MAX / 2, &bytes, &size, NULL) == HOX_OK)
        hash = json_value_hash(hash_bytes(bytes, size).words);
    free(bytes);
    return json_pack("{s:s, s:s?, s:s, s:o}", "name", i->plugin->name, "version",
                     HOX_HAS(i->plugin, version) ? i->plugin->version : NULL, "file", i->path,
                     "xxh128", hash);
}

static json_t *by_split_json(const double values[SPLIT_COUNT]) {
    json_t *json = json_object();
    for (uint32_t part = SPLIT_SELECT; part < SPLIT_COUNT; part++)
        json_object_set_new(json, split_names[part], json_value_real(values[part]));
    return json;
}

static json_t *lineage_json(const lineage *l) {
    json_t *json = json_object();
    for (uint32_t i = 0; i < LINEAGE_COUNT; i++)
        json_object_set_new(
            json, lineage_names[i],
            json_pack("{s:I, s:I, s:I}", "children", (json_int_t)l->rows[i].children, "survived",
                      (json_int_t)l->rows[i].survived, "best", (json_int_t)l->rows[i].best));
    return json;
}

static json_t *result_json(const run_result *r) {
    if (!r) return json_null();
    return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:i, s:f}", "champion",
                     (json_int_t)r->champion_id, "champion_generation",
                     (json_int_t)r->champion_generation, "generations",
                     (json_int_t)r->generation_count, "fitness", by_split_json(r->fitness),
                     "balanced_accuracy", by_split_json(r->balanced_accuracy), "brightness_test",
                     json_value_real(r->brightness_test), "operators", lineage_json(&r->lineage),
                     "stop_signal", r->stop_signal, "total_seconds", r->total_seconds);
}

json_t *run_json(const session *s, const run_result *result, hox_error *error) {
    experiment_config *config = s->config;
    const hox_device_info *device = evaluation_device(s->evaluation);
    json_t *json =
        json_pack("{s:s, s:I, s:o, s:o, s:o, s:{s:s, s:s, s:s, s:s, s:s}, s:s, s:i, s:o, s:o}",
                  "hox", HOX_VERSION_TEXT, "contract_draft", (json_int_t)HOX_ABI_DRAFT, "runtime",
                  plugin_json(&config->runtime), "dataset_plugin", plugin_json(&config->dataset),
                  "fitness_plugin", plugin_json(&config->fitness), "device", "kind",
                  device_kind_name(device->kind), "address", device->address, "name", device->name,
                  "bus", device->bus, "instruction_set", device->instruction_set, "instruction_set",
                  cpu_instruction_set(), "lanes", (int)evaluation_lane_count(s->evaluation),
                  "dataset", splits_json(&s->splits), "result", result_json(result));
    if (json) { // a seed may be too large for a JSON integer: as the configuration prints it
        json_t *resolved = experiment_config_print(config, error);
        json_object_set(json, "seed", json_object_get(resolved, "seed"));
        json_decref(resolved);
    } else {
        no_memory(error);
    }
    return json;
}

hox_status run_directory_write_run(run_directory *d, const session *s, const run_result *result,
                                   hox_error *error) {
    json_t *json = run_json(s, result, error);
    return json ? write_json(d, "run.json", json, error) : HOX_OUT_OF_HOST_MEMORY;
}

// ---- lines ----

static json_t *operators_json(const individual *one) {
    bool rows[LINEAGE_COUNT];
    json_t *json = json_array();
    lineage_rows_of(one, rows);
    for (uint32_t i = 0; i < LINEAGE_COUNT; i++)
        if (rows[i]) json_array_append_new(json, json_string(lineage_names[i]));
    return json;
}

static json_t *genome_line(uint32_t generation, const individual *one, const evaluation_result *r,
                           uint64_t refined_from) {
    const hox_genome_facts *f = &r->facts;
    const bool is_ok = r->reason == EVALUATION_OK;
    json_t *line = json_pack(
        "{s:I, s:I, s:[I,I], s:I, s:b, s:o, s:I, s:o, s:s?, s:[I,I,I,I], s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:I, "
        "s:o}",
        "generation", (json_int_t)generation, "id", (json_int_t)one->genome->id, "parents",
        (json_int_t)one->genome->parent_ids[0], (json_int_t)one->genome->parent_ids[1], "species",
        (json_int_t)one->species_id, "elite", one->is_elite, "operators", operators_json(one),
        "failed_tries", (json_int_t)one->birth.failed_count, "fitness",
        json_value_real(one->has_fitness ? one->fitness : NAN), "failure",
        is_ok ? NULL : evaluation_reasons[r->reason], "tp_tn_fp_fn",
        (json_int_t)r->metrics.true_positives, (json_int_t)r->metrics.true_negatives,
        (json_int_t)r->metrics.false_positives, (json_int_t)r->metrics.false_negatives, "nodes",
        (json_int_t)f->node_count, "edges", (json_int_t)f->edge_count, "enabled_edges",
        (json_int_t)f->enabled_edge_count, "executed_nodes", (json_int_t)f->executed_node_count,
        "executed_edges", (json_int_t)f->executed_edge_count, "weights",
        (json_int_t)f->weight_count, "flops", (json_int_t)f->flops_per_sample, "structure",
        json_value_hash(r->structure_hash));
    if (line && refined_from != 0)
        json_object_set_new(line, "refined_from", json_integer((json_int_t)refined_from));
    return line;
}

hox_status run_directory_write_genomes(run_directory *d, uint32_t generation, const population *p,
                                       const evaluation_result *results,
                                       const uint64_t *refined_from, hox_error *error) {
    for (size_t i = 0; i < p->count; i++)
        HOX_TRY(jsonl_append(&d->genomes,
                             genome_line(generation, &p->items[i], &results[i], refined_from[i]),
                             error));
    return HOX_OK;
}

hox_status run_directory_write_metrics(run_directory *d, const generation_record *r,
                                       hox_error *error) {
    const hox_genome_facts *f = &r->champion_facts;
    return jsonl_append(
        &d->metrics,
        json_pack("{s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:f, "
                  "s:f, s:f, s:f}",
                  "generation", (json_int_t)r->generation, "best", json_value_real(r->best), "mean",
                  json_value_real(r->mean), "monitor", json_value_real(r->monitor), "champion",
                  (json_int_t)r->champion_id, "champion_nodes", (json_int_t)f->executed_node_count,
                  "champion_edges", (json_int_t)f->executed_edge_count, "champion_flops",
                  (json_int_t)f->flops_per_sample, "evaluated", (json_int_t)r->evaluated_count,
                  "failed", (json_int_t)r->failed_count, "species", (json_int_t)r->species_count,
                  "evaluations", (json_int_t)r->evaluation_total, "refined",
                  (json_int_t)r->refined_count, "refinement_gain",
                  json_value_real(r->refinement_gain), "evaluate_seconds", r->evaluate_seconds,
                  "evolve_seconds", r->evolve_seconds, "refine_seconds", r->refine_seconds,
                  "write_seconds", r->write_seconds),
        error);
}

hox_status run_directory_write_champion(run_directory *d, const genome *g, hox_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/champion/genome.json", d->path);
    HOX_TRY(genome_json_save(path, g, error));
    snprintf(path, sizeof path, "%s/champion/weights.safetensors", d->path);
    return safetensors_save(path, g, error);
}

static json_t *free_json(uint64_t bytes) {
    return bytes == UINT64_MAX ? json_null() : json_integer((json_int_t)bytes); // unknown
}

// Numbers that say nothing for this kind of event are left out.
static json_t *memory_json(uint32_t generation, const memory_event *e) {
    json_t *json = json_pack("{s:s, s:I, s:s, s:I, s:o, s:I, s:I, s:I, s:I}", "event", "memory",
                             "generation", (json_int_t)generation, "why", memory_why_names[e->why],
                             "total_bytes", (json_int_t)e->reading.total, "free_bytes",
                             free_json(e->reading.free), "used_bytes", (json_int_t)e->reading.used,
                             "batch_before", (json_int_t)e->batch_before, "batch_after",
                             (json_int_t)e->batch_after, "ceiling", (json_int_t)e->ceiling);
    const struct {
        const char *name;
        uint64_t value;
        bool is_said;
    } rows[] = {{"genome", e->genome_id, e->tried > 0},
                {"lane", e->lane, e->tried > 0},
                {"tried", e->tried, e->tried > 0},
                {"bytes_needed", e->bytes_needed, e->bytes_needed > 0},
                {"bytes_left", e->bytes_left, e->bytes_needed > 0},
                {"hits", e->runners.hits, e->why == MEMORY_GENERATION},
                {"prepares", e->runners.prepares, e->why == MEMORY_GENERATION},
                {"evictions", e->runners.evictions, e->why == MEMORY_GENERATION},
                {"runners", e->runner_count, e->why == MEMORY_GENERATION},
                {"runner_bytes", e->runners.bytes, e->why == MEMORY_GENERATION},
                {"peak_bytes", e->peak_bytes, e->why == MEMORY_GENERATION}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].is_said)
            json_object_set_new(json, rows[i].name, json_integer((json_int_t)rows[i].value));
    return json;
}

hox_status run_directory_write_memory(run_directory *d, uint32_t generation,
                                      const memory_event *event, hox_error *error) {
    return run_directory_write_event(d, memory_json(generation, event), error);
}

hox_status run_directory_write_event(run_directory *d, json_t *event, hox_error *error) {
    return jsonl_append(&d->events, event, error);
}
