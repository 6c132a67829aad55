// hungry.c - runtime "hungry": eager's numbers, and runners that take what the host expects where a
// runtime does not say: all maps of all their images. It makes memory run out on any machine.
#include "hungry.h"

#include "block_pool.h"

#include <dlfcn.h>
#include <hox/plugin.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MAX_GROUP = 16 };

struct hox_runtime {
    hungry_options options;
    hox_runtime *inner; // eager's
    block_pool pool;
    atomic_uint_fast64_t call_count;   // of evaluate and train_forward
    atomic_uint_fast64_t train_count;  // of train_forward
    atomic_uint_fast64_t memory_count; // of memory
};

struct hox_runner {
    hox_runtime *runtime;
    hox_runner *inner;
    block *block; // room for the maps
};

// Eager, which does the work. ------------------------------------------------------------------

static const char eager_path[] = HOX_PLUGIN_DIR "/runtime_eager.so";
static const hox_runtime_api *eager;

static void load_eager(void) {
    void *library = dlopen(eager_path, RTLD_NOW | RTLD_LOCAL);
    const hox_plugin *plugin = library ? dlsym(library, HOX_PLUGIN_SYMBOL) : NULL;
    if (plugin) eager = plugin->runtime;
}

static hox_status need_eager(hox_error *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_eager);
    if (eager) return HOX_OK;
    return hox_error_set(error, HOX_NOT_FOUND, "hungry needs %s", eager_path);
}

// The CPU alone, eager's first: its memory is the ledger's.
static hox_status hungry_device_count(const hox_host *host, uint32_t *count, hox_error *error) {
    (void)host;
    *count = 0;
    HOX_TRY(need_eager(error));
    *count = 1;
    return HOX_OK;
}

static hox_status hungry_device_info(const hox_host *host, uint32_t device, hox_device_info *info,
                                     hox_error *error) {
    HOX_TRY(need_eager(error));
    return eager->device_info(host, device, info, error);
}

// Life -----------------------------------------------------------------------------------------

static void hungry_close(hox_runtime *runtime) {
    if (!runtime) return;
    eager->close(runtime->inner);
    block_pool_deinit(&runtime->pool);
    free(runtime);
}

static hox_status hungry_open(const hox_host *host, uint32_t device, uint32_t lane_count,
                              const void *options, hox_runtime **runtime, hox_error *error) {
    *runtime = NULL;
    HOX_TRY(need_eager(error));
    hox_runtime *made = calloc(1, sizeof *made);
    if (!made) return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "no memory for the runtime");
    made->options = *(const hungry_options *)options;
    block_pool_init(&made->pool, host, made->options.pool);
    const hox_status status = eager->open(host, device, lane_count, NULL, &made->inner, error);
    if (status == HOX_OK)
        *runtime = made;
    else
        hungry_close(made);
    return status;
}

static void hungry_caps(const hox_runtime *runtime, hox_runtime_caps *caps) {
    eager->caps(runtime->inner, caps);
    caps->batch_multiple = (uint32_t)runtime->options.multiple;
    caps->max_group = (uint32_t)runtime->options.group;
}

static hox_status hungry_check_plan(const hox_runtime *runtime, const hox_plan *plan,
                                    uint32_t precision, hox_error *error) {
    return eager->check_plan(runtime->inner, plan, precision, error);
}

// Samples are eager's own. ---------------------------------------------------------------------

static hox_status hungry_samples_create(hox_runtime *runtime, uint64_t count, uint32_t channels,
                                        uint32_t height, uint32_t width, hox_samples **samples,
                                        hox_error *error) {
    return eager->samples_create(runtime->inner, count, channels, height, width, samples, error);
}

static hox_status hungry_samples_write(hox_samples *samples, uint64_t first, uint64_t count,
                                       const float *images, hox_error *error) {
    return eager->samples_write(samples, first, count, images, error);
}

static void hungry_samples_destroy(hox_samples *samples) {
    eager->samples_destroy(samples);
}

// Runners --------------------------------------------------------------------------------------

static void hungry_release(hox_runner *runner) {
    if (!runner) return;
    eager->release(runner->inner);
    block_pool_return(&runner->runtime->pool, runner->block);
    free(runner);
}

static hox_status hungry_prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                                 const hox_prepare_options *options, hox_runner **runner,
                                 hox_error *error) {
    *runner = NULL;
    const uint64_t bytes = options->capacity * plan->bytes_per_sample;
    hox_runner *made = calloc(1, sizeof *made);
    if (!made) return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "no memory for a runner");
    made->runtime = runtime;
    hox_status status = block_pool_take(&runtime->pool, bytes, &made->block, error);
    if (status == HOX_OK)
        status = eager->prepare(runtime->inner, lane, plan, options, &made->inner, error);
    if (status == HOX_OK)
        *runner = made;
    else
        hungry_release(made);
    return status;
}

