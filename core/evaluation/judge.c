#include "evaluation/judge.h"

#include "base/array.h"
#include "evaluation/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct judge_space {
    uint64_t *keys;
    uint64_t capacity; // images
};

hox_status judge_init(judge *j, const instance *fitness, double threshold, uint32_t lane_count,
                      hox_error *error) {
    *j = (judge){.fitness = fitness,
                 .threshold = threshold,
                 .spaces = array_create(lane_count, sizeof *j->spaces, error),
                 .lane_count = lane_count};
    return j->spaces ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
}

void judge_deinit(judge *j) {
    for (uint32_t i = 0; j->spaces && i < j->lane_count; i++)
        free(j->spaces[i].keys);
    free(j->spaces);
    *j = (judge){0};
}

hox_status judge_reserve(judge *j, uint64_t image_count, hox_error *error) {
    for (uint32_t i = 0; i < j->lane_count; i++) {
        judge_space *space = &j->spaces[i];
        if (space->capacity >= image_count) continue;
        free(space->keys);
        *space = (judge_space){.keys = array_create(image_count, sizeof *space->keys, error)};
        if (!space->keys) return HOX_OUT_OF_HOST_MEMORY;
        space->capacity = image_count;
    }
    return HOX_OK;
}

static hox_status judge_logits(const judge *j, task *t, const evaluation_split *split,
                               uint64_t *keys, hox_error *error) {
    evaluation_result *r = t->result;
    for (uint64_t i = 0; i < split->count; i++) {
        if (isfinite(t->logits[i])) continue;
        r->reason = EVALUATION_NAN;
        return hox_error_set(error, HOX_INTERNAL, "the logit of image %" PRIu64 " is not finite",
                             i);
    }
    metrics_compute(t->logits, split->labels, split->count, j->threshold, keys, &r->metrics);
    HOX_TRY(j->fitness->plugin->fitness->score(j->fitness->options, &r->metrics, &r->facts,
                                               &r->fitness, error));
    r->metrics.logits = NULL;
    r->metrics.labels = NULL;
    if (isfinite(r->fitness)) return HOX_OK;
    r->reason = EVALUATION_NAN;
    return hox_error_set(error, HOX_INTERNAL, "the fitness is not finite");
}

void judge_task(const judge *j, task *t, const evaluation_split *split, uint32_t lane) {
    hox_error *error = &t->result->error;
    const hox_status status = judge_logits(j, t, split, j->spaces[lane].keys, error);
    if (status != HOX_OK) task_fail(t, status, error);
}
