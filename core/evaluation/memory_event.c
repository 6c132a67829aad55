#include "evaluation/memory_event.h"

#include <inttypes.h>
#include <stdio.h>

const char *const memory_why_names[MEMORY_WHY_COUNT] = {
    [VRAM_KEPT] = "kept",
    [VRAM_FORMULA] = "formula",
    [VRAM_THRESHOLD] = "threshold",
    [VRAM_RECOVERED] = "recovered",
    [VRAM_RETRY] = "oom_retry",
    [VRAM_SHRUNK] = "oom_shrunk",
    [VRAM_SET_ASIDE] = "oom_aside",
    [MEMORY_ALONE] = "alone",
    [MEMORY_STREAMED] = "streamed",
    [MEMORY_TRAINING] = "training",
    [MEMORY_GENERATION] = "generation",
};

typedef struct size_text {
    char text[24];
} size_text;

static size_text size_of(uint64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 1024.0 && unit + 1 < sizeof units / sizeof *units; unit++)
        size /= 1024.0;
    size_text t;
    snprintf(t.text, sizeof t.text, "%.*f %s", unit > 0, size, units[unit]);
    return t;
}

static void describe_genome(const memory_event *e, char *text, size_t size) {
    char bytes[80] = "more, it is not said how much";
    if (e->bytes_needed > 0)
        snprintf(bytes, sizeof bytes, "%s, %s are left", size_of(e->bytes_needed).text,
                 size_of(e->bytes_left).text);
    snprintf(text, size, "genome %" PRIu64 " on lane %u with %" PRIu64 " images at once needs %s",
             e->genome_id, e->lane, e->tried, bytes);
}

static void describe_generation(const memory_event *e, char *text, size_t size) {
    snprintf(text, size,
             "runners: %" PRIu64 " hits, %" PRIu64 " prepared, %" PRIu64 " released, %" PRIu64
             " kept (%s); at most %s so far",
             e->runners.hits, e->runners.prepares, e->runners.evictions, e->runner_count,
             size_of(e->runners.bytes).text, size_of(e->peak_bytes).text);
}

void memory_event_describe(const memory_event *e, char *text, size_t size) {
    char more[200] = "";
    if (e->why == MEMORY_STREAMED) {
        snprintf(text, size, "memory: the images need %s and %s are free: they come in chunks",
                 size_of(e->bytes_needed).text, size_of(e->reading.free).text);
        return;
    }
    if (e->tried > 0) describe_genome(e, more, sizeof more);
    if (e->why == MEMORY_GENERATION) describe_generation(e, more, sizeof more);
    if (e->why == VRAM_RECOVERED)
        snprintf(more, sizeof more, "it may rise to %" PRIu64 " again", e->ceiling);
    snprintf(text, size, "memory, %s: batch %" PRIu64 " -> %" PRIu64 "; %s, %s free, %s used%s%s",
             memory_why_names[e->why], e->batch_before, e->batch_after,
             size_of(e->reading.total).text, size_of(e->reading.free).text,
             size_of(e->reading.used).text, *more ? "; " : "", more);
}
