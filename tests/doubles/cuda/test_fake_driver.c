// test_fake_driver.c - a small client of the fake driver, and what becomes of those that break a
// rule.
#include "cuda/kernels.h"
#include "fake_cuda.h"

#include <criterion/criterion.h>
#include <cuda.h>
#include <dlfcn.h>
#include <hox/plan.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VALUES = 256, BYTES = VALUES * sizeof(float), BIG = 1 << 20 };

static const uint32_t image[] = {0xBA55ED50, 0};

// ---- a client ----

typedef struct client {
    CUcontext context;
    CUmodule module;
    CUfunction activate;
    CUstream stream;
    CUdeviceptr values;
    float *pinned;
} client;

static CUresult client_open(client *c) {
    *c = (client){0};
    CUresult result = cuInit(0);
    if (!result) result = cuDevicePrimaryCtxRetain(&c->context, 0);
    if (!result) result = cuCtxPushCurrent(c->context);
    if (!result) result = cuModuleLoadData(&c->module, image);
    if (!result) result = cuModuleGetFunction(&c->activate, c->module, "activate");
    if (!result) result = cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING);
    if (!result) result = cuMemAlloc(&c->values, BYTES);
    if (!result) result = cuMemHostAlloc((void **)&c->pinned, BYTES, 0);
    for (int i = 0; !result && i < VALUES; i++)
        c->pinned[i] = (float)i / VALUES;
    return result;
}

// A call that fails is made once more.
static void client_close(client *c) {
    CUcontext left;
    if (c->pinned && cuMemFreeHost(c->pinned)) (void)cuMemFreeHost(c->pinned);
    if (c->values && cuMemFree(c->values)) (void)cuMemFree(c->values);
    if (c->stream && cuStreamDestroy(c->stream)) (void)cuStreamDestroy(c->stream);
    if (c->module && cuModuleUnload(c->module)) (void)cuModuleUnload(c->module);
    if (fake_cuda_context_depth() && cuCtxPopCurrent(&left)) (void)cuCtxPopCurrent(&left);
    if (c->context && cuDevicePrimaryCtxRelease(0)) (void)cuDevicePrimaryCtxRelease(0);
}

static client open_client(void) {
    client c;
    cr_assert_eq(client_open(&c), CUDA_SUCCESS);
    return c;
}

static CUresult launch_shape(const client *c, unsigned grid, unsigned threads, unsigned shared) {
    cuda_activation a = {.map = (float *)c->values, // NOLINT: an address of the device
                         .value_count = VALUES,
                         .kind = HOX_ACTIVATION_SIGMOID};
    void *arguments[] = {&a};
    const CUresult result =
        cuLaunchKernel(c->activate, grid, 1, 1, threads, 1, 1, shared, c->stream, arguments, NULL);
    memset(&a, 0xFF, sizeof a); // they were copied
    return result;
}

static CUresult launch(const client *c) {
    return launch_shape(c, VALUES / CUDA_THREADS, CUDA_THREADS, 0);
}

static CUresult upload(const client *c) {
    return cuMemcpyHtoDAsync(c->values, c->pinned, BYTES, c->stream);
}

static CUresult download(const client *c) {
    return cuMemcpyDtoHAsync(c->pinned, c->values, BYTES, c->stream);
}

static float sigmoid(float x) {
    return 1 / (1 + expf(-x));
}

static void expect_values(const float *values, float scale) {
    for (int i = 0; i < VALUES; i++)
        cr_expect_float_eq(values[i], sigmoid(scale * (float)i / VALUES), 1e-6, "value %d", i);
}

static void expect_nothing_left(void) {
    const fake_cuda_counts n = fake_cuda_count();
    cr_expect_eq(n.device_blocks + n.device_bytes + n.pinned_blocks + n.contexts + n.streams +
                     n.events + n.modules + n.graphs,
                 0);
    cr_expect_eq(fake_cuda_context_depth(), 0);
}

