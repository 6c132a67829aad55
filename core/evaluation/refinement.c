#include "evaluation/refinement.h"

#include "base/array.h"
#include "evaluation/optimizer.h"
#include "evaluation/residency.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const refinement_reasons[REFINEMENT_REASON_COUNT] = {
    "ok", "oom", "nan", "unsupported", "plugin-error", "no-path"};

enum { PIECE_MULTIPLE = 16 }; // where train_backward lets a batch be cut

// One call of refinement_run.
typedef struct refining {
    lanes *lanes;
    residency *residency;
    const refinement_order *order;
    evaluation_split *split;
    refinement_job *jobs;
    plan *plans; // by job
    size_t count;
    double positive_weight;

    hox_status status; // guarded by the lanes' mutex: not OK ends all trainings
    hox_error why;     // likewise
} refining;

// One genome's training.
typedef struct trainer {
    refining *all;
    const plan *plan;
    size_t job;
    uint32_t lane;
    hox_runner *runner;  // for piece images; NULL = to be prepared
    hox_samples *window; // streamed: room for piece images; NULL = the split's own samples do
    bool is_streamed;
    uint64_t piece;  // most images at once
    float *weights;  // the plan's layout
    float *gradient; // likewise
    optimizer optimizer;
    uint64_t *order;  // of the split's images in this epoch
    uint64_t *places; // 0, 1, 2 ...: of a window's images
    uint8_t *labels;  // of a piece, as are the next two
    float *logits, *dlogits;
} trainer;

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

// ---- what ends all of it ----

static void end_all(refining *all, hox_status status, const hox_error *why) {
    pthread_mutex_lock(&all->lanes->mutex);
    if (all->status == HOX_OK) {
        all->status = status;
        all->why = *why;
        all->why.status = status;
    }
    pthread_mutex_unlock(&all->lanes->mutex);
}

// Asked before every batch.
static hox_status check_going(refining *all) {
    const refinement_order *order = all->order;
    pthread_mutex_lock(&all->lanes->mutex);
    const hox_status status = all->status;
    pthread_mutex_unlock(&all->lanes->mutex);
    if (status != HOX_OK) return status;
    if (!order->is_stopped || !order->is_stopped(order->context)) return HOX_OK;
    hox_error why = HOX_ERROR_INIT;
    hox_error_set(&why, HOX_CANCELLED, "training was stopped");
    end_all(all, HOX_CANCELLED, &why);
    return HOX_CANCELLED;
}

// ---- a trainer's memory ----

static uint64_t round_up(uint64_t count) {
    return (count + PIECE_MULTIPLE - 1) / PIECE_MULTIPLE * PIECE_MULTIPLE;
}

static uint64_t batch_size_of(const refining *all) {
    return smaller((uint64_t)all->order->config->elite_refinement_batch_size, all->split->count);
}

static hox_status trainer_init(trainer *t, hox_error *error) {
    const refining *all = t->all;
    const refinement_config *config = all->order->config;
    const uint64_t weight_count = t->plan->view.weight_count, batch = batch_size_of(all);
    const uint64_t batches = (all->split->count + batch - 1) / batch;
    t->piece = round_up(batch);
    t->weights = array_create(weight_count, sizeof *t->weights, error);
    t->gradient = array_create(weight_count, sizeof *t->gradient, error);
    t->order = array_create(all->split->count, sizeof *t->order, error);
    t->places = array_create(t->piece, sizeof *t->places, error);
    t->labels = array_create(t->piece, sizeof *t->labels, error);
    t->logits = array_create(t->piece, sizeof *t->logits, error);
    t->dlogits = array_create(t->piece, sizeof *t->dlogits, error);
    if (!t->weights || !t->gradient || !t->order || !t->places || !t->labels || !t->logits ||
        !t->dlogits)
        return HOX_OUT_OF_HOST_MEMORY;
    for (uint64_t i = 0; i < t->piece; i++)
        t->places[i] = i;
    plan_copy_weights(t->plan, all->jobs[t->job].genome, t->weights);
    return optimizer_init(&t->optimizer, config, weight_count,
                          batches * (uint64_t)config->elite_refinement_epochs, error);
}

// What a piece takes on the device.
static void release_piece(trainer *t) {
    const hox_runtime_api *api = t->all->lanes->api;
    api->release(t->runner);
    api->samples_destroy(t->window);
    t->runner = NULL;
    t->window = NULL;
}

