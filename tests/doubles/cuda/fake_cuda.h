// fake_cuda.h - a driver without a GPU, libcuda.so.1, that runs the kernels of host_kernels.h and
// holds its callers to the real one's rules. A test links hox_fake_cuda, or opens
// HOX_FAKE_CUDA_PATH before the code under test asks for libcuda.so.1, which then is this one. [any
// thread]
//
// What a call tells by waiting, this one tells by data: a stream does its work only when somebody
// waits for it. Device memory is NaN at first and, for the address sanitizer, closed to the host.
// Left out: the default stream, copies that do not say Async, blocks of threads in y and z,
// captures that spread over several streams.
//
// The environment, for what is not set here, read by fake_cuda_reset and when the library is
// loaded:
//   HOX_FAKE_CUDA_DEVICES         1; none: cuInit answers CUDA_ERROR_NO_DEVICE
//   HOX_FAKE_CUDA_MEMORY          bytes of each device, 1 GiB
//   HOX_FAKE_CUDA_DRIVER_VERSION  as cuDriverGetVersion says it, CUDA_VERSION of the build
//   HOX_FAKE_CUDA_MAJOR, _MINOR   compute capability, 9.0
//   HOX_FAKE_CUDA_SHARED          bytes of shared memory that a block can be allowed, 232448; a
//                                 processor has 1 KiB more
//   HOX_FAKE_CUDA_ORDER           in which threads run: 0, 1, 2 (fibres.h)
//   HOX_FAKE_CUDA_FAIL_CALL, _FAIL_CODE   fake_cuda_fail_call
// and CUDA_VISIBLE_DEVICES, a list of numbers, read by cuInit.
#pragma once

#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

// What is there now, on all devices, unless another word is said.
typedef struct fake_cuda_counts {
    uint64_t calls; // so far; cuGetErrorName and cuGetErrorString are not counted
    uint64_t device_blocks, device_bytes, peak_device_bytes; // in units of 512 bytes
    uint64_t pinned_blocks;                                  // of host memory
    uint64_t contexts;                                       // retained and not released, each time
    uint64_t streams, events, modules, graphs; // graphs: also those made ready to launch
    uint64_t launches, largest_grid;           // executed so far; blocks
    uint64_t divergences;                      // fibres.h; each one also ends in error 719
} fake_cuda_counts;

// A new process: nothing is left of the driver's state, not even in other threads.
void fake_cuda_reset(void);
void fake_cuda_set_memory(uint64_t bytes);

// Call `number`, counted from now and from 1, does nothing but answer `code`; 0 = none. Codes of
// which a process does not recover (226, 700, 719, ...) also end all that lies on the devices, and
// are the answer of every later call; only a context can still be popped.
void fake_cuda_fail_call(uint64_t number, int code);

fake_cuda_counts fake_cuda_count(void);
const char *fake_cuda_call_name(uint64_t number); // since the reset, from 1; "" = none
uint32_t fake_cuda_context_depth(void);           // of the caller's thread
void fake_cuda_set_order(int order);              // fibres.h

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