// The tests' surroundings may hide the real devices.
static void show_devices(void) {
    unsetenv("CUDA_VISIBLE_DEVICES");
}

TestSuite(fake_driver, .init = show_devices);

Test(fake_driver, runs_a_client) {
    client c = open_client();
    cr_expect_eq(upload(&c) || launch(&c) || download(&c), 0);
    cr_expect_eq(cuStreamSynchronize(c.stream), 0);
    expect_values(c.pinned, 1);
    const fake_cuda_counts n = fake_cuda_count();
    cr_expect_eq(n.launches, 1);
    cr_expect_eq(n.largest_grid, 2);
    cr_expect_eq(n.device_blocks, 1);
    cr_expect_eq(n.device_bytes, BYTES);
    cr_expect_eq(n.pinned_blocks, 1);
    cr_expect_eq(n.contexts, 1);
    cr_expect_eq(n.streams, 1);
    cr_expect_eq(n.modules, 1);
    cr_expect_eq(n.divergences, 0);
    client_close(&c);
    expect_nothing_left();
    cr_expect_eq(fake_cuda_count().peak_device_bytes, BYTES);
}

Test(fake_driver, is_the_one_that_is_opened_by_name) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(library);
    uint64_t (*found)(void);
    *(void **)&found = dlsym(library, "fake_cuda_count");
    cr_expect(found == (uint64_t(*)(void))(void (*)(void))fake_cuda_count);
    cr_expect_eq(dlclose(library), 0);
}

// ---- time ----

Test(fake_driver, a_missing_wait_shows) {
    client c = open_client();
    CUdeviceptr other;
    cr_expect_eq(cuMemAlloc(&other, BYTES), 0);
    cr_expect_eq(cuMemcpyDtoHAsync(c.pinned, other, BYTES, c.stream), 0);
    cr_expect_eq(c.pinned[3], 3.0F / VALUES);
    cr_expect_eq(cuStreamSynchronize(c.stream), 0);
    cr_expect(isnan(c.pinned[3])); // new memory holds nothing
    cr_expect_eq(cuMemFree(other), 0);
    client_close(&c);
}

Test(fake_driver, copies_from_page_locked_memory_when_it_works) {
    client c = open_client();
    cr_expect_eq(upload(&c), 0);
    for (int i = 0; i < VALUES; i++)
        c.pinned[i] *= 2;
    cr_expect_eq(launch(&c) || download(&c) || cuStreamSynchronize(c.stream), 0);
    expect_values(c.pinned, 2);
    client_close(&c);
}

Test(fake_driver, copies_ordinary_memory_before_it_returns) {
    client c = open_client();
    float ordinary[VALUES];
    memcpy(ordinary, c.pinned, BYTES);
    cr_expect_eq(cuMemcpyHtoDAsync(c.values, ordinary, BYTES, c.stream), 0);
    memset(ordinary, 0, BYTES);
    cr_expect_eq(launch(&c), 0);
    cr_expect_eq(cuMemcpyDtoHAsync(ordinary, c.values, BYTES, c.stream), 0);
    expect_values(ordinary, 1);
    client_close(&c);
}

Test(fake_driver, frees_after_pending_work) {
    client c = open_client();
    CUdeviceptr other;
    cr_expect_eq(cuMemAlloc(&other, BYTES), 0);
    cr_expect_eq(cuMemcpyHtoDAsync(other, c.pinned, BYTES, c.stream), 0);
    cr_expect_eq(cuMemcpyDtoDAsync(c.values, other, BYTES, c.stream), 0);
    cr_expect_eq(cuMemFree(other), 0);
    cr_expect_eq(launch(&c) || download(&c) || cuStreamSynchronize(c.stream), 0);
    expect_values(c.pinned, 1);
    cr_expect_eq(cuMemFree(other), CUDA_ERROR_INVALID_VALUE);
    client_close(&c);
}

