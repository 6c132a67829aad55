// cmd_evaluate.c - hox evaluate: a genome on a split of its experiment's data, the same numbers as
// the run had.
#include "command.h"
#include "loading.h"
#include "opening.h"
#include "result.h"

#include "experiment/session.h"

#include <stdio.h>
#include <string.h>

static int find_split(const char *name, uint32_t *part, terminal *t) {
    for (*part = 0; *part < SPLIT_COUNT; ++*part)
        if (strcmp(split_names[*part], name) == 0) return EXIT_OK;
    terminal_error(t, "there is no split \"%s\"; there are refine, select, monitor and test", name);
    return EXIT_USAGE;
}

static void print_text(const char *split, const evaluation_result *r) {
    const hox_predictions *m = &r->metrics;
    printf(
        "%s: %llu images, %llu true and %llu false positives, %llu true and %llu false negatives\n",
        split, (unsigned long long)m->count, (unsigned long long)m->true_positives,
        (unsigned long long)m->false_positives, (unsigned long long)m->true_negatives,
        (unsigned long long)m->false_negatives);
    const struct {
        const char *name;
        double value;
    } rows[] = {{"fitness", r->fitness},   {"balanced accuracy", m->balanced_accuracy},
                {"accuracy", m->accuracy}, {"precision", m->precision},
                {"recall", m->recall},     {"F1", m->f1},
                {"MCC", m->mcc},           {"AUC", m->auc},
                {"log loss", m->logloss}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf("  %-18s %.6f\n", rows[i].name, rows[i].value);
}

static json_t *result_json(const char *split, const evaluation_result *r) {
    const hox_predictions *m = &r->metrics;
    return json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:[I,I,I,I]}",
                     "split", split, "images", (json_int_t)m->count, "fitness", r->fitness,
                     "balanced_accuracy", m->balanced_accuracy, "accuracy", m->accuracy,
                     "precision", m->precision, "recall", m->recall, "f1", m->f1, "mcc", m->mcc,
                     "auc", m->auc, "logloss", m->logloss, "tp_tn_fp_fn",
                     (json_int_t)m->true_positives, (json_int_t)m->true_negatives,
                     (json_int_t)m->false_positives, (json_int_t)m->false_negatives);
}

static int measure(loading *l, const opening *o, uint32_t part, bool is_json) {
    const genome *g = o->genome;
    session s;
    evaluation_result r;
    hox_error error = HOX_ERROR_INIT;
    if (session_open(&s, &l->config, &l->terminal->log, (memory_listener){0}, &error) != HOX_OK)
        return loading_explain(l, &error, false);
    int code = opening_check_size(o, &s.splits.info, l->terminal);
    const genome *const genomes[] = {g};
    const hox_status status =
        code == EXIT_OK ? session_score(&s, part, genomes, 1, &r, &error) : HOX_OK;
    if (code != EXIT_OK) {
        // said already
    } else if (status != HOX_OK) {
        code = loading_explain(l, &error, true);
        if (status == HOX_NOT_FOUND) code = EXIT_CONFIGURATION; // no image in the split
    } else if (r.reason != EVALUATION_OK) {
        terminal_error(l->terminal, "genome %llu has no fitness (%s): %s",
                       (unsigned long long)g->id, evaluation_reasons[r.reason], r.error.message);
        code = r.reason == EVALUATION_OOM ? EXIT_DEVICE : EXIT_RUN_FAILED;
    } else if (is_json) {
        code = result_print(result_json(split_names[part], &r));
    } else {
        print_text(split_names[part], &r);
    }
    session_close(&s);
    return code;
}

static int evaluate(const opening *o, const command_line *line, terminal *t) {
    const char *split = command_line_value(line, "split");
    const char *experiment;
    uint32_t part;
    int code = find_split(split ? split : "test", &part, t);
    if (code == EXIT_OK) code = opening_find_experiment(o, line, t, &experiment);
    if (code != EXIT_OK) return code;
    loading l;
    code = loading_open(&l, experiment, line, t);
    if (code != EXIT_OK) return code;
    code = measure(&l, o, part, command_line_has(line, "json"));
    loading_close(&l);
    return code;
}

int cmd_evaluate(const command_line *line, terminal *t) {
    opening o;
    int code = opening_open(&o, line->words.items[0], t);
    if (code != EXIT_OK) return code;
    code = evaluate(&o, line, t);
    opening_close(&o);
    return code;
}
