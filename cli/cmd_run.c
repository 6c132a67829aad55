// cmd_run.c - hox run: from an experiment file to a run directory.
#include "command.h"
#include "option.h"
#include "progress.h"

#include "experiment/experiment.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] = "run FILE [--set key=value]... [--out DIR]";

// ---- signals: the first ends the run after its generation, the second at once ----

static atomic_int stop_signal;

static void on_signal(int number) {
    if (atomic_exchange(&stop_signal, number) != 0) _exit(128 + number);
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN; // a closed pipe or a full quota is an error code, not an end
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

// ---- what is wrong ----

static int exit_code_of(hox_status status, bool is_running) {
    switch (status) {
        case HOX_OK: return EXIT_OK;
        case HOX_OUT_OF_DEVICE_MEMORY:
        case HOX_DEVICE:
        case HOX_DEVICE_LOST: return EXIT_DEVICE;
        case HOX_VERSION: return EXIT_PLUGIN;
        case HOX_NOT_FOUND: return EXIT_PLUGIN;
        case HOX_BAD_OPTION:
        case HOX_CORRUPT: return EXIT_CONFIGURATION;
        case HOX_IO: return is_running ? EXIT_RUN_FAILED : EXIT_CONFIGURATION;
        default: return EXIT_RUN_FAILED;
    }
}

static void print_problems(const document *d, const problem_list *problems) {
    for (size_t i = 0; i < problems->count; i++) {
        char line[1024];
        document_describe(d, &problems->items[i], line, sizeof line);
        fprintf(stderr, "hox: %s\n", line);
    }
}

// A message that begins with a setting's pointer gets the place where it stands.
static void print_error(const document *d, const hox_error *error) {
    const char *colon = strstr(error->message, ": ");
    const bool names_setting = error->status == HOX_BAD_OPTION || error->status == HOX_DEVICE;
    if (!names_setting || error->message[0] != '/' || !colon) {
        fprintf(stderr, "hox: %s\n", error->message);
        return;
    }
    char pointer[HOX_ERROR_MESSAGE_SIZE], line[1024];
    snprintf(pointer, sizeof pointer, "%.*s", (int)(colon - error->message), error->message);
    document_describe(d, &(problem){pointer, colon + 2}, line, sizeof line);
    fprintf(stderr, "hox: %s\n", line);
}

// ---- the closing table ----

static void print_score(const char *name, double value) {
    if (isnan(value))
        printf("  %-10s not measured\n", name);
    else
        printf("  %-10s %.4f\n", name, value);
}

static void print_time(const char *name, double seconds, double total) {
    printf("  %-10s %8.2f s  %5.1f %%\n", name, seconds, total > 0.0 ? 100.0 * seconds / total : 0);
}

static void print_summary(const experiment *e, const run_result *r) {
    const char *folder = experiment_folder(e);
    const hox_device_info *device = evaluation_device(experiment_session(e)->evaluation);
    printf("device %s (%s), runtime %s\n", device->address, device->name,
           experiment_session(e)->config->runtime.plugin->name);
    printf("%u generations of %lld genomes\n", r->generation_count,
           (long long)experiment_session(e)->config->evolution.population_size);
    if (r->champion_id == 0) {
        puts("no champion");
    } else {
        printf("champion: genome %llu of generation %u, %u nodes, %u edges, %llu weights, %.2f "
               "MFLOP an image\n",
               (unsigned long long)r->champion_id, r->champion_generation,
               r->champion_facts.executed_node_count, r->champion_facts.executed_edge_count,
               (unsigned long long)r->champion_facts.weight_count,
               (double)r->champion_facts.flops_per_sample * 1e-6);
        puts("balanced accuracy");
        for (uint32_t part = SPLIT_SELECT; part < SPLIT_COUNT; part++)
            print_score(split_names[part], r->balanced_accuracy[part]);
        if (!isnan(r->brightness_test))
            printf("  test of the best threshold on mean brightness: %.4f\n", r->brightness_test);
    }
    puts("time");
    const double known = r->evaluate_seconds + r->evolve_seconds + r->write_seconds;
    print_time("evaluate", r->evaluate_seconds, r->total_seconds);
    print_time("evolve", r->evolve_seconds, r->total_seconds);
    print_time("write", r->write_seconds, r->total_seconds);
    print_time("set up", r->total_seconds - known, r->total_seconds);
    printf("run folder: %s\n", folder);
    printf("to repeat it: hox run %s/config.resolved.json\n", folder);
}

// ---- the command ----

typedef struct run_words {
    const char *file, *out; // out NULL = a new folder
    option_values sets, plugin_paths;
} run_words;

static int run_experiment(const document *d, const run_words *words, experiment_config *config,
                          ledger *accounts, progress *p, const log_sink *log) {
    const experiment_observer observer = progress_observer(p);
    const experiment_setup setup = {config, accounts, words->out, log, &observer, &stop_signal};
    hox_error error = HOX_ERROR_INIT;
    experiment *e;
    hox_status status = experiment_create(&setup, &e, &error);
    if (status != HOX_OK) {
        print_error(d, &error);
        return exit_code_of(status, false);
    }
    run_result result;
    p->start_ns = progress_start().start_ns; // the estimate is of generations, not of set-up
    status = experiment_run(e, &result, &error);
    progress_end(p);
    if (status != HOX_OK) print_error(d, &error);
    if (status == HOX_OK) print_summary(e, &result);
    experiment_destroy(e);
    if (status == HOX_OK && (fflush(stdout) != 0 || ferror(stdout))) {
        fprintf(stderr, "hox: the summary could not be written to standard output\n");
        return EXIT_RUN_FAILED;
    }
    if (status == HOX_OK && result.stop_signal) return 128 + result.stop_signal;
    return exit_code_of(status, true);
}

static int load_and_run(const document *d, const run_words *words, catalog *plugins,
                        ledger *accounts) {
    progress p = progress_start();
    const log_sink log = progress_log(&p);
    problem_list problems = {0};
    hox_error error = HOX_ERROR_INIT;
    experiment_config config;
    const hox_status status =
        experiment_config_load(&config, d, plugins, &log, accounts, &problems, &error);
    int code = exit_code_of(status, false);
    if (status == HOX_OK)
        code = run_experiment(d, words, &config, accounts, &p, &log);
    else if (problems.count > 0)
        print_problems(d, &problems);
    else
        print_error(d, &error);
    if (status == HOX_OK) experiment_config_deinit(&config);
    problem_list_deinit(&problems);
    return code;
}

static int run(const run_words *words) {
    hox_error error = HOX_ERROR_INIT;
    catalog plugins = {0};
    document d = {0};
    ledger *accounts = ledger_create(&error);
    hox_status status = accounts ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
    if (status == HOX_OK)
        status =
            catalog_init(&plugins, words->plugin_paths.items, words->plugin_paths.count, &error);
    if (status == HOX_OK)
        status = document_load(&d, words->file, words->sets.items, words->sets.count, &error);
    int code = exit_code_of(status, false);
    if (status == HOX_OK)
        code = load_and_run(&d, words, &plugins, accounts);
    else
        fprintf(stderr, "hox: %s\n", error.message);
    document_deinit(&d);
    catalog_deinit(&plugins);
    ledger_destroy(accounts);
    return code;
}

int cmd_run(int argc, char **argv) {
    run_words words = {0};
    option_values files = {0}, outs = {0};
    const option options[] = {
        {"set", "key=value", "a setting over the file's: evolution.population_size=64", &words.sets,
         true},
        {"out", "DIR", "the run's folder; it must not hold anything yet", &outs, false},
        {"plugin-path", "DIRS", "folders to look for plugins in first, with : between",
         &words.plugin_paths, true}};
    const int code =
        option_parse(argc, argv, usage, options, sizeof options / sizeof *options, &files);
    if (code >= 0) return code;
    if (files.count != 1) {
        fprintf(stderr, "hox run: expected one experiment file: hox %s\n", usage);
        return EXIT_USAGE;
    }
    words.file = files.items[0];
    if (outs.count > 0) words.out = outs.items[0];
    catch_signals();
    return run(&words);
}