Test(fake_driver, streams_wait_for_events) {
    client c = open_client();
    CUstream second;
    CUevent event;
    cr_expect_eq(cuStreamCreate(&second, 0) || cuEventCreate(&event, 0), 0);
    cr_expect_eq(cuMemsetD32Async(c.values, 0, VALUES, c.stream), 0);
    cr_expect_eq(cuEventRecord(event, c.stream), 0);
    cr_expect_eq(cuMemsetD32Async(c.values, 0x3F800000, VALUES, c.stream), 0); // 1
    cr_expect_eq(cuStreamWaitEvent(second, event, 0), 0);
    cr_expect_eq(cuMemcpyDtoHAsync(c.pinned, c.values, BYTES, second), 0);
    cr_expect_eq(cuStreamSynchronize(second), 0);
    cr_expect_eq(c.pinned[7], 0);
    cr_expect_eq(download(&c) || cuEventRecord(event, c.stream) || cuEventSynchronize(event), 0);
    cr_expect_eq(c.pinned[7], 1);
    cr_expect_eq(cuEventDestroy(event) || cuStreamDestroy(second), 0);
    client_close(&c);
    expect_nothing_left();
}

// A kernel with a barrier, again and again on a stream of its own.
static void *lay_out(void *context) {
    enum { TIMES = 50 };
    CUcontext left;
    CUmodule module;
    CUfunction function;
    CUstream stream;
    CUdeviceptr images, map;
    float values[VALUES], got[VALUES];
    cr_assert_eq(cuCtxPushCurrent(context) || cuModuleLoadData(&module, image), 0);
    cr_assert_eq(cuModuleGetFunction(&function, module, "lay_out_images"), 0);
    cr_assert_eq(cuStreamCreate(&stream, 0) || cuMemAlloc(&images, BYTES), 0);
    cr_assert_eq(cuMemAlloc(&map, BYTES), 0);
    for (int i = 0; i < VALUES; i++)
        values[i] = (float)i;
    for (int i = 0; i < TIMES; i++) {
        cuda_layout l = {.images = (float *)images, // NOLINT: an address of the device
                         .map = (float *)map,       // NOLINT
                         .count = CUDA_IMAGES,
                         .pixels = VALUES / CUDA_IMAGES,
                         .side_by_side = CUDA_IMAGES};
        void *arguments[] = {&l};
        cr_expect_eq(cuMemcpyHtoDAsync(images, values, BYTES, stream), 0);
        cr_expect_eq(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, stream, arguments, NULL), 0);
        cr_expect_eq(cuMemcpyDtoHAsync(got, map, BYTES, stream), 0);
        for (int k = 0; k < VALUES; k++)
            cr_expect_eq(got[k],
                         (float)(k % CUDA_IMAGES * (VALUES / CUDA_IMAGES) + k / CUDA_IMAGES));
    }
    cr_expect_eq(cuMemFree(images) || cuMemFree(map) || cuStreamDestroy(stream), 0);
    cr_expect_eq(cuModuleUnload(module) || cuCtxPopCurrent(&left), 0);
    return NULL;
}

Test(fake_driver, serves_threads_at_the_same_time) {
    client c = open_client();
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, lay_out, c.context), 0);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    client_close(&c);
    expect_nothing_left();
}

// ---- memory ----