static void trainer_deinit(trainer *t) {
    release_piece(t);
    optimizer_deinit(&t->optimizer);
    free(t->weights);
    free(t->gradient);
    free(t->order);
    free(t->places);
    free(t->labels);
    free(t->logits);
    free(t->dlogits);
}

static hox_status prepare_piece(trainer *t, hox_error *error) {
    const lanes *l = t->all->lanes;
    const hox_prepare_options options = {.struct_size = sizeof options,
                                         .capacity = (uint32_t)t->piece,
                                         .precision = HOX_PRECISION_FP32,
                                         .purpose = HOX_PURPOSE_TRAIN};
    if (!t->runner)
        HOX_TRY(l->api->prepare(l->runtime, t->lane, &t->plan->view, &options, &t->runner, error));
    if (!t->is_streamed || t->window) return HOX_OK;
    return split_create_samples(t->all->split, l->api, l->runtime, t->piece, &t->window, error);
}

// ---- a piece of a batch ----

typedef struct placing {
    const hox_runtime_api *api;
    hox_samples *window;
    uint64_t place;
} placing;

static hox_status place_image(void *context, uint64_t first, uint64_t count, const float *images,
                              hox_error *error) {
    (void)first;
    const placing *p = context;
    return p->api->samples_write(p->window, p->place, count, images, error);
}

// Images lie apart from each other in the split, so each is read for itself. What fails is no
// genome's fault, unless it is memory, which may do for fewer images.
static hox_status fill_window(trainer *t, const uint64_t *images, uint64_t count,
                              hox_error *error) {
    const evaluation_split *split = t->all->split;
    placing p = {t->all->lanes->api, t->window, 0};
    for (; p.place < count; p.place++) {
        const hox_status status =
            split->read(split->reader, images[p.place], 1, place_image, &p, error);
        if (status == HOX_OK) continue;
        if (!lanes_is_memory(status)) end_all(t->all, status, error);
        return status;
    }
    return HOX_OK;
}

static hox_status not_finite(trainer *t, const char *what, hox_error *error) {
    t->all->jobs[t->job].reason = REFINEMENT_NAN;
    return hox_error_set(error, HOX_INTERNAL,
                         "%s is not finite in step %" PRIu64
                         "; try a lower elite_refinement_lr, or an elite_refinement_clip_norm",
                         what, t->optimizer.step + 1);
}

// Adds to the gradient of a batch of batch_count images what these count of them have in it.
static hox_status run_piece(trainer *t, const hox_weights *weights, const uint64_t *images,
                            uint64_t count, uint64_t batch_count, double *loss, hox_error *error) {
    const refining *all = t->all;
    const hox_runtime_api *api = all->lanes->api;
    HOX_TRY(prepare_piece(t, error));
    if (t->is_streamed) HOX_TRY(fill_window(t, images, count, error));
    for (uint64_t i = 0; i < count; i++)
        t->labels[i] = all->split->labels[images[i]];
    HOX_TRY(api->train_forward(t->runner, weights, t->is_streamed ? t->window : all->split->samples,
                               t->is_streamed ? t->places : images, count, t->logits, error));
    const double sum =
        loss_of_logits(t->logits, t->labels, count, all->positive_weight, batch_count, t->dlogits);
    if (!isfinite(sum)) return not_finite(t, "the loss", error);
    *loss += sum;
    return api->train_backward(t->runner, t->dlogits, t->gradient, error);
}

// ---- a batch ----

static hox_status run_batch(trainer *t, const uint64_t *images, uint64_t count, double *loss,
                            hox_error *error) {
    const uint64_t weight_count = t->plan->view.weight_count;
    const hox_weights weights = {
        .struct_size = sizeof weights,
        .values = t->weights,
        .count = weight_count,
        .version = hash_bytes(t->weights, weight_count * sizeof *t->weights).words[0]};
    *loss = 0.0;
    memset(t->gradient, 0, weight_count * sizeof *t->gradient);
    for (uint64_t first = 0; first < count; first += t->piece)
        HOX_TRY(run_piece(t, &weights, images + first, smaller(t->piece, count - first), count,
                          loss, error));
    return HOX_OK;
}

static void tell_shrunk(const trainer *t, uint64_t tried, const hox_error *why) {
    const lanes *l = t->all->lanes;
    memory_event event = {.why = MEMORY_TRAINING,
                          .batch_before = tried,
                          .batch_after = t->piece,
                          .genome_id = t->all->jobs[t->job].genome->id,
                          .lane = t->lane,
                          .tried = tried,
                          .bytes_needed = why->bytes_requested,
                          .bytes_left = why->bytes_available};
    if (device_memory_read(&l->memory, &event.reading, NULL) != HOX_OK)
        event.reading = (vram_reading){0};
    lanes_tell(l, &event);
}

