// module.cpp - modules, which all hold the kernels built for the host, and launches.
#include "state.h"

#include "fibres.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

constexpr uint32_t FATBIN_MAGIC = 0xBA55ED50, MOST_REGISTERS = 65536, MOST_SHARED_BYTES = 49152;

// The most of any architecture, from the table that the build of the kernels is held to.
static CUfunc_st describe(const host_kernel *kernel) {
    CUfunc_st function = {current_context(), kernel, 0, 0, 0};
    std::ifstream table(HOX_CUDA_KERNELS_CSV);
    for (std::string line, name, word; std::getline(table, line);) {
        std::replace(line.begin(), line.end(), ',', ' ');
        uint32_t registers, shared_bytes;
        std::istringstream row(line);
        if (!(row >> name >> word >> registers >> shared_bytes) || name != kernel->name) continue;
        function.registers = std::max(function.registers, registers);
        function.shared_bytes = std::max(function.shared_bytes, shared_bytes);
    }
    if (function.registers == 0) function.registers = 128; // not in the table
    function.at_launch_bytes = MOST_SHARED_BYTES - function.shared_bytes;
    return function;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    const Call call(__func__, IN_CONTEXT | NOT_IN_CAPTURE);
    if (call.is_refused) return call.result;
    if (memcmp(image, &FATBIN_MAGIC, sizeof FATBIN_MAGIC)) return CUDA_ERROR_INVALID_IMAGE;
    *module = state->modules.add({});
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
    const Call call(__func__, IN_CONTEXT | NOT_IN_CAPTURE);
    if (call.is_refused) return call.result;
    return state->modules.erase(module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    if (!state->modules.count(module)) return CUDA_ERROR_INVALID_HANDLE;
    const host_kernel *kernel = host_kernel_find(name);
    if (!kernel) return CUDA_ERROR_NOT_FOUND;
    *function = &module->functions.try_emplace(name, describe(kernel)).first->second;
    return CUDA_SUCCESS;
}

static CUresult check_function(CUfunction function) {
    for (const auto &[module, owned] : state->modules)
        for (const auto &[name, known] : module->functions)
            if (&known == function && known.context == current_context()) return CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    if (check_function(function) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_HANDLE;
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = int(function->registers); break;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = int(function->shared_bytes); break;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = int(function->at_launch_bytes);
            break;
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
        default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    if (check_function(function) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_HANDLE;
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            if (value < 0 || uint32_t(value) > most_shared_bytes() - function->shared_bytes)
                return CUDA_ERROR_INVALID_VALUE;
            function->at_launch_bytes = uint32_t(value);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        default: return CUDA_ERROR_INVALID_VALUE;
    }
}

// ---- launches ----

static CUresult check_launch(const CUfunc_st &function, const uint32_t grid[3], uint32_t threads,
                             uint32_t shared_bytes) {
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || threads == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (grid[0] > 0x7fffffff || grid[1] > 65535 || grid[2] > 65535 || threads > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    if (shared_bytes > function.at_launch_bytes) return CUDA_ERROR_INVALID_VALUE;
    if (function.registers * ((threads + 31) / 32 * 32) > MOST_REGISTERS)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return CUDA_SUCCESS;
}

// The one argument, by either way of handing it over; null: not of the right size.
static const void *find_argument(void **parameters, void **extra, size_t bytes) {
    if (parameters) return extra ? nullptr : parameters[0];
    const void *buffer = nullptr;
    size_t size = 0;
    for (; extra && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t *>(extra[1]);
    }
    return size == bytes ? buffer : nullptr;
}

static Work run_kernel(const host_kernel *kernel, std::vector<char> argument,
                       const uint32_t grid[3], uint32_t threads, uint32_t shared_bytes) {
    return [=, x = grid[0], y = grid[1], z = grid[2]] {
        const uint32_t blocks[] = {x, y, z};
        fibres_set_shared_at_launch(shared_bytes);
        const uint64_t divergences = fibres_divergence_count();
        kernel->run(argument.data(), blocks, threads);
        state->launches++;
        state->largest_grid = std::max(state->largest_grid, uint64_t(x) * y * z);
        return fibres_divergence_count() == divergences ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
    };
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned threads_x, unsigned threads_y, unsigned threads_z,
                        unsigned shared_bytes, CUstream stream, void **parameters, void **extra) {
    const Call call(__func__, IN_CONTEXT);
    if (call.is_refused) return call.result;
    CUresult result = check_function(function);
    if (result == CUDA_SUCCESS) result = check_stream(stream);
    if (result != CUDA_SUCCESS) return result;
    const uint32_t grid[] = {grid_x, grid_y, grid_z};
    if (threads_y != 1 || threads_z != 1) return CUDA_ERROR_INVALID_VALUE;
    result = check_launch(*function, grid, threads_x, shared_bytes);
    if (result != CUDA_SUCCESS) return result;
    const size_t bytes = function->kernel->argument_bytes;
    const char *argument = static_cast<const char *>(find_argument(parameters, extra, bytes));
    if (!argument) return CUDA_ERROR_INVALID_VALUE;
    return add_work(stream, run_kernel(function->kernel, {argument, argument + bytes}, grid,
                                       threads_x, shared_bytes));
}
