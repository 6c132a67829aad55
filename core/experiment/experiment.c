#include "experiment/experiment.h"

#include "base/array.h"
#include "base/clock.h"
#include "experiment/brightness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct experiment {
    experiment_setup setup;
    experiment_config *config;
    log_sink log;         // forwards to setup.log and keeps warnings in events.jsonl
    json_t *early_events; // array: from before there was a folder
    session session;
    evolution *evolution;
    run_directory directory;
    evaluation_result *results; // one per individual
    double *fitness;            // likewise
    genome *champion;           // of all generations, by monitor; NULL before the first
    double champion_monitor;
    run_result result;
    uint64_t start_ns;
};

// ---- setting up ----

static void keep_line(void *context, uint32_t level, const char *line) {
    experiment *e = context;
    if (e->setup.log && level <= e->setup.log->level)
        e->setup.log->write(e->setup.log->context, level, line);
    if (level > HOX_LOG_WARNING) return;
    json_t *event = json_pack("{s:s, s:s}", "event", level == HOX_LOG_ERROR ? "error" : "warning",
                              "message", line);
    if (!e->directory.path)
        json_array_append_new(e->early_events, event);
    else if (run_directory_write_event(&e->directory, event, NULL) != HOX_OK && e->setup.log)
        e->setup.log->write(e->setup.log->context, HOX_LOG_ERROR, "events.jsonl cannot be written");
}

// What the plugins say goes the same way.
static void listen_to_plugins(experiment *e, const log_sink *log) {
    instance *const plugins[] = {&e->config->dataset, &e->config->fitness, &e->config->runtime};
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
        plugins[i]->services.log = log;
}

static hox_status open_evolution(experiment *e, hox_error *error) {
    const experiment_config *c = e->config;
    const hox_dataset_info *info = &e->session.splits.info;
    const size_t count = (size_t)c->evolution.population_size;
    e->results = array_create(count, sizeof *e->results, error);
    e->fitness = array_create(count, sizeof *e->fitness, error);
    if (!e->results || !e->fitness) return HOX_OUT_OF_HOST_MEMORY;
    const map_size input = {info->channels, info->height, info->width};
    HOX_TRY(evolution_create(&c->evolution, &c->mutation, &c->genome, c->head.seed, input,
                             &e->evolution, error));
    const population *first; // what cannot start fails here, before there is a folder
    return evolution_ask(e->evolution, &first, error);
}

static hox_status open_directory(experiment *e, hox_error *error) {
    HOX_TRY(run_directory_create(&e->directory, e->config, e->setup.out, error));
    size_t i;
    json_t *event;
    json_array_foreach(e->early_events, i, event) {
        HOX_TRY(run_directory_write_event(&e->directory, json_incref(event), error));
    }
    HOX_TRY(run_directory_write_config(&e->directory, e->config, error));
    return run_directory_write_run(&e->directory, &e->session, NULL, error);
}

hox_status experiment_create(const experiment_setup *setup, experiment **out, hox_error *error) {
    *out = NULL;
    experiment *e = array_create(1, sizeof *e, error);
    if (!e) return HOX_OUT_OF_HOST_MEMORY;
    e->setup = *setup;
    e->config = setup->config;
    e->log = (log_sink){.level = setup->log ? setup->log->level : HOX_LOG_WARNING,
                        .write = keep_line,
                        .context = e};
    e->early_events = json_array();
    listen_to_plugins(e, &e->log);
    e->start_ns = clock_ns();
    hox_status status = session_open(&e->session, e->config, setup->accounts, &e->log, error);
    if (status == HOX_OK) status = open_evolution(e, error);
    if (status == HOX_OK) status = open_directory(e, error);
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
    listen_to_plugins(e, e->setup.log);
    run_directory_close(&e->directory);
    json_decref(e->early_events);
    free(e->results);
    free(e->fitness);
    free(e);
}

// ---- a generation ----

static hox_status evaluate(experiment *e, const population *p, hox_error *error) {
    const genome **genomes = array_create(p->count, sizeof *genomes, error);
    if (!genomes) return HOX_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < p->count; i++)
        genomes[i] = p->items[i].genome;
    const hox_status status =
        session_score(&e->session, SPLIT_SELECT, genomes, p->count, e->results, error);
    free(genomes);
    for (size_t i = 0; i < p->count && status == HOX_OK; i++)
        e->fitness[i] = e->results[i].fitness;
    return status;
}

