#include "cuda/module.h"

// kernels.cu, built for every device: fatbin.c.
extern const unsigned char cuda_fatbin[];

static const char *const names[] = {
#define X(name, ...) [CUDA_KERNEL_##name] = #name,
    CUDA_CONVOLUTION_MAP(X) CUDA_PLAIN_KERNEL_MAP(X)
#undef X
};

hox_status cuda_module_init(cuda_module *m, const cuda_driver *driver, hox_error *error) {
    *m = (cuda_module){.driver = driver};
    hox_error why = HOX_ERROR_INIT;
    const hox_status status = cuda_check(driver, driver->cuModuleLoadData(&m->module, cuda_fatbin),
                                         "loading the kernels", &why);
    // They hold nothing for this device, which makes it unusable, as any other failure here.
    if (status == HOX_UNSUPPORTED) {
        if (error && error->status == HOX_OK) error->native_code = why.native_code;
        return hox_error_set(error, HOX_DEVICE, "GPU not supported: %.200s", why.message);
    }
    if (status != HOX_OK) return hox_error_pass(error, status, &why);
    for (int i = 0; i < CUDA_KERNEL_COUNT; i++)
        HOX_TRY(cuda_check(driver,
                           driver->cuModuleGetFunction(&m->functions[i], m->module, names[i]),
                           names[i], error));
    return HOX_OK;
}

void cuda_module_deinit(cuda_module *m) {
    if (m->module) CUDA_GIVE_BACK(m->driver->cuModuleUnload(m->module));
    *m = (cuda_module){0};
}

const char *cuda_kernel_name(cuda_kernel kernel) {
    return names[kernel];
}

hox_status cuda_allow_shared(const cuda_module *m, cuda_kernel kernel, uint32_t bytes,
                             hox_error *error) {
    const struct {
        CUfunction_attribute attribute;
        int value;
    } rows[] = {
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, CU_SHAREDMEM_CARVEOUT_MAX_SHARED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        HOX_TRY(cuda_check(
            m->driver,
            m->driver->cuFuncSetAttribute(m->functions[kernel], rows[i].attribute, rows[i].value),
            names[kernel], error));
    return HOX_OK;
}

hox_status cuda_launch_grid(const cuda_module *m, CUstream stream, cuda_kernel kernel,
                            cuda_grid grid, const void *argument, hox_error *error) {
    enum { MOST_BLOCKS = 1 << 29 }; // kernels count their warps in 32 bits
    if (grid.block_count > MOST_BLOCKS)
        return hox_error_set(error, HOX_UNSUPPORTED, "%s: %llu blocks are more than a GPU takes",
                             names[kernel], (unsigned long long)grid.block_count);
    char what[64];
    snprintf(what, sizeof what, "launching %s", names[kernel]);
    void *arguments[] = {(void *)argument}; // which the driver only reads
    return cuda_check(m->driver,
                      m->driver->cuLaunchKernel(m->functions[kernel], (unsigned)grid.block_count, 1,
                                                1, grid.threads, 1, 1, grid.shared_bytes, stream,
                                                arguments, NULL),
                      what, error);
}

hox_status cuda_launch(const cuda_module *m, CUstream stream, cuda_kernel kernel,
                       uint64_t block_count, const void *argument, hox_error *error) {
    const cuda_grid grid = {.block_count = block_count, .threads = CUDA_THREADS};
    return cuda_launch_grid(m, stream, kernel, grid, argument, error);
}
