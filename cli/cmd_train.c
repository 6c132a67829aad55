// cmd_train.c - hox train: a genome trained by gradient on the data of its experiment, as a run
// trains its elites.
#include "command.h"
#include "loading.h"
#include "opening.h"
#include "result.h"

#include "base/array.h"
#include "base/clock.h"
#include "experiment/session.h"
#include "io/genome_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BEFORE, AFTER, TIMES };
static const uint32_t measured_parts[] = {SPLIT_SELECT, SPLIT_MONITOR};
enum { MEASURED = sizeof measured_parts / sizeof *measured_parts };

typedef struct training {
    loading *loading;
    terminal *terminal;
    session session;
    const genome *genome;
    const char *out; // the file to write
    uint32_t epoch_count;
    double *losses; // by epoch
    double fitness[MEASURED][TIMES];
    double seconds;
} training;

// ---- where it is written ----

typedef struct file_name {
    char text[PATH_MAX + 2]; // and room for "."
} file_name;

static file_name name_output(const command_line *line, const genome *g) {
    file_name name;
    const char *said = command_line_value(line, "out");
    if (said)
        snprintf(name.text, PATH_MAX, "%s", said);
    else
        snprintf(name.text, sizeof name.text, "genome-%llu-trained.json",
                 (unsigned long long)g->id);
    return name;
}

// Before the training, which may take long.
static int check_output(const file_name *out, terminal *t) {
    file_name folder = *out;
    char *slash = strrchr(folder.text, '/');
    snprintf(slash ? slash + 1 : folder.text, 2, ".");
    if (!out->text[0])
        terminal_error(t, "--out: the name of a file is missing");
    else if (access(out->text, F_OK) == 0)
        terminal_error(t, "%s: is there already; name another file with --out FILE", out->text);
    else if (access(folder.text, W_OK) != 0)
        terminal_error(t, "%s: no file can be written there: %s", out->text, strerror(errno));
    else
        return EXIT_OK;
    return EXIT_USAGE;
}

// ---- what came of it ----

static void print_text(const training *t) {
    printf("genome %llu: %u epochs of %llu images\n", (unsigned long long)t->genome->id,
           t->epoch_count, (unsigned long long)t->session.splits.parts[SPLIT_REFINE].count);
    puts("  epoch      loss");
    for (uint32_t i = 0; i < t->epoch_count; i++)
        printf("  %5u  %8.6f\n", i + 1, t->losses[i]);
    puts("  fitness      before     after");
    for (size_t i = 0; i < MEASURED; i++)
        printf("  %-10s %8.4f  %8.4f\n", split_names[measured_parts[i]], t->fitness[i][BEFORE],
               t->fitness[i][AFTER]);
    printf("trained genome: %s\n", t->out);
}

static json_t *result_json(const training *t) {
    json_t *losses = json_array(), *fitness = json_object();
    for (uint32_t i = 0; i < t->epoch_count; i++)
        json_array_append_new(losses, json_real(t->losses[i]));
    for (size_t i = 0; i < MEASURED; i++)
        json_object_set_new(fitness, split_names[measured_parts[i]],
                            json_pack("{s:f, s:f}", "before", t->fitness[i][BEFORE], "after",
                                      t->fitness[i][AFTER]));
    return json_pack("{s:I, s:I, s:o, s:o, s:f, s:s}", "genome", (json_int_t)t->genome->id,
                     "images", (json_int_t)t->session.splits.parts[SPLIT_REFINE].count, "loss",
                     losses, "fitness", fitness, "refine_seconds", t->seconds, "file", t->out);
}

// ---- the training ----

static int fail_genome(const training *t, const char *what, const char *reason, bool is_oom,
                       const hox_error *why) {
    terminal_error(t->terminal, "genome %llu %s (%s): %s", (unsigned long long)t->genome->id, what,
                   reason, why->message);
    return is_oom ? EXIT_DEVICE : EXIT_RUN_FAILED;
}

