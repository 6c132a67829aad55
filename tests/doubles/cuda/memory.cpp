// memory.cpp - memory of the devices and page-locked memory of the host, and copies between them.
#include "state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes)   ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

constexpr size_t UNIT = 512; // bytes: of the device's memory, and where a block may begin

static size_t units(size_t bytes) {
    return (bytes + UNIT - 1) / UNIT * UNIT;
}

static void *host(CUdeviceptr address) {
    return reinterpret_cast<void *>(address);
}

void show_blocks(bool is_shown) {
    for (const auto &[address, block] : state->blocks) {
        if (is_shown)
            ASAN_UNPOISON_MEMORY_REGION(host(address), block.bytes);
        else
            ASAN_POISON_MEMORY_REGION(host(address), block.bytes);
    }
}

// ---- what is where ----

static size_t size_of(const Block &block) {
    return block.bytes;
}

static size_t size_of(size_t bytes) {
    return bytes;
}

template <typename Map> static bool is_within(const Map &blocks, uintptr_t address, size_t bytes) {
    auto next = blocks.upper_bound(address);
    if (next == blocks.begin()) return false;
    const auto &[begin, block] = *--next;
    const size_t offset = address - begin;
    return offset <= size_of(block) && bytes <= size_of(block) - offset;
}

bool is_on_device(CUdeviceptr address, size_t bytes) {
    return is_within(state->blocks, address, bytes);
}

bool is_pinned(const void *address, size_t bytes) {
    return is_within(state->pinned, reinterpret_cast<uintptr_t>(address), bytes);
}

// ---- taking and giving back ----

static size_t used_bytes(int device) {
    size_t used = 0;
    for (const auto &[address, block] : state->blocks)
        if (block.device == device) used += units(block.bytes);
    return used;
}

static size_t free_bytes(int device) {
    return state->memory - std::min(used_bytes(device), size_t(state->memory));
}

// Just as large as asked for, so that the address sanitizer sees a step beside it; NaN.
static void *take(size_t bytes) {
    void *room = nullptr;
    if (posix_memalign(&room, UNIT, bytes)) return nullptr;
    return memset(room, 0xFF, bytes);
}

CUresult cuMemGetInfo(size_t *left, size_t *total) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    *left = free_bytes(current_context()->device);
    *total = state->memory;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
    const Call call(__func__, IN_CONTEXT | NOT_IN_CAPTURE);
    if (call.is_refused) return call.result;
    const int device = current_context()->device;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > state->memory || units(bytes) > free_bytes(device)) return CUDA_ERROR_OUT_OF_MEMORY;
    void *room = take(bytes);
    if (!room) return CUDA_ERROR_OUT_OF_MEMORY;
    ASAN_POISON_MEMORY_REGION(room, bytes);
    *address = reinterpret_cast<CUdeviceptr>(room);
    state->blocks[*address] = {bytes, device};
    state->device_bytes += units(bytes);
    state->peak_device_bytes = std::max(state->peak_device_bytes, state->device_bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address) {
    const Call call(__func__, IN_CONTEXT | NOT_IN_CAPTURE);
    if (call.is_refused) return call.result;
    const auto found = state->blocks.find(address);
    if (found == state->blocks.end()) return CUDA_ERROR_INVALID_VALUE;
    if (run_all() != CUDA_SUCCESS) return state->lost;
    ASAN_UNPOISON_MEMORY_REGION(host(address), found->second.bytes);
    state->device_bytes -= units(found->second.bytes);
    state->blocks.erase(found);
    free(host(address));
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned) {
    const Call call(__func__, IN_CONTEXT | NOT_IN_CAPTURE);
    if (call.is_refused) return call.result;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    void *room = take(bytes);
    if (!room) return CUDA_ERROR_OUT_OF_MEMORY;
    state->pinned[reinterpret_cast<uintptr_t>(room)] = bytes;
    *address = room;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address) {
    const Call call(__func__, IN_CONTEXT | NOT_IN_CAPTURE | ALSO_WHEN_LOST);
    if (call.is_refused) return call.result;
    const auto found = state->pinned.find(reinterpret_cast<uintptr_t>(address));
    if (found == state->pinned.end()) return call.answer(CUDA_ERROR_INVALID_VALUE);
    if (!state->lost) run_all();
    state->pinned.erase(found);
    free(address);
    return call.answer(CUDA_SUCCESS);
}

// ---- copies ----

// What has gone by the time of the copy costs the device.
static Work copy(void *to, const void *from, CUdeviceptr device, const void *pinned, size_t bytes) {
    return [=] {
        if (!is_on_device(device, bytes)) return CUDA_ERROR_ILLEGAL_ADDRESS;
        if (pinned && !is_pinned(pinned, bytes)) return CUDA_ERROR_ILLEGAL_ADDRESS;
        memmove(to, from, bytes);
        return CUDA_SUCCESS;
    };
}

static CUresult check_copy(CUstream stream, CUdeviceptr device, size_t bytes) {
    const CUresult result = check_stream(stream);
    if (result != CUDA_SUCCESS) return result;
    return is_on_device(device, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// From memory that is not page-locked the driver takes the bytes before it returns.
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    const CUresult result = check_copy(stream, to, bytes);
    if (result != CUDA_SUCCESS || bytes == 0) return result;
    if (is_pinned(from, bytes)) return add_work(stream, copy(host(to), from, to, from, bytes));
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE) return forbid(stream);
    const char *first = static_cast<const char *>(from);
    const auto bytes_now = std::make_shared<std::vector<char>>(first, first + bytes);
    return add_work(stream,
                    [=] { return copy(host(to), bytes_now->data(), to, nullptr, bytes)(); });
}

// To memory that is not page-locked it returns when all is done.
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    const CUresult result = check_copy(stream, from, bytes);
    if (result != CUDA_SUCCESS || bytes == 0) return result;
    if (is_pinned(to, bytes)) return add_work(stream, copy(to, host(from), from, to, bytes));
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE) return forbid(stream);
    add_work(stream, copy(to, host(from), from, nullptr, bytes));
    return run_queue(stream);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    const CUresult result = check_copy(stream, to, bytes);
    if (result != CUDA_SUCCESS || bytes == 0) return result;
    if (!is_on_device(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return add_work(stream, [=] {
        if (!is_on_device(from, bytes)) return CUDA_ERROR_ILLEGAL_ADDRESS;
        return copy(host(to), host(from), to, nullptr, bytes)();
    });
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    const CUresult result = check_copy(stream, to, count * sizeof value);
    if (result != CUDA_SUCCESS || count == 0) return result;
    if (to % sizeof value) return CUDA_ERROR_INVALID_VALUE;
    return add_work(stream, [=] {
        if (!is_on_device(to, count * sizeof value)) return CUDA_ERROR_ILLEGAL_ADDRESS;
        std::fill_n(static_cast<unsigned *>(host(to)), count, value);
        return CUDA_SUCCESS;
    });
}