static hox_status count_call(hox_runtime *runtime, hox_error *error) {
    const uint64_t call = atomic_fetch_add(&runtime->call_count, 1) + 1;
    if (runtime->options.lose_at == 0 || call < (uint64_t)runtime->options.lose_at) return HOX_OK;
    return hox_error_set(error, HOX_DEVICE_LOST, "call %lld took the device with it",
                         (long long)runtime->options.lose_at);
}

static hox_status hungry_evaluate(hox_runtime *runtime, uint32_t lane, hox_job *const *jobs,
                                  uint32_t job_count, hox_error *error) {
    hox_job own[MAX_GROUP], *calls[MAX_GROUP] = {NULL};
    HOX_TRY(count_call(runtime, error));
    if (job_count > (uint64_t)runtime->options.group)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "%u jobs, hungry takes %lld", job_count,
                             (long long)runtime->options.group);
    for (uint32_t i = 0; i < job_count; i++) {
        own[i] = *jobs[i];
        own[i].runner = jobs[i]->runner->inner;
        calls[i] = &own[i];
    }
    const hox_status status = eager->evaluate(runtime->inner, lane, calls, job_count, error);
    for (uint32_t i = 0; i < job_count; i++)
        jobs[i]->status = own[i].status;
    return status;
}

// Training -------------------------------------------------------------------------------------

static hox_status hungry_train_forward(hox_runner *runner, const hox_weights *weights,
                                       const hox_samples *samples, const uint64_t *indices,
                                       uint64_t count, float *logits, hox_error *error) {
    hox_runtime *runtime = runner->runtime;
    HOX_TRY(count_call(runtime, error));
    if ((int64_t)atomic_fetch_add(&runtime->train_count, 1) + 1 == runtime->options.short_at)
        return hox_error_set(error, HOX_OUT_OF_DEVICE_MEMORY, "call %lld finds no memory",
                             (long long)runtime->options.short_at);
    return eager->train_forward(runner->inner, weights, samples, indices, count, logits, error);
}

static hox_status hungry_train_backward(hox_runner *runner, const float *dlogits, float *gradient,
                                        hox_error *error) {
    return eager->train_backward(runner->inner, dlogits, gradient, error);
}

// Memory ---------------------------------------------------------------------------------------

// The rest the host asks the system itself.
static hox_status hungry_memory(const hox_runtime *runtime, hox_memory *memory, hox_error *error) {
    hox_runtime *counting = (hox_runtime *)runtime;
    block_pool *pool = &counting->pool; // not const, for its mutex
    const int64_t bad = runtime->options.lose_memory_at;
    const uint64_t call = atomic_fetch_add(&counting->memory_count, 1) + 1;
    if (bad > 0 && call >= (uint64_t)bad)
        return hox_error_set(error, HOX_DEVICE_LOST, "question %lld took the device with it",
                             (long long)bad);
    *memory = (hox_memory){.struct_size = sizeof *memory, .cached_bytes = block_pool_bytes(pool)};
    return HOX_OK;
}

static uint64_t hungry_trim(hox_runtime *runtime, uint64_t bytes) {
    return block_pool_trim(&runtime->pool, bytes);
}

static const hox_field fields[] = {
    HOX_INT(hungry_options, group, 1, 1, MAX_GROUP, "jobs in one evaluate"),
    HOX_INT(hungry_options, multiple, 1, 1, 1000000, "images a chunk is cut at"),
    HOX_INT(hungry_options, lose_at, 0, 0, INT64_MAX,
            "the call of evaluate or train_forward that loses the device; 0 = none"),
    HOX_INT(hungry_options, lose_memory_at, 0, 0, INT64_MAX,
            "the call of memory that loses the device; 0 = none"),
    HOX_INT(hungry_options, short_at, 0, 0, INT64_MAX,
            "the call of train_forward that finds no memory; 0 = none"),
    HOX_BOOL(hungry_options, pool, 0, "keep released blocks until trimmed"),
};

static const hox_runtime_api api = {
    .struct_size = sizeof api,
    .device_count = hungry_device_count,
    .device_info = hungry_device_info,
    .open = hungry_open,
    .close = hungry_close,
    .caps = hungry_caps,
    .check_plan = hungry_check_plan,
    .samples_create = hungry_samples_create,
    .samples_write = hungry_samples_write,
    .samples_destroy = hungry_samples_destroy,
    .prepare = hungry_prepare,
    .release = hungry_release,
    .evaluate = hungry_evaluate,
    .memory = hungry_memory,
    .trim = hungry_trim,
    .train_forward = hungry_train_forward,
    .train_backward = hungry_train_backward,
};

HOX_RUNTIME_PLUGIN(&api, .name = "hungry", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "eager with runners as large as their images' maps; for tests",
                   HOX_OPTIONS(hungry_options, fields));
