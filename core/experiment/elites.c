#include "experiment/elites.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ELITES = 2 };

bool elites_are_due(const experiment_config *c, uint32_t generation) {
    const refinement_config *r = &c->refinement;
    const int64_t count = (int64_t)generation + 1;
    return r->elite_refinement_enabled &&
           (count % r->elite_refinement_every == 0 || count == c->stop.max_generations);
}

bool elite_is_improved(const elite *one) {
    return one->is_scored && one->result.fitness >= one->before;
}

const char *elite_failure(const elite *one, const char **message) {
    *message = one->job.refined ? one->result.error.message : one->job.error.message;
    if (one->is_scored) return NULL;
    return one->job.refined ? evaluation_reasons[one->result.reason]
                            : refinement_reasons[one->job.reason];
}

void elites_deinit(elites *e) {
    for (size_t i = 0; e->items && i < e->count; i++)
        genome_destroy(e->items[i].job.refined);
    free(e->items);
    *e = (elites){0};
}

// ---- who ----

// The individuals as they will be when they are told their fitness; genomes are borrowed.
static individual *ranked_copy(const population *p, const double *fitness, size_t *order,
                               hox_error *error) {
    individual *items = array_create(p->count, sizeof *items, error);
    if (!items) return NULL;
    for (size_t i = 0; i < p->count; i++) {
        items[i] = p->items[i];
        items[i].has_fitness = isfinite(fitness[i]);
        items[i].fitness = items[i].has_fitness ? fitness[i] : 0.0;
    }
    population_rank(&(population){items, p->count}, order);
    return items;
}

static bool is_among(const hash128 *contents, size_t count, const hash128 *one) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&contents[i], one, sizeof *one) == 0) return true;
    return false;
}

static int by_slot(const void *a, const void *b) {
    const elite *left = a, *right = b;
    return left->slot < right->slot ? -1 : left->slot > right->slot;
}

// At most most of them; contents has room for as many.
static void take_fittest(elites *e, const individual *items, size_t individual_count,
                         const size_t *order, size_t most, hash128 *contents) {
    for (size_t i = 0; i < individual_count && e->count < most; i++) {
        const individual *one = &items[order[i]];
        const hash128 content = genome_content_hash(one->genome);
        if (!one->has_fitness || is_among(contents, e->count, &content)) continue;
        contents[e->count] = content;
        e->items[e->count++] = (elite){.slot = order[i],
                                       .before = one->fitness,
                                       .job = {.genome = one->genome, .slot = (uint32_t)order[i]}};
    }
    qsort(e->items, e->count, sizeof *e->items, by_slot);
}

static hox_status choose(elites *e, const population *p, const double *fitness, double share,
                         hox_error *error) {
    const size_t wanted = (size_t)(share * (double)p->count);
    const size_t most = wanted > LEAST_ELITES ? wanted : LEAST_ELITES;
    size_t *order = array_create(p->count, sizeof *order, error);
    hash128 *contents = array_create(most, sizeof *contents, error);
    individual *items = order ? ranked_copy(p, fitness, order, error) : NULL;
    e->items = array_create(most, sizeof *e->items, error);
    const bool has_all = contents && items && e->items;
    if (has_all) take_fittest(e, items, p->count, order, most, contents);
    free(order);
    free(contents);
    free(items);
    return has_all ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
}

// ---- training and its worth ----

static hox_status train_all(elites *e, session *s, const refinement_order *order,
                            hox_error *error) {
    refinement_job *jobs = array_create(e->count, sizeof *jobs, error);
    if (!jobs) return HOX_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < e->count; i++)
        jobs[i] = e->items[i].job;
    const hox_status status = session_refine(s, order, jobs, e->count, error);
    for (size_t i = 0; i < e->count; i++)
        e->items[i].job = jobs[i];
    free(jobs);
    return status;
}

// genomes and results: room for all elites.
static hox_status score_into(elites *e, session *s, const genome **genomes,
                             evaluation_result *results, hox_error *error) {
    for (size_t i = 0; i < e->count; i++)
        if (e->items[i].job.refined) genomes[e->evaluation_count++] = e->items[i].job.refined;
    if (e->evaluation_count == 0) return HOX_OK;
    HOX_TRY(session_score(s, SPLIT_SELECT, genomes, e->evaluation_count, results, error));
    for (size_t i = 0; i < e->count; i++) {
        elite *one = &e->items[i];
        if (!one->job.refined) continue;
        one->result = *results++;
        one->is_scored = one->result.reason == EVALUATION_OK;
    }
    return HOX_OK;
}

static hox_status score_all(elites *e, session *s, hox_error *error) {
    const genome **genomes = array_create(e->count, sizeof *genomes, error);
    evaluation_result *results = array_create(e->count, sizeof *results, error);
    const hox_status status =
        genomes && results ? score_into(e, s, genomes, results, error) : HOX_OUT_OF_HOST_MEMORY;
    free(genomes);
    free(results);
    return status;
}

hox_status elites_refine(elites *e, session *s, const population *p, const double *fitness,
                         uint32_t generation, bool (*is_stopped)(void *context), void *context,
                         hox_error *error) {
    const experiment_config *c = s->config;
    const refinement_order order = {.config = &c->refinement,
                                    .seed = c->head.seed,
                                    .generation = generation,
                                    .is_stopped = is_stopped,
                                    .context = context};
    *e = (elites){0};
    hox_status status = choose(e, p, fitness, c->refinement.elite_refinement_fraction, error);
    if (status == HOX_OK) status = train_all(e, s, &order, error);
    if (status == HOX_OK) status = score_all(e, s, error);
    if (status != HOX_OK) elites_deinit(e);
    return status;
}
