// cmd_run.c - hox run: from an experiment file to a run directory.
#include "command.h"
#include "loading.h"
#include "progress.h"
#include "result.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

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

// ---- the closing table ----

static void print_time(const char *name, double seconds, double total) {
    printf("  %-10s %8.2f s  %5.1f %%\n", name, seconds,
           total > 0.0 ? 100.0 * seconds / total : 0.0);
}

static void print_champion(const run_result *r) {
    const hox_genome_facts *f = &r->champion_facts;
    printf("champion: genome %llu of generation %u, %u nodes, %u edges, %llu weights, %.2f MFLOP "
           "an image\n",
           (unsigned long long)r->champion_id, r->champion_generation, f->executed_node_count,
           f->executed_edge_count, (unsigned long long)f->weight_count,
           (double)f->flops_per_sample * 1e-6);
    puts("balanced accuracy");
    for (uint32_t part = SPLIT_SELECT; part < SPLIT_COUNT; part++)
        if (isnan(r->balanced_accuracy[part]))
            printf("  %-10s not measured\n", split_names[part]);
        else
            printf("  %-10s %.4f\n", split_names[part], r->balanced_accuracy[part]);
    if (!isnan(r->brightness_test))
        printf("  test of the best threshold on mean brightness: %.4f\n", r->brightness_test);
}

static void print_summary(const experiment *e, const run_result *r) {
    const session *s = experiment_session(e);
    const hox_device_info *device = evaluation_device(s->evaluation);
    printf("device %s (%s), runtime %s\n", device->address, device->name,
           s->config->runtime.plugin->name);
    printf("%u generations of %lld genomes\n", r->generation_count,
           (long long)s->config->evolution.population_size);
    if (r->champion_id != 0) print_champion(r);
    puts("time");
    const double known = r->evaluate_seconds + r->evolve_seconds + r->write_seconds;
    print_time("evaluate", r->evaluate_seconds, r->total_seconds);
    print_time("evolve", r->evolve_seconds, r->total_seconds);
    print_time("write", r->write_seconds, r->total_seconds);
    print_time("set up", r->total_seconds - known, r->total_seconds);
    printf("run folder: %s\n", experiment_folder(e));
    printf("to repeat it: hox run %s/config.resolved.json\n", experiment_folder(e));
}

static int print_result(const experiment *e, const run_result *r, bool is_json) {
    if (!is_json) {
        print_summary(e, r);
        return EXIT_OK;
    }
    json_t *json = run_json(experiment_session(e), r, NULL);
    json_object_set_new(json, "folder", json_string(experiment_folder(e)));
    return result_print(json);
}

// ---- the command ----

static int run_experiment(loading *l, const command_line *line) {
    progress p = {.terminal = l->terminal};
    const experiment_observer observer = progress_observer(&p);
    const experiment_setup setup = {.config = &l->config,
                                    .accounts = l->accounts,
                                    .out = command_line_value(line, "out"),
                                    .log = &l->terminal->log,
                                    .observer = &observer,
                                    .stop_signal = &stop_signal};
    if (command_line_has(line, "smoke")) experiment_config_make_small(&l->config);
    hox_error error = HOX_ERROR_INIT;
    experiment *e;
    if (experiment_create(&setup, &e, &error) != HOX_OK) return loading_explain(l, &error, false);
    run_result result;
    int code = EXIT_OK;
    if (experiment_run(e, &result, &error) == HOX_OK)
        code = print_result(e, &result, command_line_has(line, "json"));
    else
        code = loading_explain(l, &error, true);
    experiment_destroy(e);
    return code == EXIT_OK && result.stop_signal ? 128 + result.stop_signal : code;
}

int cmd_run(const command_line *line, terminal *t) {
    loading l;
    catch_signals();
    int code = loading_open(&l, line->words.items[0], line, t);
    if (code == EXIT_OK) {
        code = run_experiment(&l, line);
        loading_close(&l);
    }
    return code;
}
