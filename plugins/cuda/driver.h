// driver.h - the NVIDIA driver, opened by name when it is first needed: no CUDA library is linked,
// so the same plugin loads on any machine.
#pragma once

#include <cuda.h>
#include <hox/status.h>
#include <stdbool.h>

// The entry points in use. cuda.h gives each its type and the version its name stands for.
#define CUDA_DRIVER_MAP(X)                                                                         \
    X(cuInit)                                                                                      \
    X(cuDriverGetVersion)                                                                          \
    X(cuGetErrorName)                                                                              \
    X(cuDeviceGetCount)                                                                            \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetName)                                                                             \
    X(cuDeviceGetAttribute)                                                                        \
    X(cuDeviceGetPCIBusId)                                                                         \
    X(cuDeviceTotalMem)                                                                            \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuDevicePrimaryCtxRelease)                                                                   \
    X(cuCtxPushCurrent)                                                                            \
    X(cuCtxPopCurrent)                                                                             \
    X(cuMemGetInfo)                                                                                \
    X(cuMemAlloc)                                                                                  \
    X(cuMemFree)                                                                                   \
    X(cuMemHostAlloc)                                                                              \
    X(cuMemFreeHost)                                                                               \
    X(cuMemcpyHtoDAsync)                                                                           \
    X(cuMemcpyDtoHAsync)                                                                           \
    X(cuStreamCreate)                                                                              \
    X(cuStreamDestroy)                                                                             \
    X(cuStreamSynchronize)                                                                         \
    X(cuStreamBeginCapture)                                                                        \
    X(cuStreamEndCapture)                                                                          \
    X(cuGraphInstantiateWithFlags)                                                                 \
    X(cuGraphLaunch)                                                                               \
    X(cuGraphDestroy)                                                                              \
    X(cuGraphExecDestroy)                                                                          \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleUnload)                                                                              \
    X(cuModuleGetFunction)                                                                         \
    X(cuFuncSetAttribute)                                                                          \
    X(cuLaunchKernel)

typedef struct cuda_driver {
#define X(name) __typeof__(name) *name;
    CUDA_DRIVER_MAP(X)
#undef X
} cuda_driver;

// Opens libcuda.so.1, which then stays in the process, and initialises it. Errors, in words for
// people: NOT_FOUND: there is no driver, or no GPU for it; UNSUPPORTED: it is too old for the
// kernels; those of cuda_check. [any]
hox_status cuda_driver_open(cuda_driver *driver, hox_error *error) HOX_MUST_CHECK;

// What a call came to: OUT_OF_DEVICE_MEMORY, DEVICE_LOST (only a new process helps), UNSUPPORTED,
// else DEVICE, which may pass; the driver's number is in the error. what: was being done. [any]
hox_status cuda_check(const cuda_driver *driver, CUresult result, const char *what,
                      hox_error *error) HOX_MUST_CHECK;

// Whether a call that gives something back may be made once more, for nothing else can be done: it
// failed, and not for good, in which case it may have done its work all the same. [any]
bool cuda_is_worth_another(CUresult result);

#define CUDA_GIVE_BACK(call)                                                                       \
    do {                                                                                           \
        if (cuda_is_worth_another(call)) (void)(call);                                             \
    } while (0)