static int measure(training *t, const genome *g, int time) {
    const genome *const genomes[] = {g};
    for (size_t i = 0; i < MEASURED; i++) {
        evaluation_result r;
        hox_error error = HOX_ERROR_INIT;
        if (session_score(&t->session, measured_parts[i], genomes, 1, &r, &error) != HOX_OK)
            return loading_explain(t->loading, &error, true);
        if (r.reason != EVALUATION_OK)
            return fail_genome(t, "has no fitness", evaluation_reasons[r.reason],
                               r.reason == EVALUATION_OOM, &r.error);
        t->fitness[i][time] = r.fitness;
    }
    return EXIT_OK;
}

static void show_epoch(void *context, size_t job, uint32_t epoch, double loss) {
    (void)job;
    training *t = context;
    char line[80];
    t->losses[epoch] = loss;
    snprintf(line, sizeof line, "epoch %u/%u  loss %.6f", epoch + 1, t->epoch_count, loss);
    terminal_progress(t->terminal, line);
}

static int refine(training *t, genome **refined) {
    const experiment_config *c = t->session.config;
    const refinement_order order = {
        .config = &c->refinement, .seed = c->head.seed, .epoch_done = show_epoch, .context = t};
    refinement_job job = {.genome = t->genome};
    hox_error error = HOX_ERROR_INIT;
    const uint64_t start = clock_ns();
    const hox_status status = session_refine(&t->session, &order, &job, 1, &error);
    t->seconds = clock_seconds_since(start);
    terminal_end_progress(t->terminal);
    if (status != HOX_OK) return loading_explain(t->loading, &error, true);
    if (job.reason != REFINEMENT_OK)
        return fail_genome(t, "cannot be trained", refinement_reasons[job.reason],
                           job.reason == REFINEMENT_OOM, &job.error);
    *refined = job.refined;
    return EXIT_OK;
}

static int keep(const training *t, const genome *refined) {
    hox_error error = HOX_ERROR_INIT;
    if (genome_json_save(t->out, refined, &error) == HOX_OK) return EXIT_OK;
    terminal_error(t->terminal, "%s", error.message);
    return EXIT_RUN_FAILED;
}

static int train_opened(training *t, bool is_json) {
    genome *refined = NULL;
    int code = measure(t, t->genome, BEFORE);
    if (code == EXIT_OK) code = refine(t, &refined);
    if (code == EXIT_OK) code = measure(t, refined, AFTER);
    if (code == EXIT_OK) code = keep(t, refined);
    genome_destroy(refined);
    if (code != EXIT_OK) return code;
    if (is_json) return result_print(result_json(t));
    print_text(t);
    return EXIT_OK;
}

// ---- opening ----

static int open_and_train(training *t, const opening *o, bool is_json) {
    loading *l = t->loading;
    hox_error error = HOX_ERROR_INIT;
    l->config.refinement.elite_refinement_enabled = 1; // whatever the run did
    if (session_open(&t->session, &l->config, &t->terminal->log, (memory_listener){0}, &error) !=
        HOX_OK)
        return loading_explain(l, &error, false);
    int code = opening_check_size(o, &t->session.splits.info, t->terminal);
    if (code == EXIT_OK &&
        session_check_training(&t->session, "/evaluation/forward_runtime", &error) != HOX_OK)
        code = loading_explain(l, &error, false);
    if (code == EXIT_OK) code = train_opened(t, is_json);
    session_close(&t->session);
    return code;
}

static int train(const opening *o, const command_line *line, terminal *t) {
    const file_name out = name_output(line, o->genome);
    const char *experiment;
    loading l;
    int code = opening_find_experiment(o, line, t, &experiment);
    if (code == EXIT_OK) code = check_output(&out, t);
    if (code != EXIT_OK) return code;
    code = loading_open(&l, experiment, line, t);
    if (code != EXIT_OK) return code;
    training work = {.loading = &l,
                     .terminal = t,
                     .genome = o->genome,
                     .out = out.text,
                     .epoch_count = (uint32_t)l.config.refinement.elite_refinement_epochs};
    work.losses = array_create(work.epoch_count, sizeof *work.losses, NULL);
    code = work.losses ? open_and_train(&work, o, command_line_has(line, "json")) : EXIT_DEVICE;
    free(work.losses);
    loading_close(&l);
    return code;
}

int cmd_train(const command_line *line, terminal *t) {
    opening o;
    int code = opening_open(&o, line->words.items[0], t);
    if (code != EXIT_OK) return code;
    code = train(&o, line, t);
    opening_close(&o);
    return code;
}
