// stream.cpp - streams, which work only when somebody waits for them, and events.
#include "state.h"

CUresult check_stream(CUstream stream) {
    if (!state->streams.count(stream) || stream->context != current_context())
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return CUDA_SUCCESS;
}

CUresult add_work(CUstream stream, Work work) {
    if (stream->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        stream->captured.push_back(std::move(work));
    else
        stream->queue.push_back(std::move(work));
    return CUDA_SUCCESS;
}

// An error ends the stream as well.
static CUresult run_shown(CUstream stream, const Mark *until) {
    while (!stream->queue.empty() && !(until && until->is_reached)) {
        const Work work = std::move(stream->queue.front());
        stream->queue.pop_front();
        const CUresult result = work();
        if (result == CUDA_SUCCESS) continue;
        lose_devices(result);
        return result;
    }
    return CUDA_SUCCESS;
}

CUresult run_queue(CUstream stream, const Mark *until) {
    static int depth; // streams wait for each other
    if (depth++ == 0) show_blocks(true);
    const CUresult result = run_shown(stream, until);
    if (--depth == 0) show_blocks(false);
    return result;
}

CUresult run_all() {
    for (const auto &[stream, owned] : state->streams) {
        const CUresult result = run_queue(stream);
        if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
}

// ---- streams ----

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    if (flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    *stream = state->streams.add({current_context(), {}, {}, {}, {}, {}});
    return CUDA_SUCCESS;
}

// What is waited for must not be captured.
static CUresult wait_for(CUstream stream) {
    const CUresult result = check_stream(stream);
    if (result != CUDA_SUCCESS) return result;
    return stream->capture == CU_STREAM_CAPTURE_STATUS_NONE ? run_queue(stream) : forbid(stream);
}

CUresult cuStreamDestroy(CUstream stream) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    const CUresult result = wait_for(stream);
    if (result == CUDA_SUCCESS) state->streams.erase(stream);
    return result;
}

CUresult cuStreamSynchronize(CUstream stream) {
    const Call call(__func__, IN_CONTEXT);
    return call.is_refused ? call.result : wait_for(stream);
}

// ---- events ----

CUresult cuEventCreate(CUevent *event, unsigned) {
    const Call call(__func__, IN_CONTEXT);
    if (!call.is_refused) *event = state->events.add({});
    return call.result;
}

CUresult cuEventDestroy(CUevent event) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    return state->events.erase(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    const CUresult result = check_stream(stream);
    if (result != CUDA_SUCCESS) return result;
    if (!state->events.count(event)) return CUDA_ERROR_INVALID_HANDLE;
    const bool is_captured = stream->capture != CU_STREAM_CAPTURE_STATUS_NONE;
    const auto mark = std::make_shared<Mark>(Mark{stream, is_captured, false});
    event->mark = mark;
    return add_work(stream, [mark] {
        mark->is_reached = true;
        return CUDA_SUCCESS;
    });
}

CUresult cuEventSynchronize(CUevent event) {
    const Call call(__func__, IN_CONTEXT | NOT_IN_CAPTURE);
    if (call.is_refused) return call.result;
    if (!state->events.count(event)) return CUDA_ERROR_INVALID_HANDLE;
    const auto mark = event->mark;
    if (mark && mark->is_captured) return CUDA_ERROR_CAPTURED_EVENT;
    return !mark || mark->is_reached ? CUDA_SUCCESS : run_queue(mark->stream, mark.get());
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    const CUresult result = check_stream(stream);
    if (result != CUDA_SUCCESS) return result;
    if (!state->events.count(event)) return CUDA_ERROR_INVALID_HANDLE;
    const auto mark = event->mark;
    if (!mark || mark->stream == stream) return CUDA_SUCCESS;
    if (mark->is_captured) return forbid(mark->stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE)
        return forbid(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    return add_work(stream, [mark] {
        return mark->is_reached ? CUDA_SUCCESS : run_queue(mark->stream, mark.get());
    });
}
