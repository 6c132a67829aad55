// state.cpp - the fake driver's state, and the rules that all calls share.
#include "state.h"

#include "fibres.h"

#include <algorithm>
#include <cstdlib>

State *state = new State; // never destroyed: a caller may still be there at exit

static std::mutex mutex;
static uint64_t generation; // of the state

State::State()
    : fail_number(setting("FAIL_CALL", 0)), fail_code(CUresult(setting("FAIL_CODE", 2))), lost(),
      is_initialised(), memory(setting("MEMORY", 1L << 30)), device_bytes(), peak_device_bytes(),
      launches(), largest_grid(), divergences_before(fibres_divergence_count()) {
    fibres_set_order(fibre_order(setting("ORDER", 0)));
}

State::~State() {
    lose_devices(CUDA_ERROR_DEINITIALIZED);
    for (const auto &[address, bytes] : pinned)
        free(reinterpret_cast<void *>(address));
}

long setting(const char *name, long otherwise) {
    const char *text = getenv((std::string("HOX_FAKE_CUDA_") + name).c_str());
    return text && *text ? strtol(text, nullptr, 0) : otherwise;
}

uint32_t most_shared_bytes() {
    return uint32_t(setting("SHARED", 232448));
}

// Host memory stays: its owner may write to it until he hears.
void lose_devices(CUresult why) {
    state->lost = why;
    show_blocks(true);
    for (const auto &[address, block] : state->blocks)
        free(reinterpret_cast<void *>(address));
    state->blocks.clear();
    state->device_bytes = 0;
    state->streams.clear();
    state->events.clear();
    state->modules.clear();
    state->graphs.clear();
    state->ready_graphs.clear();
    for (const auto &context : state->contexts)
        context->retained = 0;
}

// ---- calls ----

static bool is_for_good(CUresult code) {
    static const int codes[] = {
        226, 700, 702, 714, 715, 716,
        717, 718, 719, 721, 911, 999}; // unknown: of a GPU that has fallen off the bus, say
    return std::find(std::begin(codes), std::end(codes), int(code)) != std::end(codes);
}

// Captures that must not see this thread do such a thing (cuThreadExchangeStreamCaptureMode).
static CUresult spoil_captures() {
    CUresult result = CUDA_SUCCESS;
    for (const auto &[stream, owned] : state->streams) {
        const bool is_watching = stream->thread == std::this_thread::get_id()
                                     ? stream->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                     : stream->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE && is_watching)
            result = forbid(stream);
    }
    return result;
}

static CUresult check_rules(unsigned rules) {
    if (!state->is_initialised && !(rules & ANYTIME)) return CUDA_ERROR_NOT_INITIALIZED;
    if (state->lost && !(rules & ALSO_WHEN_LOST)) return state->lost;
    if ((rules & IN_CONTEXT) && !current_context() && !state->lost)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (rules & NOT_IN_CAPTURE) return spoil_captures();
    return CUDA_SUCCESS;
}

Call::Call(const char *name, unsigned rules) : lock(mutex) {
    state->calls.push_back(name);
    const bool fails = state->calls.size() == state->fail_number;
    result = fails ? state->fail_code : check_rules(rules);
    if (fails && is_for_good(result)) lose_devices(result);
    is_refused = result != CUDA_SUCCESS;
}

CUresult Call::answer(CUresult own) const {
    return state->lost ? state->lost : own;
}

// ---- contexts ----

std::vector<CUcontext> &context_stack() {
    static thread_local struct {
        uint64_t generation;
        std::vector<CUcontext> contexts;
    } stack;
    if (stack.generation != generation) stack.contexts.clear();
    stack.generation = generation;
    return stack.contexts;
}

CUcontext current_context() {
    const std::vector<CUcontext> &stack = context_stack();
    return !stack.empty() && stack.back() && stack.back()->retained ? stack.back() : nullptr;
}

// ---- control ----

void fake_cuda_reset() {
    const std::lock_guard lock(mutex);
    delete state;
    state = new State;
    generation++;
}

void fake_cuda_set_memory(uint64_t bytes) {
    const std::lock_guard lock(mutex);
    state->memory = bytes;
}

void fake_cuda_fail_call(uint64_t number, int code) {
    const std::lock_guard lock(mutex);
    state->fail_number = number ? state->calls.size() + number : 0;
    state->fail_code = CUresult(code);
}

fake_cuda_counts fake_cuda_count() {
    const std::lock_guard lock(mutex);
    fake_cuda_counts counts = {};
    counts.calls = state->calls.size();
    counts.device_blocks = state->blocks.size();
    counts.device_bytes = state->device_bytes;
    counts.peak_device_bytes = state->peak_device_bytes;
    counts.pinned_blocks = state->pinned.size();
    for (const auto &context : state->contexts)
        counts.contexts += context->retained;
    counts.streams = state->streams.size();
    counts.events = state->events.size();
    counts.modules = state->modules.size();
    counts.graphs = state->graphs.size() + state->ready_graphs.size();
    counts.launches = state->launches;
    counts.largest_grid = state->largest_grid;
    counts.divergences = fibres_divergence_count() - state->divergences_before;
    return counts;
}

const char *fake_cuda_call_name(uint64_t number) {
    const std::lock_guard lock(mutex);
    return number - 1 < state->calls.size() ? state->calls[number - 1] : "";
}

uint32_t fake_cuda_context_depth() {
    const std::lock_guard lock(mutex);
    return uint32_t(context_stack().size());
}

void fake_cuda_set_order(int order) {
    const std::lock_guard lock(mutex);
    fibres_set_order(fibre_order(order));
}
