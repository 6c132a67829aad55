#include "experiment/experiment.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "experiment/brightness.h"
#include "experiment/checkpoint.h"
#include "experiment/elites.h"
#include "experiment/resumption.h"
#include "experiment/scoring.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct experiment {
    experiment_setup setup;
    experiment_config *config;
    log_sink log;                 // forwards to setup.log and keeps warnings in events.jsonl
    pthread_mutex_t events_mutex; // lines come from any thread
    json_t *early_events;         // array: from before there was a folder
    session session;
    evolution *evolution;
    run_directory directory;
    scoring scoring;
    double *fitness;         // one per individual
    uint64_t *refined_from;  // likewise: the genome it was before its training; 0 = it had none
    genome *champion;        // of all generations, by monitor; NULL before the first
    double champion_monitor; // -inf where monitor failed
    double best_fitness;     // of all generations, on select
    uint32_t improved_generation;
    run_result result;
    double earlier_seconds; // of this run in other processes
    uint64_t start_ns;
    uint64_t saved_ns;    // when the last checkpoint was written
    uint32_t saved_count; // generations it holds
};

// ---- what is said ----

// An event that is lost is said, but not as an event.
static void need_written(const experiment *e, hox_status status) {
    if (status != HOX_OK) log_line(e->setup.log, HOX_LOG_ERROR, "events.jsonl cannot be written");
}

static void keep_line(void *context, uint32_t level, const char *line) {
    experiment *e = context;
    if (e->setup.log && level <= e->setup.log->level)
        e->setup.log->write(e->setup.log->context, level, line);
    if (level > HOX_LOG_WARNING) return;
    pthread_mutex_lock(&e->events_mutex);
    json_t *event = json_pack("{s:s, s:s}", "event", level == HOX_LOG_ERROR ? "error" : "warning",
                              "message", line);
    if (e->directory.events.descriptor < 0)
        json_array_append_new(e->early_events, event);
    else
        need_written(e, run_directory_write_event(&e->directory, event, NULL));
    pthread_mutex_unlock(&e->events_mutex);
}

// What is decided about memory goes to events.jsonl; the log has heard of it.
static void keep_memory_event(void *context, const memory_event *event) {
    experiment *e = context;
    pthread_mutex_lock(&e->events_mutex);
    need_written(e, run_directory_write_memory(&e->directory, evolution_generation(e->evolution),
                                               event, NULL));
    pthread_mutex_unlock(&e->events_mutex);
}

// What the plugins say goes the same way.
static void listen_to_plugins(experiment *e, const log_sink *log) {
    instance *const plugins[] = {&e->config->dataset, &e->config->fitness, &e->config->runtime};
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
        plugins[i]->services.log = log;
}

static hox_status write_early_events(experiment *e, hox_error *error) {
    size_t i;
    json_t *event;
    json_array_foreach(e->early_events, i, event) {
        HOX_TRY(run_directory_write_event(&e->directory, json_incref(event), error));
    }
    return HOX_OK;
}

// ---- setting up ----

static hox_status open_evolution(experiment *e, hox_error *error) {
    const experiment_config *c = e->config;
    const hox_dataset_info *info = &e->session.splits.info;
    const size_t count = (size_t)c->evolution.population_size;
    HOX_TRY(scoring_init(&e->scoring, count, error));
    e->fitness = array_create(count, sizeof *e->fitness, error);
    e->refined_from = array_create(count, sizeof *e->refined_from, error);
    if (!e->fitness || !e->refined_from) return HOX_OUT_OF_HOST_MEMORY;
    const map_size input = {info->channels, info->height, info->width};
    HOX_TRY(evolution_create(&c->evolution, &c->genome, c->head.seed, input, &e->evolution, error));
    const population *first; // what cannot start fails here, before there is a folder
    HOX_TRY(evolution_ask(e->evolution, &first, error));
    hox_error why = HOX_ERROR_INIT;
    const hox_status status = evaluation_check(e->session.evaluation, first->items[0].genome, &why);
    if (status == HOX_OK) return HOX_OK;
    return hox_error_set(
        error, status == HOX_UNSUPPORTED ? HOX_BAD_OPTION : status,
        "/dataset: images of %u x %u: the first network cannot be evaluated: %.300s", info->height,
        info->width, why.message);
}