static void count_up(const experiment *e, const population *p, generation_record *record) {
    double sum = 0.0;
    record->best = record->mean = NAN;
    for (size_t i = 0; i < p->count; i++) {
        if (e->results[i].reason != EVALUATION_OK) {
            record->failed_count++;
            continue;
        }
        record->evaluated_count++;
        sum += e->fitness[i];
        if (!(record->best >= e->fitness[i])) record->best = e->fitness[i];
    }
    if (record->evaluated_count > 0) record->mean = sum / (double)record->evaluated_count;
}

// Each failure is a line in events.jsonl; the log gets the first of a generation and how many there
// were.
static hox_status report_failures(experiment *e, const population *p,
                                  const generation_record *record, hox_error *error) {
    const evaluation_result *first = NULL;
    for (size_t i = 0; i < p->count; i++) {
        const evaluation_result *r = &e->results[i];
        if (r->reason == EVALUATION_OK) continue;
        const unsigned long long id = p->items[i].genome->id;
        HOX_TRY(run_directory_write_event(
            &e->directory,
            json_pack("{s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:I}", "event", "genome_failed",
                      "generation", (json_int_t)record->generation, "genome", (json_int_t)id,
                      "reason", evaluation_reasons[r->reason], "message", r->error.message,
                      "bytes_per_sample", (json_int_t)r->bytes_per_sample, "bytes_requested",
                      (json_int_t)r->error.bytes_requested, "bytes_available",
                      (json_int_t)r->error.bytes_available),
            error));
        if (!first)
            log_line(
                e->setup.log, HOX_LOG_WARNING,
                "generation %u: genome %llu has no fitness (%s): %s%s", record->generation, id,
                evaluation_reasons[r->reason], r->error.message,
                r->reason == EVALUATION_OOM
                    ? "; lower evaluation.eval_batch_size or raise evaluation.gpu_vram_cap_bytes"
                    : "");
        first = first ? first : r;
    }
    if (record->failed_count > 1)
        log_line(e->setup.log, HOX_LOG_WARNING, "generation %u: %zu genomes have no fitness",
                 record->generation, record->failed_count);
    if (record->evaluated_count > 0) return HOX_OK;
    const bool is_memory = first->reason == EVALUATION_OOM;
    return hox_error_set(error, is_memory ? HOX_OUT_OF_DEVICE_MEMORY : HOX_INTERNAL,
                         "generation %u: no genome could be evaluated; the first failed with: %s",
                         record->generation, first->error.message);
}

// The generation's champion on monitor; the best of all generations there is the run's champion,
// ties to the earlier.
static hox_status score_champion(experiment *e, const population *p, generation_record *record,
                                 hox_error *error) {
    const individual *best = evolution_champion(e->evolution);
    const size_t index = (size_t)(best - p->items);
    const genome *const genomes[] = {best->genome};
    evaluation_result on_monitor;
    record->champion_id = best->genome->id;
    record->champion_facts = e->results[index].facts;
    HOX_TRY(session_score(&e->session, SPLIT_MONITOR, genomes, 1, &on_monitor, error));
    record->monitor = on_monitor.fitness;
    if (on_monitor.reason != EVALUATION_OK)
        log_line(&e->log, HOX_LOG_WARNING, "generation %u: its champion fails on monitor: %s",
                 record->generation, on_monitor.error.message);
    if (e->champion && !(on_monitor.fitness > e->champion_monitor)) return HOX_OK;

    genome *copy = genome_copy(best->genome, error);
    if (!copy) return HOX_OUT_OF_HOST_MEMORY;
    genome_destroy(e->champion);
    e->champion = copy;
    e->champion_monitor = on_monitor.reason == EVALUATION_OK ? on_monitor.fitness : -INFINITY;
    run_result *r = &e->result;
    r->champion_id = copy->id;
    r->champion_generation = record->generation;
    r->champion_facts = record->champion_facts;
    r->fitness[SPLIT_SELECT] = e->results[index].fitness;
    r->balanced_accuracy[SPLIT_SELECT] = e->results[index].metrics.balanced_accuracy;
    r->fitness[SPLIT_MONITOR] = on_monitor.fitness;
    r->balanced_accuracy[SPLIT_MONITOR] = on_monitor.metrics.balanced_accuracy;
    return run_directory_write_champion(&e->directory, e->champion, error);
}

