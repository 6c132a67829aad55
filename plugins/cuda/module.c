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
                                         "GPU not supported: loading the kernels", &why);
    // What holds nothing for this device makes it unusable, as any other failure here.
    if (status != HOX_OK)
        return hox_error_pass(error, status == HOX_UNSUPPORTED ? HOX_DEVICE : status, &why);
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

hox_status cuda_launch(const cuda_module *m, CUstream stream, cuda_kernel kernel,
                       uint64_t block_count, const void *argument, hox_error *error) {
    enum { MOST_BLOCKS = 1 << 29 }; // kernels count their warps in 32 bits
    if (block_count > MOST_BLOCKS)
        return hox_error_set(error, HOX_UNSUPPORTED, "%s: %llu blocks are more than a GPU takes",
                             names[kernel], (unsigned long long)block_count);
    char what[64];
    snprintf(what, sizeof what, "launching %s", names[kernel]);
    void *arguments[] = {(void *)argument}; // which the driver only reads
    return cuda_check(m->driver,
                      m->driver->cuLaunchKernel(m->functions[kernel], (unsigned)block_count, 1, 1,
                                                CUDA_THREADS, 1, 1, 0, stream, arguments, NULL),
                      what, error);
}
