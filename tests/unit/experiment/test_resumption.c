// test_resumption.c - what may differ when a run goes on, and what not.
#include "experiment/resumption.h"
#include "experiment/run_directory.h"
#include "experiment_fixture.h"

#include <criterion/criterion.h>

static const char small[] =
    "{\"seed\": 5, \"dataset\": {\"plugin\": \"synthetic\", \"train_count\": 80, "
    "\"test_count\": 20, \"size\": 8}, \"task\": {\"positive_class\": 0}}";

static lab self;
static session opened;
static json_t *run, *config;

static void setup(void) {
    hox_error error = HOX_ERROR_INIT;
    lab_init(&self);
    cr_assert_eq(lab_load(&self, small, NULL, &error), HOX_OK, "%s", error.message);
    cr_assert_eq(session_open(&opened, &self.config, NULL, (memory_listener){0}, &error), HOX_OK,
                 "%s", error.message);
    run = run_json(&opened, NULL, NULL);
    config = experiment_config_print(&self.config, NULL);
}

static void teardown(void) {
    json_decref(run);
    json_decref(config);
    session_close(&opened);
    lab_unload(&self);
    lab_deinit(&self);
}

TestSuite(resumption, .init = setup, .fini = teardown);

static hox_status check(hox_error *error) {
    *error = (hox_error)HOX_ERROR_INIT;
    return resumption_check(&opened, run, config, false, NULL, error);
}

Test(resumption, accepts_what_has_not_changed) {
    hox_error error;
    cr_expect_eq(check(&error), HOX_OK, "%s", error.message);
    // as read from the files
    char *texts[] = {json_dumps(run, JSON_INDENT(2)), json_dumps(config, JSON_INDENT(2))};
    json_decref(run);
    json_decref(config);
    run = json_loads(texts[0], 0, NULL);
    config = json_loads(texts[1], 0, NULL);
    cr_expect_eq(check(&error), HOX_OK, "%s", error.message);
    free(texts[0]);
    free(texts[1]);
    cr_expect_eq(resumption_check(&opened, NULL, NULL, false, NULL, &error), HOX_OK, "not so far");
}

// ---- each fact of run.json ----

Test(resumption, names_each_fact_that_changed) {
    static const struct {
        const char *section, *key; // NULL = in the root
        bool is_free;
    } facts[] = {
        {NULL, "hox", false},
        {NULL, "instruction_set", false},
        {"device", "kind", false},
        {"device", "instruction_set", false},
        {"dataset", "fingerprint", false},
        {"dataset", "splits", false},
        {"dataset_plugin", "xxh128", false},
        {"fitness_plugin", "xxh128", false},
        {"runtime", "xxh128", false},
        {"device", "name", true}, // another machine of the same kind
        {"device", "address", true},
        {"runtime", "file", true},
        {NULL, "lanes", true},
        {NULL, "result", true},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *section = facts[i].section;
        json_t *place = section ? json_object_get(run, section) : run, *old;
        char name[64];
        hox_error error;
        snprintf(name, sizeof name, "%s%s%s", section ? section : "", section ? "/" : "",
                 facts[i].key);
        old = json_incref(json_object_get(place, facts[i].key));
        cr_assert_not_null(old, "%s", name);
        json_object_set_new(place, facts[i].key, json_string("other"));
        cr_expect_eq(check(&error), facts[i].is_free ? HOX_OK : HOX_BAD_OPTION, "%s", name);
        if (!facts[i].is_free) cr_expect(strstr(error.message, name), "%s", error.message);
        json_object_del(place, facts[i].key);
        cr_expect_eq(check(&error), facts[i].is_free ? HOX_OK : HOX_BAD_OPTION, "%s", name);
        json_object_set_new(place, facts[i].key, old);
    }
}

// ---- each setting ----

static const char *const free_settings[] = {"name",
                                            "stop/",
                                            "run/",
                                            "evaluation/device", // what it came to is a fact
                                            "evaluation/eval_batch_size",
                                            "evaluation/eval_batch_size_min",
                                            "evaluation/batch_size",
                                            "evaluation/adaptive_eval_batch_size",
                                            "evaluation/gpu_memory_fraction",
                                            "evaluation/cuda_graph_memory_reserve_bytes",
                                            "evaluation/vram_usage_threshold",
                                            "evaluation/vram_recovery_generations",
                                            "evaluation/gpu_vram_cap_bytes",
                                            "evaluation/cache_val_on_gpu",
                                            "evaluation/cache_refinement_train_on_gpu",
                                            "evaluation/cache_refinement_test_on_gpu",
                                            "evaluation/keep_population_on_gpu_within_generation",
                                            "evaluation/cuda_empty_cache_interval",
                                            "evaluation/fitness_eval_parallel"};