static bool is_done(const experiment *e) {
    const stop_config *stop = &e->config->stop;
    if (e->result.generation_count >= stop->max_generations) return true;
    if (e->result.generation_count > 0 && stop->max_wall_seconds > 0.0 &&
        clock_seconds_since(e->start_ns) >= stop->max_wall_seconds)
        return true;
    return e->setup.stop_signal && atomic_load(e->setup.stop_signal) != 0;
}

// Seconds since *mark, which moves to now.
static double lap(uint64_t *mark) {
    const uint64_t now = clock_ns(), before = *mark;
    *mark = now;
    return (double)(now - before) * 1e-9;
}

static hox_status write_generation(experiment *e, const population *p, generation_record *record,
                                   uint64_t *mark, hox_error *error) {
    HOX_TRY(run_directory_write_genomes(&e->directory, record->generation, p, e->results, error));
    record->write_seconds = lap(mark);
    e->result.evaluate_seconds += record->evaluate_seconds;
    e->result.evolve_seconds += record->evolve_seconds;
    e->result.write_seconds += record->write_seconds;
    HOX_TRY(run_directory_write_metrics(&e->directory, record, error));
    e->result.generation_count++;
    const experiment_observer *observer = e->setup.observer;
    if (observer && observer->generation_done)
        observer->generation_done(observer->context, e, record);
    return HOX_OK;
}

static hox_status run_generation(experiment *e, hox_error *error) {
    const population *p;
    uint64_t mark = clock_ns();
    HOX_TRY(evolution_ask(e->evolution, &p, error));
    generation_record record = {.generation = evolution_generation(e->evolution),
                                .evolve_seconds = lap(&mark)};
    HOX_TRY(evaluate(e, p, error));
    count_up(e, p, &record);
    HOX_TRY(report_failures(e, p, &record, error));
    evolution_tell(e->evolution, e->fitness);
    HOX_TRY(score_champion(e, p, &record, error));
    record.evaluate_seconds = lap(&mark);
    return write_generation(e, p, &record, &mark, error);
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

// The test split is for runs that ended well; the others may go on.
static hox_status finish(experiment *e, bool ended_well, hox_error *error) {
    uint64_t mark = clock_ns();
    if (e->setup.stop_signal) e->result.stop_signal = atomic_load(e->setup.stop_signal);
    hox_status status = HOX_OK;
    if (e->champion && ended_well && e->result.stop_signal == 0) status = score_test(e, error);
    e->result.evaluate_seconds += lap(&mark);
    HOX_TRY(jsonl_sync(&e->directory.metrics, error));
    HOX_TRY(jsonl_sync(&e->directory.genomes, error));
    HOX_TRY(jsonl_sync(&e->directory.events, error));
    e->result.write_seconds += lap(&mark);
    e->result.total_seconds = clock_seconds_since(e->start_ns);
    HOX_TRY(run_directory_write_run(&e->directory, &e->session, &e->result, error));
    return status;
}

hox_status experiment_run(experiment *e, run_result *result, hox_error *error) {
    for (uint32_t part = 0; part < SPLIT_COUNT; part++)
        e->result.fitness[part] = e->result.balanced_accuracy[part] = NAN;
    e->result.brightness_test = NAN;
    const experiment_observer *observer = e->setup.observer;
    if (observer && observer->started) observer->started(observer->context, e);
    hox_status status = HOX_OK;
    while (status == HOX_OK && !is_done(e))
        status = run_generation(e, error);
    hox_error last = HOX_ERROR_INIT; // what ended the run is worth more than what comes after
    const hox_status finished = status == HOX_OK ? finish(e, true, error) : finish(e, false, &last);
    *result = e->result;
    return status == HOX_OK ? finished : status;
}

const char *experiment_folder(const experiment *e) {
    return e->directory.path;
}

const session *experiment_session(const experiment *e) {
    return &e->session;
}
