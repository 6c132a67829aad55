#include "plugin_host/loader.h"

#include "plugin_host/descriptor.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static hox_status check_file(const char *path, struct stat *info, hox_error *error) {
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); // a FIFO must not hang us
    if (descriptor < 0)
        return hox_error_set(error, HOX_VERSION, "cannot open: %s", strerror(errno));
    const char *wrong = NULL;
    char magic[4] = "";
    if (fstat(descriptor, info) != 0 || !S_ISREG(info->st_mode))
        wrong = "not a regular file";
    else if (read(descriptor, magic, sizeof magic) != sizeof magic ||
             memcmp(magic, "\177ELF", sizeof magic) != 0)
        wrong = "not a shared object";
    close(descriptor);
    return wrong ? hox_error_set(error, HOX_VERSION, "%s", wrong) : HOX_OK;
}

// The dynamic linker's message without the path, which stands in front already.
static hox_status link_failed(const char *path, hox_error *error) {
    const char *message = dlerror();
    const size_t length = strlen(path);
    if (message && strncmp(message, path, length) == 0 && message[length] == ':')
        message += length + 1 + (message[length + 1] == ' ');
    return hox_error_set(error, HOX_VERSION, "%s", message ? message : "cannot be loaded");
}

// A constructor may change how the FPU rounds, and objects built with -ffast-math do.
static void *open_library(const char *path) {
    fenv_t environment;
    fegetenv(&environment);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    fesetenv(&environment);
    return library;
}

static hox_status load(const char *path, uint32_t kind, const char *name, const hox_plugin **plugin,
                       hox_error *error) {
    struct stat checked, loaded;
    HOX_TRY(check_file(path, &checked, error));
    void *library = open_library(path);
    if (!library) return link_failed(path, error);
    if (stat(path, &loaded) != 0 || loaded.st_dev != checked.st_dev ||
        loaded.st_ino != checked.st_ino)
        return hox_error_set(error, HOX_VERSION, "changed while it was being loaded");
    const hox_plugin *found = dlsym(library, HOX_PLUGIN_SYMBOL);
    if (!found)
        return hox_error_set(error, HOX_VERSION,
                             "no symbol " HOX_PLUGIN_SYMBOL "; is it a hox plugin?");
    HOX_TRY(descriptor_check(found, kind, name, error));
    *plugin = found;
    return HOX_OK;
}

hox_status loader_open(const char *path, uint32_t kind, const char *name, const hox_plugin **plugin,
                       hox_error *error) {
    *plugin = NULL;
    char real[PATH_MAX];
    if (!realpath(path, real))
        return hox_error_set(error, HOX_VERSION, "%s: %s", path, strerror(errno));
    hox_error why = HOX_ERROR_INIT;
    if (load(real, kind, name, plugin, &why) == HOX_OK) return HOX_OK;
    return hox_error_set(error, HOX_VERSION, "%s: %.400s", path, why.message);
}
