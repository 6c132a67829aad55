// state.h - what the fake driver holds, and the way into each of its calls.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "fake_cuda.h"
#include "host_kernels.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using Work = std::function<CUresult()>;

struct CUctx_st {
    int device; // its number among all
    unsigned retained;
};

struct CUstream_st {
    CUcontext context;
    std::deque<Work> queue;
    CUstreamCaptureStatus capture; // the next three are the capture's
    CUstreamCaptureMode mode;
    std::thread::id thread;
    std::vector<Work> captured;
};

// A place in a stream's queue.
struct Mark {
    CUstream stream;
    bool is_captured, is_reached;
};

struct CUevent_st {
    std::shared_ptr<Mark> mark; // null: not recorded yet
};

struct CUgraph_st {
    std::vector<Work> work;
};

struct CUgraphExec_st {
    std::vector<Work> work;
};

struct CUfunc_st {
    CUcontext context;
    const host_kernel *kernel;
    uint32_t registers, shared_bytes;
    uint32_t at_launch_bytes; // of shared memory, the most
};

struct CUmod_st {
    std::map<std::string, CUfunc_st> functions; // those that were asked for
};

// Objects by their handles.
template <typename T> struct Live : std::map<T *, std::unique_ptr<T>> {
    T *add(T object) {
        auto made = std::make_unique<T>(std::move(object));
        return this->emplace(made.get(), std::move(made)).first->first;
    }
};

struct Block {
    size_t bytes;
    int device;
};

struct State {
    State();
    ~State();
    State(const State &) = delete;

    std::vector<const char *> calls;
    uint64_t fail_number;
    CUresult fail_code, lost; // lost: the answer to all calls, 0 = none
    bool is_initialised;
    uint64_t memory;
    std::vector<std::unique_ptr<CUctx_st>> contexts; // of the devices that can be seen
    std::map<uintptr_t, Block> blocks;
    std::map<uintptr_t, size_t> pinned;
    Live<CUstream_st> streams;
    Live<CUevent_st> events;
    Live<CUmod_st> modules;
    Live<CUgraph_st> graphs;
    Live<CUgraphExec_st> ready_graphs;
    uint64_t device_bytes, peak_device_bytes, launches, largest_grid, divergences_before;
};

extern State *state; // under the lock of a Call

enum Rules {
    ANYTIME = 1,        // also before cuInit
    IN_CONTEXT = 2,     // needs a current one
    NOT_IN_CAPTURE = 4, // of this thread
    ALSO_WHEN_LOST = 8  // is done even then
};

// The first line of every call: counts it, and finds out whether it may do its work.
struct Call {
    Call(const char *name, unsigned rules = 0);
    CUresult answer(CUresult own) const; // what the call says when it has done its work

    std::lock_guard<std::mutex> lock;
    CUresult result;
    bool is_refused;
};

long setting(const char *name, long otherwise); // from the environment
uint32_t most_shared_bytes();                   // of a block that may have them
void lose_devices(CUresult why);

std::vector<CUcontext> &context_stack(); // of this thread
CUcontext current_context();             // null: none

CUresult check_stream(CUstream stream);
CUresult forbid(CUstream stream, CUresult why = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); // spoils it
CUresult add_work(CUstream stream, Work work); // or to the graph being captured
CUresult run_queue(CUstream stream, const Mark *until = nullptr);
CUresult run_all();

void show_blocks(bool is_shown); // to the address sanitizer
bool is_on_device(CUdeviceptr address, size_t bytes);
bool is_pinned(const void *address, size_t bytes);
