// graph.cpp - a stream's work, captured to be done again.
#include "state.h"

CUresult forbid(CUstream stream, CUresult why) {
    if (stream->capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (state->streams.count(stream)) stream->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return why;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    if (!state->streams.count(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_ERROR_ILLEGAL_STATE;
    stream->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    stream->mode = mode;
    stream->thread = std::this_thread::get_id();
    return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    *graph = nullptr;
    if (!state->streams.count(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture == CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_ERROR_ILLEGAL_STATE;
    if (stream->thread != std::this_thread::get_id() &&
        stream->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    const bool is_whole = stream->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (is_whole) *graph = state->graphs.add({std::move(stream->captured)});
    stream->capture = CU_STREAM_CAPTURE_STATUS_NONE;
    stream->captured.clear();
    return is_whole ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    if (!state->streams.count(stream)) return CUDA_ERROR_INVALID_HANDLE;
    *status = stream->capture;
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *ready, CUgraph graph, unsigned long long) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    if (!state->graphs.count(graph)) return CUDA_ERROR_INVALID_VALUE;
    *ready = state->ready_graphs.add({graph->work});
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec ready, CUstream stream) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    const CUresult result = check_stream(stream);
    if (result != CUDA_SUCCESS) return result;
    if (!state->ready_graphs.count(ready)) return CUDA_ERROR_INVALID_VALUE;
    for (const Work &work : ready->work)
        add_work(stream, work);
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
    const Call call(__func__);
    if (call.is_refused) return call.result;
    return state->graphs.erase(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecDestroy(CUgraphExec ready) {
    const Call call(__func__);
    if (call.is_refused) return call.result;
    return state->ready_graphs.erase(ready) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
