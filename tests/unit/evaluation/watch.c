// watch.c - see watch.h.
#include "watch.h"

watch watched;

static hox_status watch_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                             const void *options, hox_runtime **runtime, hox_error *error) {
    const hox_status status = watched.api->open(host, device, lane_count, options, runtime, error);
    watched.runtime = *runtime;
    return status;
}

static hox_status watch_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                                const hox_prepare_options *options, hox_runner **runner,
                                hox_error *error) {
    const hox_status status = watched.api->prepare(runtime, lane, plan, options, runner, error);
    if (watched.prepare_count < WATCH_PREPARES)
        watched.prepares[watched.prepare_count++] =
            (watched_prepare){plan->node_count, options->capacity, status};
    if (status == HOX_OK && watched.runner_count < WATCH_RUNNERS)
        watched.runners[watched.runner_count++] = (watched_runner){*runner, options->capacity};
    return status;
}

static watched_runner *find(const hox_runner *runner) {
    for (size_t i = 0; i < watched.runner_count; i++)
        if (watched.runners[i].runner == runner) return &watched.runners[i];
    return NULL;
}

static void watch_release(hox_runner *runner) {
    watched_runner *found = find(runner);
    if (found) *found = watched.runners[--watched.runner_count];
    watched.releases++;
    watched.api->release(runner);
}

static hox_status watch_evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                                 uint32_t job_count, hox_error *error) {
    for (uint32_t i = 0; i < job_count; i++) {
        const watched_runner *found = find(jobs[i]->runner);
        watched.jobs++;
        watched.oversized_jobs += !found || jobs[i]->count > found->capacity;
        if (watched.most_images < jobs[i]->count) watched.most_images = jobs[i]->count;
    }
    return watched.api->evaluate(runtime, lane, jobs, job_count, error);
}

static uint64_t watch_trim(hox_runtime *runtime, uint64_t bytes) {
    watched.trims++;
    return watched.api->trim(runtime, bytes);
}

const hox_plugin *watch_plugin(const hox_plugin *plugin) {
    static hox_plugin over;
    static hox_runtime_api api;
    watched = (watch){.api = plugin->runtime};
    api = *plugin->runtime;
    api.open = watch_open;
    api.prepare = watch_prepare;
    api.release = watch_release;
    api.evaluate = watch_evaluate;
    if (api.trim) api.trim = watch_trim;
    over = *plugin;
    over.runtime = &api;
    return &over;
}
