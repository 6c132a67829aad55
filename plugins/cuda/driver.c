#include "cuda/driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

// ---- opening ----

#define TEXT(name) #name

// Where each entry point goes, by the name the library exports.
static const struct {
    const char *name;
    size_t offset;
} entries[] = {
#define X(name) {TEXT(name), offsetof(cuda_driver, name)},
    CUDA_DRIVER_MAP(X)
#undef X
};

// Returns the name of one that is missing, NULL = none.
static const char *find_entries(void *library, cuda_driver *driver) {
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *found = dlsym(library, entries[i].name);
        if (!found) return entries[i].name;
        *(void **)((char *)driver + entries[i].offset) = found;
    }
    return NULL;
}

static hox_status check_version(const cuda_driver *driver, hox_error *error) {
    enum { MAJOR = 1000, MINOR = 10 };
    int version = 0;
    HOX_TRY(
        cuda_check(driver, driver->cuDriverGetVersion(&version), "asking for its version", error));
    if (version / MAJOR >= CUDA_VERSION / MAJOR) return HOX_OK;
    return hox_error_set(error, HOX_UNSUPPORTED,
                         "the NVIDIA driver is too old: it knows CUDA %d.%d, this build of hox "
                         "needs %d.0",
                         version / MAJOR, version % MAJOR / MINOR, CUDA_VERSION / MAJOR);
}

// Its stub, and a driver that sees no device, count as well as no driver at all.
static hox_status initialise(const cuda_driver *driver, hox_error *error) {
    const CUresult result = driver->cuInit(0);
    if (result == CUDA_ERROR_STUB_LIBRARY)
        return hox_error_set(error, HOX_NOT_FOUND, "no NVIDIA driver");
    if (result == CUDA_ERROR_NO_DEVICE)
        return hox_error_set(error, HOX_NOT_FOUND, "the NVIDIA driver sees no GPU");
    return cuda_check(driver, result, "starting the NVIDIA driver", error);
}

// One that is there and cannot be opened is worth its linker's words.
static hox_status no_driver(hox_error *error) {
    const char *why = dlerror();
    if (!why || strstr(why, "No such file"))
        return hox_error_set(error, HOX_NOT_FOUND, "no NVIDIA driver");
    return hox_error_set(error, HOX_UNSUPPORTED, "no NVIDIA driver: %.200s", why);
}

hox_status cuda_driver_open(cuda_driver *driver, hox_error *error) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); // never closed
    if (!library) return no_driver(error);
    const char *missing = find_entries(library, driver);
    if (missing && strcmp(missing, "cuInit") == 0)
        return hox_error_set(error, HOX_UNSUPPORTED,
                             "no NVIDIA driver: libcuda.so.1 is another library");
    if (missing)
        return hox_error_set(error, HOX_UNSUPPORTED,
                             "the NVIDIA driver is too old: it has no function %s", missing);
    HOX_TRY(initialise(driver, error));
    return check_version(driver, error);
}

// ---- errors ----

// By the driver's numbers, for older headers lack some of the names. All others are HOX_DEVICE.
static const struct {
    int first, last;
    hox_status status;
} classes[] = {
    {2, 2, HOX_OUT_OF_DEVICE_MEMORY},
    // The kernels hold nothing for this device, or ask too much of it.
    {209, 209, HOX_UNSUPPORTED},
    {222, 222, HOX_UNSUPPORTED},
    {701, 701, HOX_UNSUPPORTED},
    {801, 801, HOX_UNSUPPORTED},
    // Every later call gives these too, until the process ends.
    {4, 4, HOX_DEVICE_LOST},     // the driver is shutting down
    {214, 214, HOX_DEVICE_LOST}, // uncorrectable error of its memory
    {220, 220, HOX_DEVICE_LOST}, // or of its link
    {226, 226, HOX_DEVICE_LOST},
    {700, 700, HOX_DEVICE_LOST},
    {702, 702, HOX_DEVICE_LOST},
    {709, 710, HOX_DEVICE_LOST}, // the context is gone; an assertion
    {714, 719, HOX_DEVICE_LOST},
    {721, 721, HOX_DEVICE_LOST},
    {810, 810, HOX_DEVICE_LOST}, // the server of a shared device ended it
    {911, 911, HOX_DEVICE_LOST},
};

static hox_status class_of(CUresult result) {
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if ((int)result >= classes[i].first && (int)result <= classes[i].last)
            return classes[i].status;
    return HOX_DEVICE;
}

bool cuda_is_worth_another(CUresult result) {
    return result != CUDA_SUCCESS && class_of(result) != HOX_DEVICE_LOST;
}

hox_status cuda_check(const cuda_driver *driver, CUresult result, const char *what,
                      hox_error *error) {
    if (result == CUDA_SUCCESS) return HOX_OK;
    const char *name = NULL;
    if (driver->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "unknown";
    if (error && error->status == HOX_OK) error->native_code = (int32_t)result;
    return hox_error_set(error, class_of(result), "%s: CUDA error %d (%s)", what, (int)result,
                         name);
}
