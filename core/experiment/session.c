#include "experiment/session.h"

#include <string.h>

// A plugin knows its options by name only; where they stand in the experiment is ours to say.
static hox_status blame_option(const char *section, const hox_error *why, hox_error *error) {
    if (why->status != HOX_BAD_OPTION) return hox_error_set(error, why->status, "%s", why->message);
    return hox_error_set(error, HOX_BAD_OPTION, "%s/%.450s", section, why->message);
}

static hox_status open_parts(session *s, ledger *accounts, const log_sink *log, hox_error *error) {
    const experiment_config *c = s->config;
    const hox_dataset_api *api = c->dataset.plugin->dataset;
    hox_error why = HOX_ERROR_INIT;
    why.status = api->open(&c->dataset.services.host, c->dataset.options, &s->dataset, &why);
    if (why.status != HOX_OK) return blame_option("/dataset", &why, error);
    HOX_TRY(splits_init(&s->splits, api, s->dataset, &c->task, c->head.seed, log, error));
    return evaluation_create(&c->evaluation, c->task.decision_threshold, &c->runtime, &c->fitness,
                             accounts, &s->evaluation, error);
}

hox_status session_open(session *s, experiment_config *config, ledger *accounts,
                        const log_sink *log, hox_error *error) {
    *s = (session){.config = config};
    const hox_status status = open_parts(s, accounts, log, error);
    if (status != HOX_OK) session_close(s);
    return status;
}

void session_close(session *s) {
    for (uint32_t part = 0; part < SPLIT_COUNT; part++)
        session_drop(s, part);
    evaluation_destroy(s->evaluation);
    splits_deinit(&s->splits);
    if (s->config) s->config->dataset.plugin->dataset->close(s->dataset);
    *s = (session){0};
}

typedef struct upload {
    evaluation *evaluation;
    evaluation_split *split;
} upload;

static hox_status upload_block(void *context, uint64_t first, uint64_t count, const float *images,
                               hox_error *error) {
    const upload *u = context;
    return evaluation_split_write(u->evaluation, u->split, first, count, images, error);
}

static hox_status make_resident(session *s, uint32_t part, hox_error *error) {
    const split_part *p = &s->splits.parts[part];
    const hox_dataset_info *info = &s->splits.info;
    if (s->resident[part].samples) return HOX_OK;
    if (p->count == 0)
        return hox_error_set(error, HOX_NOT_FOUND, "there are no images in the %s split",
                             split_names[part]);
    upload u = {s->evaluation, &s->resident[part]};
    HOX_TRY(evaluation_split_init(s->evaluation, u.split, p->count, info->channels, info->height,
                                  info->width, error));
    memcpy(u.split->labels, p->labels, p->count);
    const hox_status status = splits_read(&s->splits, part, upload_block, &u, error);
    if (status != HOX_OK) session_drop(s, part);
    return status;
}

hox_status session_score(session *s, uint32_t part, const genome *const *genomes,
                         size_t genome_count, evaluation_result *results, hox_error *error) {
    HOX_TRY(make_resident(s, part, error));
    return evaluation_score(s->evaluation, genomes, genome_count, &s->resident[part], results,
                            error);
}

void session_drop(session *s, uint32_t part) {
    if (s->resident[part].samples) evaluation_split_deinit(s->evaluation, &s->resident[part]);
}

bool session_is_deterministic(const session *s) {
    const uint32_t runtime = evaluation_runtime_flags(s->evaluation);
    const uint32_t fitness = s->config->fitness.plugin->fitness->flags;
    return (runtime & HOX_RUNTIME_DETERMINISTIC) && (fitness & HOX_FITNESS_DETERMINISTIC);
}
