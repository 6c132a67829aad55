// experiment_fixture.c - see experiment_fixture.h.
#include "experiment_fixture.h"

#include <criterion/criterion.h>

void lab_init(lab *self) {
    static const char *const paths[] = {HOX_PLUGIN_DIR};
    hox_error error = HOX_ERROR_INIT;
    unsetenv("HOX_PLUGIN_PATH");
    setenv("XDG_DATA_HOME", "/nowhere", 1);
    *self = (lab){.folder = temp_folder_make(), .accounts = ledger_create(&error)};
    self->path = temp_path(&self->folder, "experiment.json");
    cr_assert_eq(catalog_init(&self->plugins, paths, 1, &error), HOX_OK, "%s", error.message);
}

hox_status lab_load_file(lab *self, const char *path, const char *const *sets, hox_error *error) {
    size_t set_count = 0;
    while (sets && sets[set_count])
        set_count++;
    HOX_TRY(document_load(&self->document, path, sets, set_count, error));
    const hox_status status = experiment_config_load(&self->config, &self->document, &self->plugins,
                                                     NULL, self->accounts, &self->problems, error);
    self->problem_text[0] = 0;
    for (size_t i = 0; i < self->problems.count; i++) {
        const size_t used = strlen(self->problem_text);
        snprintf(self->problem_text + used, sizeof self->problem_text - used, "%s: %s\n",
                 self->problems.items[i].pointer, self->problems.items[i].text);
    }
    return status;
}

hox_status lab_load(lab *self, const char *text, const char *const *sets, hox_error *error) {
    temp_write(self->path, text);
    return lab_load_file(self, self->path, sets, error);
}

void lab_unload(lab *self) {
    experiment_config_deinit(&self->config);
    problem_list_deinit(&self->problems);
    document_deinit(&self->document);
}

void lab_deinit(lab *self) {
    lab_unload(self);
    catalog_deinit(&self->plugins);
    cr_expect_eq(ledger_used(self->accounts, "cpu"), 0, "bytes stay in the ledger");
    ledger_destroy(self->accounts);
    free(self->path);
    temp_folder_remove(&self->folder);
}

run_result lab_run(lab *self, const char *text, const char *const *sets, const char *out) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(lab_load(self, text, sets, &error), HOX_OK, "%s\n%s", error.message,
                 self->problem_text);
    char *folder = temp_path(&self->folder, out);
    const experiment_setup setup = {
        .config = &self->config, .accounts = self->accounts, .out = folder};
    experiment *e;
    run_result result;
    cr_assert_eq(experiment_create(&setup, &e, &error), HOX_OK, "%s", error.message);
    cr_assert_eq(experiment_run(e, &result, &error), HOX_OK, "%s", error.message);
    experiment_destroy(e);
    lab_unload(self);
    free(folder);
    return result;
}

// ---- files ----

static char *read_file(const lab *self, const char *out, const char *name, size_t *size) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", self->folder.path, out, name);
    return temp_read(path, size);
}

json_t *lab_json(const lab *self, const char *out, const char *name) {
    char *text = read_file(self, out, name, NULL);
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(json, "%s/%s", out, name);
    free(text);
    return json;
}

json_t *lab_lines(const lab *self, const char *out, const char *name) {
    char *text = read_file(self, out, name, NULL), *line = text;
    json_t *lines = json_array();
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        json_t *one = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, NULL);
        cr_assert_not_null(one, "%s/%s: %s", out, name, line);
        json_array_append_new(lines, one);
    }
    cr_assert_eq(*line, 0, "%s/%s: half a line", out, name);
    free(text);
    return lines;
}

json_t *at(json_t *json, const char *keys) {
    char key[64];
    while (*keys) {
        const size_t length = strcspn(keys, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, keys);
        json = json_object_get(json, key);
        cr_assert_not_null(json, "no %s", key);
        keys += length + (keys[length] == '.');
    }
    return json;
}

static bool files_are_equal(const lab *self, const char *a, const char *b, const char *name) {
    size_t a_size, b_size;
    char *left = read_file(self, a, name, &a_size), *right = read_file(self, b, name, &b_size);
    const bool equal = a_size == b_size && a_size > 0 && memcmp(left, right, a_size) == 0;
    free(left);
    free(right);
    return equal;
}

static bool metrics_are_equal(const lab *self, const char *a, const char *b) {
    json_t *runs[] = {lab_lines(self, a, "metrics.jsonl"), lab_lines(self, b, "metrics.jsonl")};
    for (int i = 0; i < 2; i++) {
        size_t line;
        json_t *metrics;
        json_array_foreach(runs[i], line, metrics) {
            const char *key;
            json_t *value;
            void *next;
            json_object_foreach_safe(metrics, next, key, value) {
                const size_t length = strlen(key);
                if (length > 8 && strcmp(key + length - 8, "_seconds") == 0)
                    json_object_del(metrics, key);
            }
        }
    }
    const bool equal = json_array_size(runs[0]) > 0 && json_equal(runs[0], runs[1]);
    json_decref(runs[0]);
    json_decref(runs[1]);
    return equal;
}

bool runs_are_equal(const lab *self, const char *a, const char *b) {
    return files_are_equal(self, a, b, "genomes.jsonl") &&
           files_are_equal(self, a, b, "champion/genome.json") &&
           files_are_equal(self, a, b, "champion/weights.safetensors") &&
           metrics_are_equal(self, a, b);
}