static hox_status start_fresh(experiment *e, hox_error *error) {
    HOX_TRY(run_directory_create(&e->directory, e->config, e->setup.out, error));
    return write_early_events(e, error);
}

// ---- going on ----

// A JSON file of the run's folder; NULL where it is not there or is no JSON.
static json_t *read_json(const experiment *e, const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", e->directory.path, name);
    return json_load_file(path, 0, NULL);
}

static void restore_run(experiment *e, run_state *run) {
    e->result.generation_count = run->result.generation_count;
    e->result.champion_id = run->result.champion_id;
    e->result.champion_generation = run->result.champion_generation;
    e->result.champion_facts = run->result.champion_facts;
    memcpy(e->result.fitness, run->result.fitness, sizeof e->result.fitness);
    memcpy(e->result.balanced_accuracy, run->result.balanced_accuracy,
           sizeof e->result.balanced_accuracy);
    e->champion = run->champion;
    e->champion_monitor = run->champion_monitor;
    e->scoring.evaluation_count = run->evaluation_count;
    e->improved_generation = run->improved_generation;
    e->saved_count = run->result.generation_count;
}

// Takes up the newest valid checkpoint; without one the run starts over, in its folder.
static hox_status restore(experiment *e, hox_error *error) {
    char folder[PATH_MAX];
    uint64_t metrics_lines, genomes_lines;
    run_state run;
    evolution_state state;
    hox_error why = HOX_ERROR_INIT;
    snprintf(folder, sizeof folder, "%s/checkpoint", e->directory.path);
    run_directory_count_lines(&e->directory, &metrics_lines, &genomes_lines);
    const hox_status status =
        checkpoint_load(folder, metrics_lines, genomes_lines, &e->log, &run, &state, &why);
    if (status == HOX_CORRUPT && !e->setup.is_forced) // starting over drops what is there
        return hox_error_set(error, status, "%s; --force starts the run over", why.message);
    if (status == HOX_NOT_FOUND || status == HOX_CORRUPT) {
        log_line(&e->log, HOX_LOG_WARNING, "%s; the run starts over", why.message);
        return run_directory_continue(&e->directory, 0, 0, error);
    }
    if (status != HOX_OK) return hox_error_pass(error, status, &why);
    if (state.population.count != e->scoring.count) {
        genome_destroy(run.champion);
        evolution_state_deinit(&state);
        return hox_error_set(
            error, HOX_BAD_OPTION,
            "/evolution/population_size: the run goes on with as many genomes as it has");
    }
    e->best_fitness = state.has_best ? state.best_fitness : -INFINITY;
    evolution_restore(e->evolution, &state);
    restore_run(e, &run);
    HOX_TRY(run_directory_continue(&e->directory, run.metrics_lines, run.genomes_lines, error));
    return e->champion ? run_directory_write_champion(&e->directory, e->champion, error) : HOX_OK;
}

static uint64_t count_at(const json_t *json, const char *key) {
    const json_int_t value = json_integer_value(json_object_get(json, key));
    return value > 0 ? (uint64_t)value : 0;
}

// With other settings it begins anew: they may be why the run goes on.
static void restore_memory(experiment *e, const json_t *memory, const json_t *old_config) {
    json_t *config = experiment_config_print(e->config, NULL);
    const bool is_same = json_equal(json_object_get(old_config, "evaluation"),
                                    json_object_get(config, "evaluation"));
    json_decref(config);
    if (!json_is_object(memory) || !is_same) return;
    const vram_state state = {.batch = count_at(memory, "batch"),
                              .ceiling = count_at(memory, "ceiling"),
                              .clean_generations = count_at(memory, "clean_generations"),
                              .wait = count_at(memory, "wait"),
                              .is_on_probation =
                                  json_is_true(json_object_get(memory, "is_on_probation"))};
    evaluation_restore_memory(e->session.evaluation, &state);
}

// Time and memory: what no result depends on.
static void restore_volatile(experiment *e, const json_t *old_config) {
    json_t *json = read_json(e, "checkpoint/volatile.json");
    e->earlier_seconds = json_number_value(json_object_get(json, "elapsed_seconds"));
    restore_memory(e, json_object_get(json, "memory"), old_config);
    json_decref(json);
}

