#include "progress.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void show_data(const terminal *t, const session *opened) {
    const splits *s = &opened->splits;
    const char *negative = s->negative_class < 0 ? NULL : s->info.class_names[s->negative_class];
    char counts[160] = "";
    for (uint32_t part = 0; part < SPLIT_COUNT; part++) {
        const size_t used = strlen(counts);
        snprintf(counts + used, sizeof counts - used, "%s%s %llu", part ? ", " : "",
                 split_names[part], (unsigned long long)s->parts[part].count);
    }
    log_line(&t->log, HOX_LOG_INFO, "dataset %s, %u x %u x %u, \"%s\" against %s: %s",
             opened->config->dataset.plugin->name, s->info.channels, s->info.height, s->info.width,
             s->info.class_names[s->positive_class], negative ? negative : "the rest", counts);
}

static void show_start(void *context, const experiment *e) {
    progress *p = context;
    const log_sink *log = &p->terminal->log;
    const session *opened = experiment_session(e);
    const hox_device_info *device = evaluation_device(opened->evaluation);
    log_line(log, HOX_LOG_INFO, "device %s (%s), runtime %s, %u lanes, seed %llu", device->address,
             device->name, opened->config->runtime.plugin->name,
             evaluation_lane_count(opened->evaluation),
             (unsigned long long)opened->config->head.seed);
    show_data(p->terminal, opened);
    log_line(log, HOX_LOG_INFO, "writing to %s", experiment_folder(e));
    p->start_ns = clock_ns();
}

static void show_generation(void *context, const experiment *e, const generation_record *r) {
    progress *p = context;
    const int64_t total = experiment_session(e)->config->stop.max_generations;
    const double one = clock_seconds_since(p->start_ns) / ++p->done_count;
    const double count = (double)(r->evaluated_count + r->failed_count);
    char line[200];
    snprintf(
        line, sizeof line,
        "generation %u (%u/%lld)  best %.4f  mean %.4f  monitor %.4f  %.1f genomes/s  %.0f s left",
        r->generation, r->generation + 1, (long long)total, r->best, r->mean, r->monitor,
        r->evaluate_seconds > 0.0 ? count / r->evaluate_seconds : NAN,
        one * (double)(total - r->generation - 1));
    const size_t used = strlen(line);
    if (r->refined_count > 0)
        snprintf(line + used, sizeof line - used, "  %zu refined", r->refined_count);
    terminal_progress(p->terminal, line);
}

experiment_observer progress_observer(progress *p) {
    return (experiment_observer){
        .started = show_start, .generation_done = show_generation, .context = p};
}
