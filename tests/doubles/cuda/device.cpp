// device.cpp - devices, their contexts, and errors by name.
#include "state.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

// ---- errors ----

static const char *name_of(CUresult code) {
    switch (int(code)) {
#define X(name)                                                                                    \
    case name: return #name;
        X(CUDA_SUCCESS)
        X(CUDA_ERROR_INVALID_VALUE)
        X(CUDA_ERROR_OUT_OF_MEMORY)
        X(CUDA_ERROR_NOT_INITIALIZED)
        X(CUDA_ERROR_STUB_LIBRARY)
        X(CUDA_ERROR_NO_DEVICE)
        X(CUDA_ERROR_INVALID_DEVICE)
        X(CUDA_ERROR_INVALID_IMAGE)
        X(CUDA_ERROR_INVALID_CONTEXT)
        X(CUDA_ERROR_NO_BINARY_FOR_GPU)
        X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
        X(CUDA_ERROR_INVALID_HANDLE)
        X(CUDA_ERROR_ILLEGAL_STATE)
        X(CUDA_ERROR_NOT_FOUND)
        X(CUDA_ERROR_ILLEGAL_ADDRESS)
        X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
        X(CUDA_ERROR_LAUNCH_TIMEOUT)
        X(CUDA_ERROR_HARDWARE_STACK_ERROR)
        X(CUDA_ERROR_LAUNCH_FAILED)
        X(CUDA_ERROR_NOT_SUPPORTED)
        X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
        X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
        X(CUDA_ERROR_CAPTURED_EVENT)
        X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        X(CUDA_ERROR_UNKNOWN)
#undef X
    }
    return nullptr;
}

CUresult cuGetErrorName(CUresult code, const char **name) {
    *name = name_of(code);
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **text) {
    return cuGetErrorName(code, text);
}

// ---- devices ----

// By number; a list ends at the first entry that is none of a device.
static std::vector<int> visible_devices() {
    const int count = int(setting("DEVICES", 1));
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    std::vector<int> devices;
    for (int i = 0; !list && i < count; i++)
        devices.push_back(i);
    std::istringstream items(list ? list : "");
    for (std::string item; std::getline(items, item, ',');) {
        char *end;
        const long device = strtol(item.c_str(), &end, 10);
        if (end == item.c_str() || *end || device < 0 || device >= count) break;
        devices.push_back(int(device));
    }
    return devices;
}

CUresult cuInit(unsigned) {
    const Call call(__func__, ANYTIME);
    if (call.is_refused || state->is_initialised) return call.result;
    for (const int device : visible_devices())
        state->contexts.push_back(std::make_unique<CUctx_st>(CUctx_st{device, 0}));
    state->is_initialised = !state->contexts.empty();
    return state->is_initialised ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version) {
    const Call call(__func__, ANYTIME);
    if (!call.is_refused) *version = int(setting("DRIVER_VERSION", CUDA_VERSION));
    return call.result;
}

CUresult cuDeviceGetCount(int *count) {
    const Call call(__func__);
    if (!call.is_refused) *count = int(state->contexts.size());
    return call.result;
}

static CUresult check_device(CUdevice device) {
    return size_t(device) < state->contexts.size() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    const Call call(__func__);
    if (call.is_refused) return call.result;
    if (check_device(ordinal) == CUDA_SUCCESS) *device = ordinal;
    return check_device(ordinal);
}

// Filled in where the call is not refused.
static CUresult describe(const Call &call, char *text, int bytes, CUdevice device,
                         const char *format) {
    if (call.is_refused) return call.result;
    if (check_device(device) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_DEVICE;
    snprintf(text, size_t(bytes), format, state->contexts[device]->device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
    return describe(Call(__func__), name, bytes, device, "Fake GPU %d");
}

CUresult cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device) {
    return describe(Call(__func__), id, bytes, device, "0000:%02x:00.0");
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
    const Call call(__func__);
    if (call.is_refused) return call.result;
    *bytes = state->memory;
    return check_device(device);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    static const std::map<CUdevice_attribute, int> values = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1}};
    const Call call(__func__);
    if (call.is_refused) return call.result;
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
        *value = int(setting("MAJOR", 9));
    else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        *value = int(setting("MINOR", 0));
    else if (attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        *value = int(most_shared_bytes());
    else if (attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
        *value = int(most_shared_bytes()) + 1024;
    else if (values.count(attribute))
        *value = values.at(attribute);
    else
        return CUDA_ERROR_INVALID_VALUE;
    return check_device(device);
}

// ---- contexts ----

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    const Call call(__func__);
    if (call.is_refused) return call.result;
    if (check_device(device) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_DEVICE;
    *context = state->contexts[device].get();
    (*context)->retained++;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    const Call call(__func__);
    if (call.is_refused) return call.result;
    if (check_device(device) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_DEVICE;
    if (state->contexts[device]->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    state->contexts[device]->retained--;
    return CUDA_SUCCESS;
}

static CUresult check_context(CUcontext context) {
    for (const auto &known : state->contexts)
        if (known.get() == context && context->retained) return CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPushCurrent(CUcontext context) {
    const Call call(__func__);
    if (call.is_refused) return call.result;
    if (check_context(context) == CUDA_SUCCESS) context_stack().push_back(context);
    return check_context(context);
}

CUresult cuCtxPopCurrent(CUcontext *context) {
    const Call call(__func__, ALSO_WHEN_LOST);
    if (call.is_refused) return call.result;
    if (context_stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context) *context = context_stack().back();
    context_stack().pop_back();
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
    const Call call(__func__);
    if (!call.is_refused) *context = context_stack().empty() ? nullptr : context_stack().back();
    return call.result;
}

CUresult cuCtxSetCurrent(CUcontext context) {
    const Call call(__func__);
    if (call.is_refused) return call.result;
    if (context && check_context(context) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context_stack().empty()) context_stack().pop_back();
    if (context) context_stack().push_back(context);
    return CUDA_SUCCESS;
}