static double number_at(const json_t *json, const char *section, const char *key) {
    const json_t *value = json_object_get(json_object_get(json, section), key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool has_reached_limit(const experiment *e);

// A run that was as long from the start would not have trained it.
static void warn_of_last(const experiment *e, const json_t *old_config) {
    const int64_t most =
        json_integer_value(json_object_get(json_object_get(old_config, "stop"), "max_generations"));
    const uint32_t count = e->result.generation_count;
    if (count == most && e->config->refinement.elite_refinement_enabled &&
        count % e->config->refinement.elite_refinement_every != 0)
        log_line(&e->log, HOX_LOG_WARNING,
                 "generation %u was refined because it was the last: a run of %lld generations "
                 "from the start would differ",
                 count - 1, (long long)e->config->stop.max_generations);
}

// What a run that ended well says of test stays as it is while nothing is added.
static void restore_ending(experiment *e, const json_t *old_run, const json_t *old_config) {
    const json_t *result = json_object_get(old_run, "result");
    const double on_test = number_at(result, "fitness", split_names[SPLIT_TEST]);
    const bool has_ended =
        json_is_object(result) && json_integer_value(json_object_get(result, "stop_signal")) == 0;
    if (!has_ended) return;
    if (!has_reached_limit(e)) {
        warn_of_last(e, old_config);
        if (!isnan(on_test))
            log_line(&e->log, HOX_LOG_WARNING,
                     "the test split was measured once at the end of this run; it will be measured "
                     "again at the new end");
        return;
    }
    if (isnan(on_test) && e->session.splits.parts[SPLIT_TEST].count > 0) return; // it failed there
    e->result.had_ended = true;
    e->result.fitness[SPLIT_TEST] = on_test;
    e->result.balanced_accuracy[SPLIT_TEST] =
        number_at(result, "balanced_accuracy", split_names[SPLIT_TEST]);
    e->result.brightness_test = json_is_number(json_object_get(result, "brightness_test"))
                                    ? json_number_value(json_object_get(result, "brightness_test"))
                                    : NAN;
}

static hox_status go_on(experiment *e, hox_error *error) {
    json_t *run = read_json(e, "run.json"), *config = read_json(e, "config.resolved.json");
    hox_status status =
        resumption_check(&e->session, run, config, e->setup.is_forced, &e->log, error);
    if (status == HOX_OK) status = restore(e, error);
    if (status == HOX_OK) status = write_early_events(e, error);
    if (status == HOX_OK) {
        restore_volatile(e, config);
        restore_ending(e, run, config);
        if (!e->result.had_ended) // it may go on with other settings
            status = run_directory_write_config(&e->directory, e->config, error);
    }
    json_decref(run);
    json_decref(config);
    return status;
}

// ---- setting up, all of it ----

static void clear_result(run_result *r) {
    *r = (run_result){.brightness_test = NAN};
    for (uint32_t part = 0; part < SPLIT_COUNT; part++)
        r->fitness[part] = r->balanced_accuracy[part] = NAN;
}

static hox_status open_all(experiment *e, hox_error *error) {
    if (e->setup.is_resumed) HOX_TRY(run_directory_open(&e->directory, e->setup.out, error));
    HOX_TRY(session_open(&e->session, e->config, &e->log, (memory_listener){keep_memory_event, e},
                         error));
    if (e->config->refinement.elite_refinement_enabled)
        HOX_TRY(session_check_training(&e->session, "/refinement/elite_refinement_enabled", error));
    HOX_TRY(open_evolution(e, error));
    if (e->setup.is_resumed)
        HOX_TRY(go_on(e, error));
    else
        HOX_TRY(start_fresh(e, error));
    if (e->result.had_ended) return HOX_OK;
    return run_directory_write_run(&e->directory, &e->session, NULL, error);
}

hox_status experiment_create(const experiment_setup *setup, experiment **out, hox_error *error) {
    *out = NULL;
    experiment *e = array_create(1, sizeof *e, error);
    if (!e) return HOX_OUT_OF_HOST_MEMORY;
    *e = (experiment){.setup = *setup,
                      .config = setup->config,
                      .log = {.level = setup->log ? setup->log->level : HOX_LOG_WARNING,
                              .write = keep_line,
                              .context = e},
                      .early_events = json_array(),
                      .directory = RUN_DIRECTORY_CLOSED,
                      .best_fitness = -INFINITY,
                      .start_ns = clock_ns(),
                      .saved_ns = clock_ns()};
    pthread_mutex_init(&e->events_mutex, NULL);
    clear_result(&e->result);
    listen_to_plugins(e, &e->log);
    const hox_status status = open_all(e, error);
    if (status == HOX_OK)
        *out = e;
    else
        experiment_destroy(e);
    return status;
}

void experiment_destroy(experiment *e) {
    if (!e) return;
    genome_destroy(e->champion);
    evolution_destroy(e->evolution);
    session_close(&e->session);
    scoring_deinit(&e->scoring);
    run_directory_close(&e->directory);
    listen_to_plugins(e, e->setup.log);
    pthread_mutex_destroy(&e->events_mutex);
    json_decref(e->early_events);
    free(e->fitness);
    free(e->refined_from);
    free(e);
}

// ---- a generation ----

static void take_fitness(experiment *e, const population *p) {
    for (size_t i = 0; i < p->count; i++) {
        e->fitness[i] = e->scoring.results[i].fitness;
        e->refined_from[i] = 0;
    }
}

static void count_up(const experiment *e, const population *p, generation_record *record) {
    double sum = 0.0;
    record->evaluated_count = 0;
    record->best = record->mean = NAN;
    for (size_t i = 0; i < p->count; i++) {
        if (isnan(e->fitness[i])) continue;
        record->evaluated_count++;
        sum += e->fitness[i];
        if (!(record->best >= e->fitness[i])) record->best = e->fitness[i];
    }
    record->failed_count = p->count - record->evaluated_count;
    if (record->evaluated_count > 0) record->mean = sum / (double)record->evaluated_count;
    record->evaluation_total = e->scoring.evaluation_count;
}

static hox_status write_failure(experiment *e, uint32_t generation, uint64_t id,
                                const evaluation_result *r, hox_error *error) {
    json_t *event = json_pack("{s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:I}", "event", "genome_failed",
                              "generation", (json_int_t)generation, "genome", (json_int_t)id,
                              "reason", evaluation_reasons[r->reason], "message", r->error.message,
                              "bytes_per_sample", (json_int_t)r->bytes_per_sample,
                              "bytes_requested", (json_int_t)r->error.bytes_requested,
                              "bytes_available", (json_int_t)r->error.bytes_available);
    if (r->error.native_code != 0)
        json_object_set_new(event, "native_code", json_integer(r->error.native_code));
    return run_directory_write_event(&e->directory, event, error);
}

static void say_failure(const experiment *e, uint32_t generation, uint64_t id,
                        const evaluation_result *r) {
    log_line(e->setup.log, HOX_LOG_WARNING, "generation %u: genome %llu has no fitness (%s): %s",
             generation, (unsigned long long)id, evaluation_reasons[r->reason], r->error.message);
}

// Each failure is a line in events.jsonl; the log gets the first of a generation and how many there
// were.
static hox_status report_failures(experiment *e, const population *p,
                                  const generation_record *record, hox_error *error) {
    const evaluation_result *first = NULL;
    bool has_oom = false;
    for (size_t i = 0; i < p->count; i++) {
        const evaluation_result *r = &e->scoring.results[i];
        if (r->reason == EVALUATION_OK) continue;
        has_oom |= r->reason == EVALUATION_OOM;
        HOX_TRY(write_failure(e, record->generation, p->items[i].genome->id, r, error));
        if (!first && record->evaluated_count > 0)
            say_failure(e, record->generation, p->items[i].genome->id, r);
        first = first ? first : r;
    }
    if (record->failed_count > 1 && record->evaluated_count > 0)
        log_line(e->setup.log, HOX_LOG_WARNING, "generation %u: %zu genomes have no fitness",
                 record->generation, record->failed_count);
    if (record->evaluated_count > 0) return HOX_OK;
    return hox_error_set(error, has_oom ? HOX_OUT_OF_DEVICE_MEMORY : HOX_INTERNAL,
                         "generation %u: no genome could be evaluated; the first failed with: %s",
                         record->generation, first->error.message);
}

// ---- refinement ----

static bool is_stopped(void *context) {
    const experiment *e = context;
    return e->setup.stop_signal && atomic_load(e->setup.stop_signal) != 0;
}

// Training that was not to be is a line in events.jsonl and in the log.
static hox_status report_skips(experiment *e, const elites *trained, uint32_t generation,
                               hox_error *error) {
    for (size_t i = 0; i < trained->count; i++) {
        const elite *one = &trained->items[i];
        const char *message, *reason = elite_failure(one, &message);
        if (!reason) continue;
        const uint64_t id = one->job.genome->id;
        log_line(e->setup.log, HOX_LOG_WARNING,
                 "generation %u: genome %llu is not refined (%s): %s", generation,
                 (unsigned long long)id, reason, message);
        HOX_TRY(run_directory_write_event(
            &e->directory,
            json_pack("{s:s, s:I, s:I, s:s, s:s}", "event", "refinement_skipped", "generation",
                      (json_int_t)generation, "genome", (json_int_t)id, "reason", reason, "message",
                      message),
            error));
    }
    return HOX_OK;
}

// Before the generation is told, so that one whose training is stopped was only asked for.
static hox_status train_elites(experiment *e, const population *p, generation_record *record,
                               elites *trained, hox_error *error) {
    hox_error why = HOX_ERROR_INIT;
    const hox_status status =
        elites_refine(trained, &e->session, p, e->fitness, record->generation, is_stopped, e, &why);
    if (status == HOX_CANCELLED) return status;
    if (status != HOX_OK) return hox_error_pass(error, status, &why);
    e->scoring.evaluation_count += trained->evaluation_count;
    return report_skips(e, trained, record->generation, error);
}

// After the generation was told. What scoring knows is what genomes compute as they are: a fitness
// that only training reaches is not among it.
static void take_refined(experiment *e, const population *p, elite *one) {
    const uint64_t id = p->items[one->slot].genome->id;
    const bool takes_weights = !e->config->refinement.baldwinian;
    e->fitness[one->slot] = one->result.fitness;
    e->refined_from[one->slot] = id;
    evolution_refine(e->evolution, one->slot, takes_weights ? one->job.refined : NULL,
                     one->result.fitness);
    if (!takes_weights) return;
    one->job.refined = NULL;
    scoring_replace(&e->scoring, one->slot, p->items[one->slot].genome->id, &one->result);
}

static void take_improved(experiment *e, const population *p, elites *trained,
                          generation_record *record) {
    double gain = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < trained->count; i++) {
        elite *one = &trained->items[i];
        if (!one->is_scored) continue;
        count++;
        gain += one->result.fitness - one->before;
        if (!elite_is_improved(one)) continue;
        take_refined(e, p, one);
        record->refined_count++;
    }
    record->refinement_gain = count > 0 ? gain / (double)count : NAN;
    count_up(e, p, record);
}

// ---- the champion ----

// Of a generation that is not told yet: what fails there was only asked for.
typedef struct measured_champion {
    size_t slot;
    evaluation_result on_monitor;
} measured_champion;

// Gives those that training has improved the numbers that evolution will give them.
static void number_refined(const experiment *e, elites *trained) {
    uint64_t id = evolution_state_of(e->evolution)->next_id;
    for (size_t i = 0; i < trained->count; i++)
        if (elite_is_improved(&trained->items[i])) trained->items[i].job.refined->id = id++;
}

// The individual in this slot as it will be: told, and trained (NULL: it was not).
static individual foresee(const experiment *e, const population *p, size_t slot,
                          const elite *trained) {
    individual one = p->items[slot];
    one.has_fitness = isfinite(e->fitness[slot]);
    one.fitness = one.has_fitness ? e->fitness[slot] : 0.0;
    if (!trained || !elite_is_improved(trained)) return one;
    one.fitness = trained->result.fitness;
    if (!e->config->refinement.baldwinian) one.genome = trained->job.refined;
    return one;
}

static const genome *foresee_champion(const experiment *e, const population *p,
                                      const elites *trained, size_t *slot) {
    individual best;
    size_t next = 0; // elite
    for (size_t i = 0; i < p->count; i++) {
        const bool is_elite = next < trained->count && trained->items[next].slot == i;
        const individual one = foresee(e, p, i, is_elite ? &trained->items[next++] : NULL);
        if (i > 0 && !individual_is_fitter(&one, &best)) continue;
        best = one;
        *slot = i;
    }
    return best.genome;
}

static hox_status measure_champion(experiment *e, const population *p, elites *trained,
                                   uint32_t generation, measured_champion *champion,
                                   hox_error *error) {
    evaluation_result *r = &champion->on_monitor;
    if (!e->config->refinement.baldwinian) number_refined(e, trained);
    const genome *const genomes[] = {foresee_champion(e, p, trained, &champion->slot)};
    HOX_TRY(session_score(&e->session, SPLIT_MONITOR, genomes, 1, r, error));
    if (r->reason == EVALUATION_OOM) // else the run's champion would depend on memory
        return hox_error_set(error, HOX_OUT_OF_DEVICE_MEMORY,
                             "generation %u: its champion does not fit on monitor: %s", generation,
                             r->error.message);
    if (r->reason != EVALUATION_OK)
        log_line(&e->log, HOX_LOG_WARNING, "generation %u: its champion fails on monitor: %s",
                 generation, r->error.message);
    return HOX_OK;
}

// After tell. The best of all generations on monitor is the run's champion, ties to the earlier.
static hox_status take_champion(experiment *e, const population *p,
                                const measured_champion *champion, generation_record *record,
                                hox_error *error) {
    const individual *best = &p->items[champion->slot];
    const evaluation_result *on_select = &e->scoring.results[champion->slot],
                            *on_monitor = &champion->on_monitor;
    assert(best == evolution_champion(e->evolution));
    record->champion_id = best->genome->id;
    record->champion_facts = on_select->facts;
    record->monitor = on_monitor->fitness;
    if (e->champion && !(on_monitor->fitness > e->champion_monitor)) return HOX_OK;

    genome *copy = genome_copy(best->genome, error);
    if (!copy) return HOX_OUT_OF_HOST_MEMORY;
    genome_destroy(e->champion);
    e->champion = copy;
    e->champion_monitor = on_monitor->reason == EVALUATION_OK ? on_monitor->fitness : -INFINITY;
    run_result *r = &e->result;
    r->champion_id = copy->id;
    r->champion_generation = record->generation;
    r->champion_facts = record->champion_facts;
    r->fitness[SPLIT_SELECT] = on_select->fitness;
    r->balanced_accuracy[SPLIT_SELECT] = on_select->metrics.balanced_accuracy;
    r->fitness[SPLIT_MONITOR] = on_monitor->fitness;
    r->balanced_accuracy[SPLIT_MONITOR] = on_monitor->metrics.balanced_accuracy;
    return run_directory_write_champion(&e->directory, e->champion, error);
}

static void note_improvement(experiment *e, const generation_record *record) {
    if (!(record->best > e->best_fitness)) return;
    e->best_fitness = record->best;
    e->improved_generation = record->generation;
}

static double elapsed_seconds(const experiment *e) {
    return e->earlier_seconds + clock_seconds_since(e->start_ns);
}

// At least one generation, whatever the limits.
static bool has_reached_limit(const experiment *e) {
    const stop_config *stop = &e->config->stop;
    const uint32_t count = e->result.generation_count;
    if (count == 0) return false;
    return count >= stop->max_generations || e->best_fitness >= stop->target_fitness ||
           (stop->patience > 0 && count - 1 - e->improved_generation >= stop->patience) ||
           (stop->max_evaluations > 0 &&
            e->scoring.evaluation_count >= (uint64_t)stop->max_evaluations) ||
           (stop->max_wall_seconds > 0.0 && elapsed_seconds(e) >= stop->max_wall_seconds);
}

static bool is_done(experiment *e) {
    return is_stopped(e) || has_reached_limit(e);
}

// Seconds since *mark, which moves to now.
static double lap(uint64_t *mark) {
    const uint64_t now = clock_ns(), before = *mark;
    *mark = now;
    return (double)(now - before) * 1e-9;
}

// ---- checkpoints ----

static hox_status write_volatile(experiment *e, hox_error *error) {
    const vram_state m = evaluation_memory_state(e->session.evaluation);
    char path[PATH_MAX], text[256];
    snprintf(path, sizeof path, "%s/checkpoint/volatile.json", e->directory.path);
    snprintf(text, sizeof text,
             "{\"elapsed_seconds\": %.9f, \"memory\": {\"batch\": %" PRIu64
             ", \"ceiling\": %" PRIu64 ", \"clean_generations\": %" PRIu64 ", \"wait\": %" PRIu64
             ", \"is_on_probation\": %s}}\n",
             elapsed_seconds(e), m.batch, m.ceiling, m.clean_generations, m.wait,
             m.is_on_probation ? "true" : "false");
    return file_write(path, text, strlen(text), error);
}

static hox_status save(experiment *e, hox_error *error) {
    const evolution_state *state = evolution_state_of(e->evolution);
    const run_state run = {.seed = e->config->head.seed,
                           .result = e->result,
                           .champion = e->champion,
                           .champion_monitor = e->champion_monitor,
                           .evaluation_count = e->scoring.evaluation_count,
                           .improved_generation = e->improved_generation,
                           .metrics_lines = e->result.generation_count,
                           .genomes_lines = e->result.generation_count * state->population.count};
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/checkpoint", e->directory.path);
    HOX_TRY(run_directory_sync(&e->directory, error)); // the state counts on these lines
    HOX_TRY(checkpoint_save(folder, &run, state, error));
    return write_volatile(e, error);
}

// A save that fails is said, and tried again when the next is due.
static void try_to_save(experiment *e) {
    hox_error why = HOX_ERROR_INIT;
    if (e->result.generation_count == 0 || e->saved_count == e->result.generation_count) return;
    e->saved_ns = clock_ns();
    if (save(e, &why) == HOX_OK) {
        e->saved_count = e->result.generation_count;
        log_line(&e->log, HOX_LOG_DEBUG, "checkpoint after generation %u written",
                 evolution_generation(e->evolution));
        return;
    }
    e->result.has_failed_save = true;
    log_line(&e->log, HOX_LOG_WARNING, "no checkpoint after generation %u: %s",
             e->result.generation_count, why.message);
}

static bool is_save_due(const experiment *e) {
    const run_config *run = &e->config->run;
    const uint32_t since = e->result.generation_count - e->saved_count;
    return (run->checkpoint_every > 0 && since >= run->checkpoint_every) ||
           (run->checkpoint_minutes > 0.0 &&
            clock_seconds_since(e->saved_ns) >= 60.0 * run->checkpoint_minutes);
}

// ---- a generation, all of it ----

static hox_status write_generation(experiment *e, const population *p, generation_record *record,
                                   uint64_t *mark, hox_error *error) {
    HOX_TRY(run_directory_write_genomes(&e->directory, record->generation, p, e->scoring.results,
                                        e->refined_from, error));
    record->write_seconds = lap(mark);
    e->result.evaluate_seconds += record->evaluate_seconds;
    e->result.evolve_seconds += record->evolve_seconds;
    e->result.refine_seconds += record->refine_seconds;
    HOX_TRY(run_directory_write_metrics(&e->directory, record, error));
    e->result.generation_count++;
    if (is_save_due(e)) try_to_save(e);
    e->result.write_seconds += record->write_seconds + lap(mark);
    const experiment_observer *observer = e->setup.observer;
    if (observer && observer->generation_done)
        observer->generation_done(observer->context, e, record);
    return HOX_OK;
}

// All that the runtime is needed for; nothing is told before it is done.
static hox_status score_population(experiment *e, const population *p, generation_record *record,
                                   elites *trained, measured_champion *champion, uint64_t *mark,
                                   hox_error *error) {
    HOX_TRY(scoring_run(&e->scoring, &e->session, p, error));
    take_fitness(e, p);
    count_up(e, p, record);
    HOX_TRY(report_failures(e, p, record, error));
    record->evaluate_seconds = lap(mark);
    if (elites_are_due(e->config, record->generation)) {
        HOX_TRY(train_elites(e, p, record, trained, error));
        record->refine_seconds = lap(mark);
    }
    return measure_champion(e, p, trained, record->generation, champion, error);
}

// Asked for and not told: resuming evaluates it again. A stop is no failure.
static hox_status abandon_generation(experiment *e, uint32_t generation,
                                     uint64_t evaluations_before, hox_status status) {
    e->scoring.evaluation_count = evaluations_before;
    try_to_save(e);
    if (status != HOX_CANCELLED || !is_stopped(e)) return status;
    log_line(e->setup.log, HOX_LOG_INFO,
             "generation %u is given up in its training; resuming does it again", generation);
    return HOX_OK;
}

static hox_status run_generation(experiment *e, hox_error *error) {
    const population *p;
    elites trained = {0};
    measured_champion champion;
    const uint64_t evaluations_before = e->scoring.evaluation_count;
    uint64_t mark = clock_ns();
    HOX_TRY(evolution_ask(e->evolution, &p, error));
    generation_record record = {.generation = evolution_generation(e->evolution),
                                .species_count = evolution_state_of(e->evolution)->species.count,
                                .refinement_gain = NAN,
                                .evolve_seconds = lap(&mark)};
    const hox_status status = score_population(e, p, &record, &trained, &champion, &mark, error);
    if (status != HOX_OK) {
        elites_deinit(&trained);
        return abandon_generation(e, record.generation, evaluations_before, status);
    }
    evolution_tell(e->evolution, e->fitness);
    take_improved(e, p, &trained, &record);
    elites_deinit(&trained);
    log_line(&e->log, HOX_LOG_DEBUG,
             "generation %u: %zu species, %llu genomes evaluated so far, %.3f s to breed",
             record.generation, record.species_count, (unsigned long long)record.evaluation_total,
             record.evolve_seconds);
    note_improvement(e, &record);
    HOX_TRY(take_champion(e, p, &champion, &record, error));
    const hox_status ended =
        evaluation_end_generation(e->session.evaluation, e->scoring.results, p->count, error);
    record.evaluate_seconds += lap(&mark);
    HOX_TRY(write_generation(e, p, &record, &mark, error)); // it is whole, whatever has ended
    if (ended != HOX_OK) try_to_save(e);
    return ended;
}

// ---- the end ----

static hox_status score_test(experiment *e, hox_error *error) {
    if (e->session.splits.parts[SPLIT_TEST].count == 0) return HOX_OK;
    session_drop(&e->session, SPLIT_SELECT); // room for the test split
    session_drop(&e->session, SPLIT_MONITOR);
    evaluation_result result;
    const genome *const genomes[] = {e->champion};
    HOX_TRY(session_score(&e->session, SPLIT_TEST, genomes, 1, &result, error));
    if (result.reason != EVALUATION_OK)
        return hox_error_set(error, result.error.status, "the champion fails on test: %s",
                             result.error.message);
    e->result.fitness[SPLIT_TEST] = result.fitness;
    e->result.balanced_accuracy[SPLIT_TEST] = result.metrics.balanced_accuracy;
    brightness_rule rule;
    HOX_TRY(brightness_fit(&e->session.splits, &rule, error));
    e->result.brightness_test = brightness_score(&rule, &e->session.splits.parts[SPLIT_TEST]);
    return HOX_OK;
}

static void write_loss(experiment *e, const hox_error *why) {
    json_t *event =
        json_pack("{s:s, s:I, s:s, s:I}", "event", evaluation_reasons[EVALUATION_DEVICE_LOST],
                  "generation", (json_int_t)evolution_generation(e->evolution), "message",
                  why ? why->message : "", "native_code", why ? (json_int_t)why->native_code : 0);
    need_written(e, run_directory_write_event(&e->directory, event, NULL));
}

// The test split is for runs that ended well; the others may go on.
static hox_status finish(experiment *e, bool ended_well, hox_error *error) {
    uint64_t mark = clock_ns();
    hox_status status = HOX_OK;
    if (e->setup.stop_signal) e->result.stop_signal = atomic_load(e->setup.stop_signal);
    e->result.lineage = evolution_state_of(e->evolution)->lineage;
    if (ended_well) try_to_save(e);
    e->result.write_seconds += lap(&mark);
    if (e->champion && ended_well && e->result.stop_signal == 0) status = score_test(e, error);
    e->result.evaluate_seconds += lap(&mark);
    HOX_TRY(run_directory_sync(&e->directory, error));
    HOX_TRY(write_volatile(e, error)); // a limit that has passed stays so
    e->result.total_seconds = clock_seconds_since(e->start_ns);
    HOX_TRY(run_directory_write_run(&e->directory, &e->session, &e->result, error));
    return status;
}

hox_status experiment_run(experiment *e, run_result *result, hox_error *error) {
    const experiment_observer *observer = e->setup.observer;
    if (observer && observer->started) observer->started(observer->context, e);
    hox_status status = HOX_OK, finished = HOX_OK;
    while (status == HOX_OK && !is_done(e))
        status = run_generation(e, error);
    hox_error last = HOX_ERROR_INIT; // what ended the run is worth more than what comes after
    if (e->result.had_ended)
        e->result.lineage = evolution_state_of(e->evolution)->lineage;
    else
        finished = status == HOX_OK ? finish(e, true, error) : finish(e, false, &last);
    if (status == HOX_OK) status = finished;
    if (status == HOX_DEVICE_LOST) write_loss(e, error);
    *result = e->result;
    return status;
}

const char *experiment_folder(const experiment *e) {
    return e->directory.path;
}

const session *experiment_session(const experiment *e) {
    return &e->session;
}
