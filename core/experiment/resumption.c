#include "experiment/resumption.h"

#include "experiment/run_directory.h"

#include <string.h>

// Settings that leave results alone; all below them too.
static const char *const free_settings[] = {"/name",
                                            "/stop",
                                            "/run",
                                            "/evaluation/device", // what it came to is a fact
                                            "/evaluation/eval_batch_size",
                                            "/evaluation/eval_batch_size_min",
                                            "/evaluation/batch_size",
                                            "/evaluation/adaptive_eval_batch_size",
                                            "/evaluation/gpu_memory_fraction",
                                            "/evaluation/cuda_graph_memory_reserve_bytes",
                                            "/evaluation/vram_usage_threshold",
                                            "/evaluation/vram_recovery_generations",
                                            "/evaluation/gpu_vram_cap_bytes",
                                            "/evaluation/cache_val_on_gpu",
                                            "/evaluation/cache_refinement_train_on_gpu",
                                            "/evaluation/cache_refinement_test_on_gpu",
                                            "/evaluation/keep_population_on_gpu_within_generation",
                                            "/evaluation/cuda_empty_cache_interval",
                                            "/evaluation/fitness_eval_parallel"};

// What of run.json must be equal.
static const char *const fixed_facts[] = {"/hox",
                                          "/instruction_set",
                                          "/device/kind",
                                          "/device/instruction_set",
                                          "/dataset/fingerprint",
                                          "/dataset/splits",
                                          "/dataset_plugin/xxh128",
                                          "/fitness_plugin/xxh128",
                                          "/runtime/xxh128"};

// Names of differences, in one line.
typedef struct difference_list {
    char text[400];
    size_t count;
} difference_list;

static void add(difference_list *list, const char *name) {
    const size_t used = strlen(list->text);
    snprintf(list->text + used, sizeof list->text - used, "%s%s", used ? ", " : "", name + 1);
    list->count++;
}

static bool is_free(const char *pointer) {
    for (size_t i = 0; i < sizeof free_settings / sizeof *free_settings; i++) {
        const size_t length = strlen(free_settings[i]);
        if (strncmp(pointer, free_settings[i], length) == 0 &&
            (pointer[length] == 0 || pointer[length] == '/'))
            return true;
    }
    return false;
}

// Settings only one of the two has count too; both are complete, so that is another version's.
static void compare_settings(const json_t *old, const json_t *now, const char *pointer,
                             difference_list *list) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)now, key, value) {
        char place[256];
        snprintf(place, sizeof place, "%s/%s", pointer, key);
        const json_t *before = json_object_get(old, key);
        if (is_free(place)) continue;
        if (json_is_object(value) && json_is_object(before))
            compare_settings(before, value, place, list);
        else if (!json_equal(before, value))
            add(list, place);
    }
    json_object_foreach((json_t *)old, key, value) {
        char place[256];
        snprintf(place, sizeof place, "%s/%s", pointer, key);
        if (!json_object_get(now, key) && !is_free(place)) add(list, place);
    }
}

static const json_t *at(const json_t *json, const char *pointer) {
    while (json && *pointer == '/') {
        char key[64];
        const size_t length = strcspn(++pointer, "/");
        snprintf(key, sizeof key, "%.*s", (int)length, pointer);
        json = json_object_get(json, key);
        pointer += length;
    }
    return json;
}

static void compare_facts(const json_t *old, const json_t *now, difference_list *list) {
    for (size_t i = 0; i < sizeof fixed_facts / sizeof *fixed_facts; i++)
        if (!json_equal(at(old, fixed_facts[i]), at(now, fixed_facts[i])))
            add(list, fixed_facts[i]);
}

hox_status resumption_check(session *s, const json_t *old_run, const json_t *old_config,
                            bool is_forced, const log_sink *log, hox_error *error) {
    difference_list list = {{0}, 0};
    json_t *config = experiment_config_print(s->config, error), *run = run_json(s, NULL, error);
    hox_status status = config && run ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
    if (status == HOX_OK && old_config) compare_settings(old_config, config, "", &list);
    if (status == HOX_OK && old_run) compare_facts(old_run, run, &list);
    json_decref(config);
    json_decref(run);
    if (list.count == 0) return status;
    if (!is_forced)
        return hox_error_set(
            error, HOX_BAD_OPTION,
            "the run cannot go on as it was: %s changed; --force goes on all the same", list.text);
    log_line(log, HOX_LOG_WARNING, "forced to go on although this changed: %s", list.text);
    return status;
}
