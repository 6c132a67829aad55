#include "experiment/session.h"

#include "base/memory_limit.h"

// A plugin knows its options by name only; where they stand in the experiment is ours to say.
static hox_status blame_option(const char *section, const hox_error *why, hox_error *error) {
    if (why->status != HOX_BAD_OPTION) return hox_error_pass(error, why->status, why);
    return hox_error_set(error, HOX_BAD_OPTION, "%s/%.450s", section, why->message);
}

static hox_status read_part(void *context, uint64_t first, uint64_t count, image_consumer *consume,
                            void *consumer, hox_error *error) {
    const session_part *p = context;
    return splits_read(p->splits, p->part, first, count, consume, consumer, error);
}

static const uint32_t uses[SPLIT_COUNT] = {
    [SPLIT_REFINE] = SPLIT_USE_TRAIN, [SPLIT_MONITOR] = SPLIT_USE_MONITOR}; // others: to score on

static void describe_part(session *s, uint32_t part) {
    session_part *p = &s->parts[part];
    *p = (session_part){.splits = &s->splits,
                        .part = part,
                        .data = {.read = read_part,
                                 .reader = p,
                                 .count = s->splits.parts[part].count,
                                 .channels = s->splits.info.channels,
                                 .height = s->splits.info.height,
                                 .width = s->splits.info.width,
                                 .labels = s->splits.parts[part].labels,
                                 .use = uses[part]}};
}

static hox_status open_parts(session *s, const log_sink *log, memory_listener listener,
                             hox_error *error) {
    const experiment_config *c = s->config;
    const hox_dataset_api *api = c->dataset.plugin->dataset;
    const memory_limit limit = memory_limit_read("");
    if (limit.total_bytes > 0) // rather a line from us than an end by the system
        HOX_TRY(ledger_set_budget(c->dataset.services.ledger, "cpu", limit.free_bytes, error));
    hox_error why = HOX_ERROR_INIT;
    why.status = api->open(&c->dataset.services.host, c->dataset.options, &s->dataset, &why);
    if (why.status != HOX_OK) return blame_option("/dataset", &why, error);
    HOX_TRY(splits_init(&s->splits, api, s->dataset, &c->task, c->head.seed, log, error));
    for (uint32_t part = 0; part < SPLIT_COUNT; part++)
        describe_part(s, part);
    const evaluation_setup setup = {.config = &c->evaluation,
                                    .decision_threshold = c->task.decision_threshold,
                                    .trains = c->refinement.elite_refinement_enabled != 0,
                                    .runtime = &c->runtime,
                                    .fitness = &c->fitness,
                                    .log = log,
                                    .listener = listener};
    return evaluation_create(&setup, &s->evaluation, error);
}

hox_status session_open(session *s, experiment_config *config, const log_sink *log,
                        memory_listener listener, hox_error *error) {
    *s = (session){.config = config};
    const hox_status status = open_parts(s, log, listener, error);
    if (status != HOX_OK) session_close(s);
    return status;
}

void session_close(session *s) {
    evaluation_destroy(s->evaluation);
    splits_deinit(&s->splits);
    if (s->config) s->config->dataset.plugin->dataset->close(s->dataset);
    *s = (session){0};
}

hox_status session_score(session *s, uint32_t part, const genome *const *genomes,
                         size_t genome_count, evaluation_result *results, hox_error *error) {
    if (s->parts[part].data.count == 0)
        return hox_error_set(error, HOX_NOT_FOUND, "there are no images in the %s split",
                             split_names[part]);
    return evaluation_score(s->evaluation, genomes, genome_count, &s->parts[part].data, results,
                            error);
}

hox_status session_refine(session *s, const refinement_order *order, refinement_job *jobs,
                          size_t count, hox_error *error) {
    return evaluation_refine(s->evaluation, order, &s->parts[SPLIT_REFINE].data, jobs, count,
                             error);
}

hox_status session_check_training(const session *s, const char *setting, hox_error *error) {
    hox_error why = HOX_ERROR_INIT;
    if (evaluation_check_training(s->evaluation, &why) != HOX_OK)
        return hox_error_set(error, HOX_BAD_OPTION, "%s: %.400s", setting, why.message);
    if (s->splits.parts[SPLIT_REFINE].count > 0) return HOX_OK;
    return hox_error_set(error, HOX_BAD_OPTION,
                         "/task/split_fractions: no image is left for refine, to train on");
}

void session_drop(session *s, uint32_t part) {
    evaluation_drop_split(s->evaluation, &s->parts[part].data);
}

bool session_is_deterministic(const session *s) {
    const uint32_t runtime = evaluation_runtime_flags(s->evaluation);
    const uint32_t fitness = s->config->fitness.plugin->fitness->flags;
    return (runtime & HOX_RUNTIME_DETERMINISTIC) && (fitness & HOX_FITNESS_DETERMINISTIC);
}