// Whether the batch is worth another try, in smaller pieces.
static bool shrink(trainer *t, const hox_error *why) {
    const uint64_t tried = t->piece, half = tried / 2 / PIECE_MULTIPLE * PIECE_MULTIPLE;
    release_piece(t);
    device_memory_trim(&t->all->lanes->memory);
    if (tried <= PIECE_MULTIPLE) return false;
    t->piece = half;
    tell_shrunk(t, tried, why);
    return true;
}

// A batch that memory breaks off is done again from its beginning, so that the gradient keeps its
// bits.
static hox_status train_batch(trainer *t, const uint64_t *images, uint64_t count, double *loss,
                              hox_error *error) {
    for (;;) {
        hox_error why = HOX_ERROR_INIT;
        HOX_TRY(check_going(t->all));
        const hox_status status = run_batch(t, images, count, loss, &why);
        if (lanes_is_memory(status) && shrink(t, &why)) continue;
        if (status != HOX_OK) {
            *error = why;
            return status;
        }
        if (optimizer_step(&t->optimizer, t->weights, t->gradient)) return HOX_OK;
        return not_finite(t, "the gradient or a weight", error);
    }
}

// ---- a genome ----

// Fisher and Yates; Durstenfeld, Communications of the ACM 7(7), 1964.
static void shuffle(const trainer *t, uint32_t epoch) {
    const refinement_order *order = t->all->order;
    const uint64_t count = t->all->split->count;
    rng r = rng_stream(order->seed, order->generation, t->all->jobs[t->job].slot,
                       RNG_PURPOSE_REFINEMENT | epoch << 16);
    for (uint64_t i = 0; i < count; i++)
        t->order[i] = i;
    for (uint64_t i = count; i > 1; i--) {
        const uint64_t k = rng_below(&r, i), image = t->order[k];
        t->order[k] = t->order[i - 1];
        t->order[i - 1] = image;
    }
}

static hox_status train_epoch(trainer *t, uint32_t epoch, hox_error *error) {
    const refinement_order *order = t->all->order;
    const uint64_t count = t->all->split->count, batch = batch_size_of(t->all);
    double sum = 0.0;
    shuffle(t, epoch);
    for (uint64_t first = 0; first < count; first += batch) {
        double loss;
        HOX_TRY(train_batch(t, t->order + first, smaller(batch, count - first), &loss, error));
        sum += loss;
    }
    if (order->epoch_done) order->epoch_done(order->context, t->job, epoch, sum / (double)count);
    return HOX_OK;
}

// Kernels are shared and never change: the trained ones are new.
static hox_status write_weights(const trainer *t, genome *g, hox_error *error) {
    const plan *p = t->plan;
    for (uint32_t e = 0; e < p->view.edge_count; e++) {
        genome_edge *edge = &g->edges[p->edge_index[e]];
        kernel *k = kernel_copy(edge->kernel, error);
        if (!k) return HOX_OUT_OF_HOST_MEMORY;
        memcpy(k->values, t->weights + p->view.edge_weight_offset[e],
               kernel_value_count(k) * sizeof *t->weights);
        genome_replace_kernel(edge, k);
    }
    return HOX_OK;
}

static hox_status make_refined(const trainer *t, refinement_job *job, hox_error *error) {
    genome *copy = genome_copy(job->genome, error);
    if (!copy) return HOX_OUT_OF_HOST_MEMORY;
    const hox_status status = write_weights(t, copy, error);
    if (status == HOX_OK)
        job->refined = copy;
    else
        genome_destroy(copy);
    return status;
}

static hox_status train_genome(trainer *t, refinement_job *job, hox_error *error) {
    const lanes *l = t->all->lanes;
    HOX_TRY(l->api->check_plan(l->runtime, &t->plan->view, HOX_PRECISION_FP32, error));
    HOX_TRY(trainer_init(t, error));
    for (uint32_t i = 0; i < (uint32_t)t->all->order->config->elite_refinement_epochs; i++)
        HOX_TRY(train_epoch(t, i, error));
    return make_refined(t, job, error);
}

static uint32_t reason_of(hox_status status) {
    switch (status) {
        case HOX_OUT_OF_HOST_MEMORY:
        case HOX_OUT_OF_DEVICE_MEMORY: return REFINEMENT_OOM;
        case HOX_UNSUPPORTED: return REFINEMENT_UNSUPPORTED;
        default: return REFINEMENT_PLUGIN_ERROR;
    }
}

