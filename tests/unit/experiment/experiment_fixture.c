// experiment_fixture.c - see experiment_fixture.h.
#include "experiment_fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

void lab_init(lab *self) {
    static const char *const paths[] = {HOX_PLUGIN_DIR};
    hox_error error = HOX_ERROR_INIT;
    unsetenv("HOX_PLUGIN_PATH");
    setenv("XDG_DATA_HOME", "/nowhere", 1);
    *self = (lab){.folder = temp_folder_make()};
    self->path = temp_path(&self->folder, "experiment.json");
    cr_assert_eq(catalog_init(&self->plugins, paths, 1, &error), HOX_OK, "%s", error.message);
}

hox_status lab_load_file(lab *self, const char *path, const char *const *sets, hox_error *error) {
    size_t set_count = 0;
    while (sets && sets[set_count])
        set_count++;
    HOX_TRY(document_load(&self->document, path, sets, set_count, error));
    const hox_status status = experiment_config_load(&self->config, &self->document, &self->plugins,
                                                     NULL, &self->problems, error);
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

static void expect_nothing_held(const instance *i) {
    if (i->plugin)
        cr_expect_eq(ledger_used(i->services.ledger, "cpu"), 0, "%s keeps bytes", i->plugin->name);
}

void lab_unload(lab *self) {
    expect_nothing_held(&self->config.dataset);
    expect_nothing_held(&self->config.fitness);
    expect_nothing_held(&self->config.runtime);
    experiment_config_deinit(&self->config);
    problem_list_deinit(&self->problems);
    document_deinit(&self->document);
}

void lab_deinit(lab *self) {
    lab_unload(self);
    catalog_deinit(&self->plugins);
    free(self->path);
    temp_folder_remove(&self->folder);
}

// ---- runs ----

static atomic_int stop_signal;

void lab_stop(void) {
    atomic_store(&stop_signal, SIGTERM);
}

static void end_in_time(void *context, const experiment *e, const generation_record *record) {
    (void)e;
    const lab_job *job = context;
    if (job->stop_at == record->generation + 1) lab_stop();
    usleep(job->pause_ms * 1000);
    if (job->kill_at == record->generation + 1) raise(SIGKILL);
}

static hox_status load_job(lab *self, const lab_job *job, hox_error *error) {
    if (job->text) return lab_load(self, job->text, job->sets, error);
    char name[128];
    snprintf(name, sizeof name, "%s/config.resolved.json", job->out);
    char *path = temp_path(&self->folder, name);
    const hox_status status = lab_load_file(self, path, job->sets, error);
    free(path);
    return status;
}

hox_status lab_try(lab *self, const lab_job *job, run_result *result, hox_error *error) {
    const experiment_observer observer = {.generation_done = end_in_time, .context = (void *)job};
    cr_assert_eq(load_job(self, job, error), HOX_OK, "%s\n%s", error->message, self->problem_text);
    if (job->fitness) self->config.fitness.plugin = job->fitness;
    char *folder = temp_path(&self->folder, job->out);
    const experiment_setup setup = {.config = &self->config,
                                    .out = folder,
                                    .is_resumed = job->text == NULL,
                                    .is_forced = job->is_forced,
                                    .log = job->log,
                                    .observer = &observer,
                                    .stop_signal = &stop_signal};
    experiment *e;
    atomic_store(&stop_signal, 0);
    hox_status status = experiment_create(&setup, &e, error);
    if (status == HOX_OK) {
        status = experiment_run(e, result, error);
        experiment_destroy(e);
    } else {
        cr_expect_null(e);
    }
    lab_unload(self);
    free(folder);
    return status;
}

run_result lab_do(lab *self, const lab_job *job) {
    run_result result = {0};
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(lab_try(self, job, &result, &error), HOX_OK, "%s: %s", job->out, error.message);
    return result;
}

void lab_kill(lab *self, const lab_job *job) {
    const pid_t process = fork();
    cr_assert_geq(process, 0);
    if (process == 0) {
        lab_do(self, job);
        _exit(1); // it outlived its end
    }
    int status;
    cr_assert_eq(waitpid(process, &status, 0), process);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%s: %d", job->out, status);
}

run_result lab_run(lab *self, const char *text, const char *const *sets, const char *out) {
    return lab_do(self, &(lab_job){.text = text, .sets = sets, .out = out});
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

json_t *lab_events(const lab *self, const char *out) {
    json_t *events = lab_lines(self, out, "events.jsonl");
    for (size_t i = json_array_size(events); i-- > 0;)
        if (strcmp(json_string_value(at(json_array_get(events, i), "event")), "memory") == 0)
            json_array_remove(events, i);
    return events;
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

static bool checkpoints_are_equal(const lab *self, const char *a, const char *b) {
    const char *const runs[] = {a, b};
    size_t count = 0;
    bool equal = true;
    for (int i = 0; i < 2; i++) {
        char path[256], name[300];
        snprintf(path, sizeof path, "%s/%s/checkpoint", self->folder.path, runs[i]);
        DIR *folder = opendir(path);
        cr_assert_not_null(folder, "%s", path);
        for (const struct dirent *one; (one = readdir(folder));) {
            if (!strstr(one->d_name, ".safetensors")) continue;
            snprintf(name, sizeof name, "checkpoint/%s", one->d_name);
            snprintf(path, sizeof path, "%s/%s/%.100s", self->folder.path, runs[1 - i], name);
            equal = equal && access(path, R_OK) == 0 && files_are_equal(self, a, b, name);
            count++;
        }
        closedir(folder);
    }
    return equal && count > 0;
}

bool runs_are_equal(const lab *self, const char *a, const char *b) {
    return files_are_equal(self, a, b, "genomes.jsonl") &&
           files_are_equal(self, a, b, "champion/genome.json") &&
           files_are_equal(self, a, b, "champion/weights.safetensors") &&
           checkpoints_are_equal(self, a, b) && metrics_are_equal(self, a, b);
}
