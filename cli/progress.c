#include "progress.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

progress progress_start(void) {
    return (progress){.is_terminal = isatty(STDERR_FILENO), .start_ns = clock_ns()};
}

void progress_end(progress *p) {
    if (p->has_open_line) fputc('\n', stderr);
    p->has_open_line = false;
}

static void write_log(void *context, uint32_t level, const char *line) {
    progress *p = context;
    static const char *const levels[] = {"", "error: ", "warning: ", "", ""};
    if (p->is_terminal) fputs("\r\033[K", stderr);
    fprintf(stderr, "hox: %s%s\n", levels[level <= HOX_LOG_DEBUG ? level : HOX_LOG_DEBUG], line);
}

log_sink progress_log(progress *p) {
    return (log_sink){.level = HOX_LOG_INFO, .write = write_log, .context = p};
}

static void show_start(void *context, const experiment *e) {
    (void)context;
    const session *opened = experiment_session(e);
    const experiment_config *c = opened->config;
    const hox_device_info *device = evaluation_device(opened->evaluation);
    const splits *s = &opened->splits;
    fprintf(stderr, "hox: device %s (%s), runtime %s, %u lanes\n", device->address, device->name,
            c->runtime.plugin->name, evaluation_lane_count(opened->evaluation));
    fprintf(stderr,
            "hox: dataset %s, %u x %u x %u, \"%s\" against %s%s%s:", c->dataset.plugin->name,
            s->info.channels, s->info.height, s->info.width, s->info.class_names[s->positive_class],
            s->negative_class < 0 ? "the rest" : "\"",
            s->negative_class < 0 ? "" : s->info.class_names[s->negative_class],
            s->negative_class < 0 ? "" : "\"");
    for (uint32_t part = 0; part < SPLIT_COUNT; part++)
        fprintf(stderr, " %s %llu%s", split_names[part], (unsigned long long)s->parts[part].count,
                part + 1 < SPLIT_COUNT ? "," : "\n");
    fprintf(stderr, "hox: writing to %s\n", experiment_folder(e));
}

static void show_generation(void *context, const experiment *e, const generation_record *r) {
    progress *p = context;
    const experiment_config *c = experiment_session(e)->config;
    const double elapsed = clock_seconds_since(p->start_ns);
    const int64_t total = c->stop.max_generations;
    const double left = elapsed / (r->generation + 1) * (double)(total - r->generation - 1);
    const double rate = r->evaluate_seconds > 0.0
                            ? (double)(r->evaluated_count + r->failed_count) / r->evaluate_seconds
                            : NAN;
    fprintf(
        stderr,
        "%sgeneration %u/%lld  best %.4f  mean %.4f  monitor %.4f  %.1f genomes/s  %.0f s left%s",
        p->is_terminal ? "\r\033[K" : "", r->generation + 1, (long long)total, r->best, r->mean,
        r->monitor, rate, left, p->is_terminal ? "" : "\n");
    p->has_open_line = p->is_terminal;
}

experiment_observer progress_observer(progress *p) {
    return (experiment_observer){
        .started = show_start, .generation_done = show_generation, .context = p};
}