static void blame(refinement_job *job, hox_status status) {
    hox_error *why = &job->error;
    if (job->reason == REFINEMENT_OK) job->reason = reason_of(status);
    why->status = status;
    if (!why->message[0]) // a plugin may say nothing
        snprintf(why->message, sizeof why->message, "status %d, and the plugin did not say why",
                 status);
}

static void train(refining *all, size_t i, uint32_t lane, bool is_streamed) {
    refinement_job *job = &all->jobs[i];
    trainer t = {
        .all = all, .plan = &all->plans[i], .job = i, .lane = lane, .is_streamed = is_streamed};
    job->reason = REFINEMENT_OK;
    job->error = (hox_error)HOX_ERROR_INIT;
    if (check_going(all) != HOX_OK) return;
    const hox_status status = train_genome(&t, job, &job->error);
    trainer_deinit(&t);
    if (status == HOX_DEVICE_LOST) end_all(all, status, &job->error);
    if (status != HOX_OK) blame(job, status);
}

// ---- all of them ----

static bool can_be_trained(const refining *all, size_t i) {
    return all->jobs[i].reason != REFINEMENT_NO_PATH;
}

static void train_item(void *context, uint64_t item, uint32_t lane) {
    refining *all = context;
    if (can_be_trained(all, item)) train(all, item, lane, false);
}

// On this thread, its images piece by piece; nothing else is on the device at the end.
static void train_alone(refining *all, size_t i) {
    if (all->jobs[i].reason != REFINEMENT_OOM) train(all, i, 0, true);
    if (all->jobs[i].reason != REFINEMENT_OOM) return;
    residency_drop_all(all->residency);
    residency_make_room(all->residency);
    train(all, i, 0, true);
}

static hox_status plan_all(refining *all, vram_demand *demand, hox_error *error) {
    for (size_t i = 0; i < all->count; i++) {
        refinement_job *job = &all->jobs[i];
        HOX_TRY(plan_init(&all->plans[i], job->genome, error));
        const uint64_t bytes = all->plans[i].view.bytes_per_sample;
        if (bytes > demand->per_sample) demand->per_sample = bytes;
        if (all->plans[i].has_path) continue;
        job->reason = REFINEMENT_NO_PATH;
        hox_error_set(&job->error, HOX_UNSUPPORTED,
                      "no path leads from its input to its output: there is nothing to train");
    }
    return HOX_OK;
}

// Trainings need room, so what evaluation has left idle goes first.
static hox_status run_all(refining *all, hox_error *error) {
    vram_demand demand = {.lane_count = all->lanes->count};
    HOX_TRY(plan_all(all, &demand, error));
    HOX_TRY(device_memory_set_budget(&all->lanes->memory, error));
    residency_make_room(all->residency);
    HOX_TRY(residency_place(all->residency, all->split, &demand, error));
    const bool is_resident = all->split->samples != NULL;
    if (is_resident) thread_pool_run(all->lanes->pool, all->count, train_item, all);
    for (size_t i = 0; i < all->count && all->status == HOX_OK; i++)
        if (can_be_trained(all, i) && (!is_resident || all->jobs[i].reason == REFINEMENT_OOM))
            train_alone(all, i);
    if (all->status != HOX_OK) *error = all->why;
    return all->status;
}

hox_status refinement_run(lanes *l, residency *r, const refinement_order *order,
                          evaluation_split *split, refinement_job *jobs, size_t count,
                          hox_error *error) {
    hox_error why = HOX_ERROR_INIT;
    refining all = {.lanes = l,
                    .residency = r,
                    .order = order,
                    .split = split,
                    .jobs = jobs,
                    .plans = array_create(count, sizeof *all.plans, &why),
                    .count = count,
                    .positive_weight = loss_positive_weight(split->labels, split->count)};
    for (size_t i = 0; i < count; i++) {
        jobs[i].reason = REFINEMENT_OK;
        jobs[i].refined = NULL;
        jobs[i].error = (hox_error)HOX_ERROR_INIT;
    }
    const hox_status status = all.plans ? run_all(&all, &why) : HOX_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; all.plans && i < count; i++)
        plan_deinit(&all.plans[i]);
    free(all.plans);
    if (status == HOX_OK) return HOX_OK;
    for (size_t i = 0; i < count; i++) {
        genome_destroy(jobs[i].refined);
        jobs[i].refined = NULL;
    }
    return hox_error_pass(error, status, &why);
}
