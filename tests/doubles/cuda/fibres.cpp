// fibres.cpp - a fibre starts one thread after another as long as they end. One that waits at a
// barrier keeps its fibre, and another fibre goes on: threads without barriers cost a call each.
#include "fibres.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#else
static void __sanitizer_start_switch_fiber(void **, const void *, size_t) {
}
static void __sanitizer_finish_switch_fiber(void *, const void **, size_t *) {
}
#endif

extern "C" {
fibre_index threadIdx, blockIdx, blockDim, gridDim;
extern char __start_fibres_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_fibres_shared[] __attribute__((weak, visibility("hidden")));
}

namespace {

constexpr size_t STACK_BYTES = 128 << 10, GUARD_BYTES = 4096;

struct Fibre {
    void *registers[5]; // of __builtin_setjmp, which needs no system call
    void *fake_stack;   // of the address sanitizer
    const void *stack;
    size_t stack_bytes;
    bool has_begun;
};

constexpr uint32_t WARP = 32;

// Values of two exchanges: a thread may hand over the next one before others took this one.
struct Warp {
    float values[2][WARP];
    uint32_t turn;
    std::vector<Fibre *> waiting;
};

struct Block {
    void (*thread)(const void *argument);
    const void *argument;
    uint32_t count, started, ended; // threads
    std::vector<Fibre *> ready;     // from `next` on, to go on before the next barrier
    size_t next;
    std::vector<Fibre *> waiting;
    std::vector<Warp> warps;
};

Fibre caller = {{}, nullptr, nullptr, 0, true};
Fibre *running = &caller, *before = &caller;
std::deque<Fibre> &fibres = *new std::deque<Fibre>; // they outlive all that is destroyed at exit
std::vector<Fibre *> &idle = *new std::vector<Fibre *>;
Block &block = *new Block();
fibre_order order;
uint64_t divergences;
char *shared_at_launch; // just as large as asked for
size_t shared_at_launch_bytes;

void live();

Fibre *make_fibre() {
    char *room =
        static_cast<char *>(mmap(nullptr, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (room == MAP_FAILED || mprotect(room, GUARD_BYTES, PROT_NONE)) abort();
    fibres.push_back({{}, nullptr, room + GUARD_BYTES, STACK_BYTES, false});
    return &fibres.back();
}

[[noreturn]] void begin(Fibre *fibre) {
    static ucontext_t context;
    if (getcontext(&context)) abort();
    context.uc_stack.ss_sp = const_cast<void *>(fibre->stack);
    context.uc_stack.ss_size = fibre->stack_bytes;
    makecontext(&context, live, 0);
    fibre->has_begun = true;
    setcontext(&context);
    abort();
}

// Apart from the setjmp, and not looked at: for the sanitizer no stack is left for good here.
[[noreturn]] __attribute__((noinline, no_sanitize("address"))) void go_on(Fibre *fibre) {
    if (!fibre->has_begun) begin(fibre);
    __builtin_longjmp(fibre->registers, 1);
}

void arrive() {
    __sanitizer_finish_switch_fiber(running->fake_stack, &before->stack, &before->stack_bytes);
}

__attribute__((noinline, no_sanitize("address"))) void jump(Fibre *to) {
    if (to == running) return;
    before = running;
    running = to;
    __sanitizer_start_switch_fiber(&before->fake_stack, to->stack, to->stack_bytes);
    if (!__builtin_setjmp(before->registers)) go_on(running);
    arrive();
}

Fibre *take_idle() {
    if (idle.empty()) return make_fibre();
    Fibre *fibre = idle.back();
    idle.pop_back();
    return fibre;
}

void clear_values(float *values) {
    for (uint32_t i = 0; i < WARP; i++)
        values[i] = NAN;
}

// All there are, or all that came.
void end_exchange(Warp &warp) {
    clear_values(warp.values[++warp.turn % 2]);
    block.ready.insert(block.ready.end(), warp.waiting.begin(), warp.waiting.end());
    warp.waiting.clear();
}

void end_vain_exchanges() {
    for (Warp &warp : block.warps) {
        if (warp.waiting.empty()) continue;
        divergences++;
        end_exchange(warp);
    }
}

Fibre *next_fibre() {
    if (block.started < block.count) return take_idle();
    if (block.next == block.ready.size()) end_vain_exchanges();
    if (block.next == block.ready.size()) {
        if (block.waiting.empty()) return &caller;
        divergences += block.ended > 0;
        block.ready.swap(block.waiting);
        block.waiting.clear();
        block.next = 0;
    }
    return block.ready[block.next++];
}

uint32_t place_in_order(uint32_t i) {
    switch (order) {
        case FIBRES_DESCENDING: return block.count - 1 - i;
        case FIBRES_SCRAMBLED: return (i * 7919 + 13) % block.count; // a prime
        default: return i;
    }
}

void live() {
    arrive();
    for (;;) {
        while (block.started < block.count) {
            threadIdx.x = place_in_order(block.started++);
            block.thread(block.argument);
            block.ended++;
        }
        idle.push_back(running);
        jump(next_fibre());
    }
}

void run_block() {
    if (__start_fibres_shared)
        memset(__start_fibres_shared, 0xFF, __stop_fibres_shared - __start_fibres_shared);
    if (shared_at_launch) memset(shared_at_launch, 0xFF, shared_at_launch_bytes);
    block.started = block.ended = 0;
    block.ready.clear();
    block.next = 0;
    block.warps.resize((block.count + WARP - 1) / WARP);
    for (Warp &warp : block.warps)
        clear_values(warp.values[warp.turn % 2]);
    jump(next_fibre());
}

} // namespace

void fibres_set_shared_at_launch(size_t bytes) {
    free(shared_at_launch);
    shared_at_launch = bytes ? static_cast<char *>(malloc(bytes)) : nullptr;
    shared_at_launch_bytes = bytes;
}

void *fibres_shared_at_launch() {
    return shared_at_launch;
}

void fibres_set_order(fibre_order wanted) {
    order = wanted;
}

uint64_t fibres_divergence_count() {
    return divergences;
}

void fibres_barrier() {
    const uint32_t thread = threadIdx.x;
    block.waiting.push_back(running);
    jump(next_fibre());
    threadIdx.x = thread;
}

float fibres_exchange(float value, uint32_t mask) {
    const uint32_t thread = threadIdx.x, first = thread / WARP * WARP;
    const uint32_t size = block.count - first < WARP ? block.count - first : WARP;
    Warp &warp = block.warps[thread / WARP];
    const float *values = warp.values[warp.turn % 2];
    warp.values[warp.turn % 2][thread % WARP] = value;
    if (warp.waiting.size() + 1 < size) {
        warp.waiting.push_back(running);
        jump(next_fibre());
        threadIdx.x = thread;
    } else {
        end_exchange(warp);
    }
    return values[(thread % WARP) ^ mask];
}

void fibres_run(const uint32_t grid[3], uint32_t threads, void (*thread)(const void *argument),
                const void *argument) {
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {threads, 1, 1};
    block.thread = thread;
    block.argument = argument;
    block.count = threads;
    for (blockIdx.z = 0; blockIdx.z < grid[2]; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++)
                run_block();
}