// A name that ends in / stands for all behind it.
static bool is_free(const char *name) {
    for (size_t i = 0; i < sizeof free_settings / sizeof *free_settings; i++) {
        const size_t length = strlen(free_settings[i]);
        if (strncmp(name, free_settings[i], length) == 0 &&
            (free_settings[i][length - 1] == '/' || name[length] == 0))
            return true;
    }
    return false;
}

static size_t free_count, fixed_count;

static void check_setting(json_t *place, const char *key, const char *name) {
    hox_error error;
    json_t *old = json_incref(json_object_get(place, key));
    json_t *const others[] = {json_string("other"), json_integer(123456), json_null()};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!json_equal(old, others[i])) {
            json_object_set(place, key, others[i]);
            cr_expect_eq(check(&error), is_free(name) ? HOX_OK : HOX_BAD_OPTION, "%s", name);
            if (!is_free(name)) cr_expect(strstr(error.message, name), "%s", error.message);
        }
        json_decref(others[i]);
    }
    json_object_set_new(place, key, old);
    is_free(name) ? free_count++ : fixed_count++;
}

static void check_settings(json_t *place, const char *prefix) {
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(place, next, key, value) {
        char name[256];
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "/" : "", key);
        if (json_is_object(value))
            check_settings(value, name);
        else
            check_setting(place, key, name);
    }
}

Test(resumption, names_each_setting_that_changed) {
    check_settings(config, "");
    cr_expect_geq(free_count, 12);
    cr_expect_geq(fixed_count, 40);
}

Test(resumption, misses_no_setting_that_only_one_of_the_two_has) {
    hox_error error;
    json_object_set_new(json_object_get(config, "evolution"), "bygone", json_integer(1));
    cr_expect_eq(check(&error), HOX_BAD_OPTION, "the old one alone");
    cr_expect(strstr(error.message, "evolution/bygone"), "%s", error.message);
    json_object_del(json_object_get(config, "evolution"), "bygone");
    json_object_del(json_object_get(config, "evolution"), "survival");
    cr_expect_eq(check(&error), HOX_BAD_OPTION, "the new one alone");
    cr_expect(strstr(error.message, "evolution/survival"), "%s", error.message);
}

Test(resumption, names_all_in_one_line) {
    hox_error error;
    json_object_set_new(json_object_get(config, "evolution"), "survival", json_real(0.3));
    json_object_set_new(run, "instruction_set", json_string("other"));
    json_object_set_new(json_object_get(run, "dataset"), "fingerprint", json_string("other"));
    cr_expect_eq(check(&error), HOX_BAD_OPTION);
    cr_expect_str_eq(error.message,
                     "the run cannot go on as it was: evolution/survival, instruction_set, "
                     "dataset/fingerprint changed; --force goes on all the same");
    // all of them: the line is cut, not the memory
    json_object_clear(json_object_get(config, "evolution"));
    json_object_clear(json_object_get(config, "genome"));
    json_object_clear(run);
    cr_expect_eq(check(&error), HOX_BAD_OPTION);
    cr_expect(strstr(error.message, "evolution/"), "%s", error.message);
    cr_expect_null(strchr(error.message, '\n'));
}

// ---- by force ----

static void keep_line(void *context, uint32_t level, const char *line) {
    char *kept = context;
    snprintf(kept, 512, "%u %s", level, line);
}

Test(resumption, warns_where_it_is_forced) {
    char line[512] = "";
    const log_sink log = {.level = HOX_LOG_WARNING, .write = keep_line, .context = line};
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(resumption_check(&opened, run, config, true, &log, &error), HOX_OK);
    cr_expect_str_empty(line, "nothing had to be forced");
    json_object_set_new(run, "hox", json_string("0.0.9"));
    cr_expect_eq(resumption_check(&opened, run, config, true, &log, &error), HOX_OK);
    cr_expect_str_eq(line, "2 forced to go on although this changed: hox");
}
