#include "running.h"

#include "progress.h"
#include "result.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

// ---- signals: the first ends the run after its generation, the second at once; SIGUSR1 is a
// scheduler's way to ask for the first, and no failure ----

static atomic_int stop_signal;

static void on_signal(int number) {
    static const char text[] = "\nhox: ending after this generation; once more ends at once\n";
    if (atomic_exchange(&stop_signal, number) != 0) _exit(128 + number);
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return; // nobody is there to read it
}

void running_catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
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
    puts("              fitness  balanced accuracy");
    for (uint32_t part = SPLIT_SELECT; part < SPLIT_COUNT; part++)
        if (isnan(r->balanced_accuracy[part]) || isnan(r->fitness[part]))
            printf("  %-10s not measured\n", split_names[part]);
        else
            printf("  %-10s %8.4f  %8.4f\n", split_names[part], r->fitness[part],
                   r->balanced_accuracy[part]);
    if (!isnan(r->brightness_test))
        printf("  test of the best threshold on mean brightness: %.4f\n", r->brightness_test);
}

// Operators that made no child are left out.
static void print_operators(const lineage *l) {
    puts("operators         children  survived  best");
    for (uint32_t i = 0; i < LINEAGE_COUNT; i++)
        if (l->rows[i].children > 0)
            printf("  %-14s  %8llu  %8llu  %4llu\n", lineage_names[i],
                   (unsigned long long)l->rows[i].children, (unsigned long long)l->rows[i].survived,
                   (unsigned long long)l->rows[i].best);
}

static void print_summary(const experiment *e, const run_result *r) {
    const session *s = experiment_session(e);
    const hox_device_info *device = evaluation_device(s->evaluation);
    printf("device %s (%s), runtime %s\n", device->address, device->name,
           s->config->runtime.plugin->name);
    printf("%u generations of %lld genomes\n", r->generation_count,
           (long long)s->config->evolution.population_size);
    if (r->stop_signal) printf("stopped by signal %d\n", r->stop_signal);
    if (r->had_ended) puts("this run had ended: nothing was left to do");
    if (r->champion_id != 0) print_champion(r);
    print_operators(&r->lineage);
    puts("time");
    const double known =
        r->evaluate_seconds + r->evolve_seconds + r->refine_seconds + r->write_seconds;
    print_time("evaluate", r->evaluate_seconds, r->total_seconds);
    print_time("evolve", r->evolve_seconds, r->total_seconds);
    if (r->refine_seconds > 0.0) print_time("refine", r->refine_seconds, r->total_seconds);
    print_time("write", r->write_seconds, r->total_seconds);
    print_time("set up", r->total_seconds - known, r->total_seconds);
    printf("run folder: %s\n", experiment_folder(e));
    printf("to repeat it: hox run %s/config.resolved.json\n", experiment_folder(e));
    printf("to go on: hox resume %s --set stop.max_generations=%lld\n", experiment_folder(e),
           r->stop_signal ? (long long)s->config->stop.max_generations
                          : (long long)s->config->stop.max_generations * 2);
}

static int print_result(const experiment *e, const run_result *r, terminal *t, bool is_json) {
    terminal_end_progress(t);
    if (!is_json) {
        print_summary(e, r);
        return EXIT_OK;
    }
    json_t *json = run_json(experiment_session(e), r, NULL);
    json_object_set_new(json, "folder", json_string(experiment_folder(e)));
    return result_print(json);
}

// ---- the run ----

static int end_code(const run_result *r) {
    if (r->stop_signal && r->stop_signal != SIGUSR1) return 128 + r->stop_signal;
    return r->has_failed_save ? EXIT_RUN_FAILED : EXIT_OK;
}

int running_run(loading *l, const command_line *line, const char *out, bool is_resumed,
                bool is_forced) {
    progress p = {.terminal = l->terminal};
    const experiment_observer observer = progress_observer(&p);
    const experiment_setup setup = {.config = &l->config,
                                    .out = out,
                                    .is_resumed = is_resumed,
                                    .is_forced = is_forced,
                                    .log = &l->terminal->log,
                                    .observer = &observer,
                                    .stop_signal = &stop_signal};
    hox_error error = HOX_ERROR_INIT;
    experiment *e;
    if (experiment_create(&setup, &e, &error) != HOX_OK) return loading_explain(l, &error, false);
    run_result result;
    int code = EXIT_OK;
    if (experiment_run(e, &result, &error) == HOX_OK)
        code = print_result(e, &result, l->terminal, command_line_has(line, "json"));
    else
        code = loading_explain(l, &error, true);
    experiment_destroy(e);
    return code == EXIT_OK ? end_code(&result) : code;
}