Test(fake_driver, holds_memory_to_a_budget) {
    client c = open_client();
    CUdeviceptr small, large;
    size_t left, total;
    fake_cuda_set_memory(BIG);
    cr_expect_eq(cuMemAlloc(&small, 1) || cuMemGetInfo(&left, &total), 0);
    cr_expect_eq(total, BIG);
    cr_expect_eq(left, BIG - BYTES - 512);
    cr_expect_eq(cuMemAlloc(&large, left + 1), CUDA_ERROR_OUT_OF_MEMORY);
    cr_expect_eq(cuMemAlloc(&large, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
    cr_expect_eq(cuMemAlloc(&large, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemAlloc(&large, left), 0); // an error that passes
    cr_expect_eq(cuMemFree(small) || cuMemFree(large), 0);
    cr_expect_eq(fake_cuda_count().peak_device_bytes, BIG);
    client_close(&c);
}

Test(fake_driver, checks_what_is_copied) {
    client c = open_client();
    cr_expect_eq(cuMemcpyHtoDAsync(c.values + 4, c.pinned, BYTES, c.stream),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemcpyDtoHAsync(c.pinned, c.values - 1, 1, c.stream), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemcpyDtoHAsync(c.pinned, c.values, 4, NULL), CUDA_ERROR_INVALID_HANDLE);
    client_close(&c);
}

#ifdef __SANITIZE_ADDRESS__
void __sanitizer_set_report_fd(void *fd);

// In a child, whose report comes here and not into the log.
static void expect_closed(const client *c) {
    static char report[1 << 16];
    int ends[2], status;
    cr_assert_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        __sanitizer_set_report_fd((void *)(intptr_t)ends[1]);
        _exit(*(volatile float *)c->values > 0); // NOLINT: this is the mistake
    }
    close(ends[1]);
    FILE *reports = fdopen(ends[0], "r");
    cr_assert_not_null(reports);
    report[fread(report, 1, sizeof report - 1, reports)] = '\0';
    fclose(reports);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_neq(status, 0);
    cr_expect_not_null(strstr(report, "use-after-poison"), "%s", report);
}

Test(fake_driver, the_host_must_not_read_device_memory) {
    client c = open_client();
    expect_closed(&c);
    cr_expect_eq(upload(&c) || launch(&c) || cuStreamSynchronize(c.stream), 0);
    expect_closed(&c);
    client_close(&c);
}
#endif

// ---- captures ----

static CUgraph spoil_and_end(const client *c, CUresult got, CUresult wanted) {
    CUgraph graph = (CUgraph)c->stream; // anything but NULL
    CUstreamCaptureStatus status;
    cr_expect_eq(got, wanted);
    cr_expect_eq(launch(c), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    cr_expect_eq(cuStreamIsCapturing(c->stream, &status), 0);
    cr_expect_eq(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    cr_expect_eq(cuStreamEndCapture(c->stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    return graph;
}

static void begin(const client *c) {
    cr_assert_eq(cuStreamBeginCapture(c->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), 0);
}

Test(fake_driver, a_forbidden_call_spoils_a_capture) {
    client c = open_client();
    CUdeviceptr more;
    void *pinned;
    char ordinary[4];
    const CUresult unsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    begin(&c);
    cr_expect_null(spoil_and_end(&c, cuMemAlloc(&more, 4), unsupported));
    begin(&c);
    cr_expect_null(spoil_and_end(&c, cuMemFree(c.values), unsupported));
    begin(&c);
    cr_expect_null(spoil_and_end(&c, cuMemHostAlloc(&pinned, 4, 0), unsupported));
    begin(&c);
    cr_expect_null(spoil_and_end(&c, cuStreamSynchronize(c.stream), unsupported));
    begin(&c);
    cr_expect_null(
        spoil_and_end(&c, cuMemcpyDtoHAsync(ordinary, c.values, 4, c.stream), unsupported));
    begin(&c);
    cr_expect_eq(cuStreamBeginCapture(c.stream, 0), CUDA_ERROR_ILLEGAL_STATE);
    cr_expect_null(spoil_and_end(&c, cuStreamDestroy(c.stream), unsupported));
    client_close(&c);
    expect_nothing_left();
}

static void *allocate_elsewhere(void *context) {
    CUdeviceptr more;
    CUcontext left;
    cr_expect_eq(fake_cuda_context_depth(), 0);
    cr_expect_eq(cuMemAlloc(&more, 4), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuCtxPushCurrent(context), 0);
    cr_expect_eq(cuMemAlloc(&more, 4) || cuMemFree(more) || cuCtxPopCurrent(&left), 0);
    return NULL;
}

Test(fake_driver, another_thread_does_not_disturb_a_capture) {
    client c = open_client();
    pthread_t thread;
    CUgraph graph;
    begin(&c);
    cr_assert_eq(pthread_create(&thread, NULL, allocate_elsewhere, c.context), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_expect_eq(cuStreamEndCapture(c.stream, &graph), 0);
    cr_expect_eq(cuStreamEndCapture(c.stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    client_close(&c);
}

static CUgraphExec capture(const client *c) {
    CUgraph graph;
    CUgraphExec ready;
    begin(c);
    cr_expect_eq(upload(c) || launch(c) || download(c), 0);
    cr_assert_eq(cuStreamEndCapture(c->stream, &graph), 0);
    cr_assert_eq(cuGraphInstantiateWithFlags(&ready, graph, 0), 0);
    cr_expect_eq(cuGraphDestroy(graph), 0);
    return ready;
}

Test(fake_driver, a_replay_freezes_arguments_and_not_contents) {
    client c = open_client();
    CUgraphExec ready = capture(&c);
    cr_expect_eq(cuStreamSynchronize(c.stream), 0);
    cr_expect_eq(fake_cuda_count().launches, 0);
    for (int scale = 1; scale <= 3; scale++) {
        for (int i = 0; i < VALUES; i++)
            c.pinned[i] = (float)(scale * i) / VALUES;
        cr_expect_eq(cuGraphLaunch(ready, c.stream) || cuStreamSynchronize(c.stream), 0);
        expect_values(c.pinned, (float)scale);
    }
    cr_expect_eq(fake_cuda_count().launches, 3);
    cr_expect_eq(cuGraphExecDestroy(ready), 0);
    client_close(&c);
    expect_nothing_left();
}

Test(fake_driver, a_replay_over_freed_memory_loses_the_device) {
    client c = open_client();
    CUgraphExec ready = capture(&c);
    cr_expect_eq(cuMemFree(c.values) || cuGraphLaunch(ready, c.stream), 0);
    cr_expect_eq(cuStreamSynchronize(c.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_expect_eq(cuStreamSynchronize(c.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    client_close(&c);
}

// ---- failures ----

Test(fake_driver, a_lost_device_stays_lost) {
    client c = open_client();
    size_t left;
    int version;
    cr_expect_eq(upload(&c), 0);
    fake_cuda_fail_call(2, CUDA_ERROR_LAUNCH_FAILED);
    cr_expect_eq(launch(&c), 0);
    cr_expect_eq(download(&c), CUDA_ERROR_LAUNCH_FAILED);
    cr_expect_eq(cuMemGetInfo(&left, &left), CUDA_ERROR_LAUNCH_FAILED);
    cr_expect_eq(cuDriverGetVersion(&version), CUDA_ERROR_LAUNCH_FAILED);
    cr_expect_eq(fake_cuda_count().device_blocks, 0);
    c.pinned[0] = 1; // still there
    client_close(&c);
    expect_nothing_left();
    fake_cuda_reset();
    c = open_client();
    cr_expect_eq(cuMemGetInfo(&left, &left), 0);
    fake_cuda_reset();
    expect_nothing_left();
}

static CUresult run_client(client *c) {
    CUresult result = client_open(c);
    if (!result) result = upload(c);
    if (!result) result = launch(c);
    if (!result) result = download(c);
    if (!result) result = cuStreamSynchronize(c->stream);
    client_close(c);
    return result;
}

Test(fake_driver, any_call_can_fail) {
    static const int codes[] = {2, 999, 700};
    client c;
    cr_assert_eq(run_client(&c), 0);
    const uint64_t count = fake_cuda_count().calls;
    cr_expect_str_eq(fake_cuda_call_name(1), "cuInit");
    cr_expect_str_eq(fake_cuda_call_name(count), "cuDevicePrimaryCtxRelease_v2");
    cr_expect_str_eq(fake_cuda_call_name(count + 1), "");
    for (uint64_t i = 0; i < 3 * count; i++) {
        fake_cuda_reset();
        fake_cuda_fail_call(i / 3 + 1, codes[i % 3]);
        const CUresult result = run_client(&c);
        if (i / 3 < count - 6) // the others give back
            cr_expect_eq((int)result, codes[i % 3], "%s", fake_cuda_call_name(i / 3 + 1));
        expect_nothing_left();
    }
}

// ---- devices ----

static int count_devices(const char *number, const char *visible) {
    int count = -1;
    if (number) setenv("HOX_FAKE_CUDA_DEVICES", number, 1);
    if (visible) setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    fake_cuda_reset();
    const CUresult result = cuInit(0);
    if (result == CUDA_ERROR_NO_DEVICE)
        cr_expect_eq(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    else
        cr_expect_eq(result || cuDeviceGetCount(&count), 0);
    return count;
}

Test(fake_driver, shows_the_devices_that_are_wanted) {
    char name[32] = "", bus[16] = "";
    unsetenv("CUDA_VISIBLE_DEVICES");
    cr_expect_eq(count_devices("0", NULL), -1);
    cr_expect_eq(count_devices("4", NULL), 4);
    cr_expect_eq(count_devices("4", ""), -1);
    cr_expect_eq(count_devices("4", "-1"), -1);
    cr_expect_eq(count_devices("4", "0,9,1"), 1);
    cr_expect_eq(count_devices("4", "3,1"), 2);
    cr_expect_eq(cuDeviceGetName(name, sizeof name, 0), 0);
    cr_expect_eq(cuDeviceGetPCIBusId(bus, sizeof bus, 1), 0);
    cr_expect_str_eq(name, "Fake GPU 3");
    cr_expect_str_eq(bus, "0000:01:00.0");
    cr_expect_eq(cuDeviceGetName(name, sizeof name, 2), CUDA_ERROR_INVALID_DEVICE);
}

Test(fake_driver, is_as_old_as_the_environment_says) {
    int version, major, minor;
    size_t total;
    setenv("HOX_FAKE_CUDA_DRIVER_VERSION", "11040", 1);
    setenv("HOX_FAKE_CUDA_MAJOR", "6", 1);
    setenv("HOX_FAKE_CUDA_MINOR", "1", 1);
    setenv("HOX_FAKE_CUDA_MEMORY", "12345678901", 1);
    fake_cuda_reset();
    cr_expect_eq(cuDriverGetVersion(&version) || cuInit(0) || cuDeviceTotalMem(&total, 0), 0);
    cr_expect_eq(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), 0);
    cr_expect_eq(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0), 0);
    cr_expect_eq(version, 11040);
    cr_expect_eq(major * 10 + minor, 61);
    cr_expect_eq(total, 12345678901);
}

Test(fake_driver, names_errors) {
    const char *name = NULL;
    cr_expect_eq(cuGetErrorName(CUDA_ERROR_LAUNCH_FAILED, &name), 0);
    cr_expect_str_eq(name, "CUDA_ERROR_LAUNCH_FAILED");
    cr_expect_eq(cuGetErrorName((CUresult)12345, &name), CUDA_ERROR_INVALID_VALUE);
    cr_expect_null(name);
}

// ---- contexts ----

Test(fake_driver, needs_a_current_context) {
    client c = open_client();
    CUcontext context;
    cr_expect_eq(fake_cuda_context_depth(), 1);
    cr_expect_eq(cuCtxPushCurrent(c.context), 0);
    cr_expect_eq(fake_cuda_context_depth(), 2);
    cr_expect_eq(cuCtxPopCurrent(&context) || cuCtxPopCurrent(&context), 0);
    cr_expect_eq(context, c.context);
    cr_expect_eq(cuCtxPopCurrent(&context), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuCtxGetCurrent(&context), 0);
    cr_expect_null(context);
    cr_expect_eq(upload(&c), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(launch(&c), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuMemFree(c.values), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuStreamSynchronize(c.stream), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuCtxSetCurrent(c.context), 0);
    cr_expect_eq(launch(&c), 0);
    cr_expect_eq(cuDevicePrimaryCtxRelease(0), 0);
    cr_expect_eq(launch(&c), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

Test(fake_driver, keeps_devices_apart) {
    CUcontext second;
    CUdeviceptr block;
    size_t left, total;
    setenv("HOX_FAKE_CUDA_DEVICES", "2", 1);
    fake_cuda_reset();
    client c = open_client();
    cr_expect_eq(cuDevicePrimaryCtxRetain(&second, 1) || cuCtxPushCurrent(second), 0);
    cr_expect_eq(launch(&c), CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(upload(&c), CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(cuMemGetInfo(&left, &total) || cuMemAlloc(&block, 512), 0);
    cr_expect_eq(left, total);
    cr_expect_eq(cuMemFree(block) || cuCtxPopCurrent(&second) || cuDevicePrimaryCtxRelease(1), 0);
    client_close(&c);
    expect_nothing_left();
}

// ---- launches ----

Test(fake_driver, holds_launches_to_the_limits) {
    client c = open_client();
    cuda_activation a = {0};
    size_t bytes = sizeof a + 4;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &a, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CUfunction other;
    cr_expect_eq(launch_shape(&c, 0, 32, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(launch_shape(&c, 0x80000000, 32, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(launch_shape(&c, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(launch_shape(&c, 1, 1025, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(launch_shape(&c, 1, 32, 49153), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuLaunchKernel(c.activate, 1, 65536, 1, 32, 1, 1, 0, c.stream, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuLaunchKernel(c.activate, 1, 1, 1, 32, 1, 1, 0, c.stream, NULL, extra),
                 CUDA_ERROR_INVALID_VALUE);
    bytes = sizeof a;
    cr_expect_eq(cuLaunchKernel(c.activate, 1, 1, 1, 32, 1, 1, 0, c.stream, NULL, extra), 0);
    cr_expect_eq(cuLaunchKernel((CUfunction)&c, 1, 1, 1, 32, 1, 1, 0, c.stream, NULL, extra),
                 CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(cuModuleGetFunction(&other, c.module, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
    client_close(&c);
}

// More shared memory than 48 KiB is for kernels that were allowed it, and there is an end to it.
Test(fake_driver, allows_shared_memory) {
    client c = open_client();
    const CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    int of_block, of_processor, allowed;
    cr_expect_eq(
        cuDeviceGetAttribute(&of_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0),
        0);
    cr_expect_eq(cuDeviceGetAttribute(&of_processor,
                                      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 0),
                 0);
    cr_expect_eq(of_block, 232448);
    cr_expect_eq(of_processor, of_block + 1024);
    cr_expect_eq(cuFuncSetAttribute(c.activate, most, of_block + 1), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuFuncSetAttribute(c.activate, most, of_block), 0);
    cr_expect_eq(cuFuncGetAttribute(&allowed, most, c.activate), 0);
    cr_expect_eq(allowed, of_block);
    cr_expect_eq(launch_shape(&c, 1, 32, (unsigned)of_block), 0);
    cr_expect_eq(launch_shape(&c, 1, 32, (unsigned)of_block + 1), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamSynchronize(c.stream), 0);
    client_close(&c);
}

// All 1024 threads of a block are too many for a kernel of more than 64 registers.
Test(fake_driver, counts_registers) {
    client c = open_client();
    int registers;
    cr_expect_eq(cuModuleGetFunction(&c.activate, c.module, "convolve_8x8"), 0);
    cr_expect_eq(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, c.activate), 0);
    cr_expect_gt(registers, 64);
    cr_expect_eq(launch_shape(&c, 1, 1024, 0), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    client_close(&c);
}

Test(fake_driver, loads_fat_binaries_only) {
    client c = open_client();
    CUmodule module;
    cr_expect_eq(cuModuleLoadData(&module, "no fat binary"), CUDA_ERROR_INVALID_IMAGE);
    cr_expect_eq(cuModuleUnload(c.module), 0);
    cr_expect_eq(launch(&c), CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(cuModuleUnload(c.module), CUDA_ERROR_INVALID_HANDLE);
    client_close(&c);
}
