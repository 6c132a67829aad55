#include "cpu/device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

hox_status cpu_device_count(const hox_host *host, uint32_t *count, hox_error *error) {
    (void)host, (void)error;
    *count = 1;
    return HOX_OK;
}

hox_status cpu_check_device(uint32_t device, hox_error *error) {
    if (device == 0) return HOX_OK;
    return hox_error_set(error, HOX_INVALID_ARGUMENT, "there is device 0 alone, not %u", device);
}

// "model name : X" of the first processor, where the system says so.
static void read_name(char *name, size_t size) {
    snprintf(name, size, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) != 0 || !value) continue;
        value += strspn(value, ": \t");
        snprintf(name, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    fclose(file);
}

// 0 where the system does not say.
static uint64_t system_bytes(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}

hox_status cpu_describe_device(uint32_t device, const char *instruction_set, uint32_t score,
                               hox_device_info *info, hox_error *error) {
    HOX_TRY(cpu_check_device(device, error));
    *info = (hox_device_info){.struct_size = sizeof *info,
                              .kind = HOX_DEVICE_CPU,
                              .score = score,
                              .total_bytes = system_bytes(),
                              .address = "cpu"};
    read_name(info->name, sizeof info->name);
    snprintf(info->instruction_set, sizeof info->instruction_set, "%s", instruction_set);
    return HOX_OK;
}
