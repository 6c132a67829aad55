#include "cpu/device.h"

#include "cpu/kernels.h"

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

void cpu_caps(hox_runtime_caps *caps) {
    *caps = (hox_runtime_caps){
        .struct_size = sizeof *caps,
        .flags = HOX_RUNTIME_BATCH_INVARIANT | HOX_RUNTIME_DETERMINISTIC,
        .precisions = HOX_PRECISION_FP32,
        .activations = (1U << HOX_ACTIVATION_COUNT) - 1,
        .readouts = (1U << HOX_READOUT_COUNT) - 1,
        .max_kernel = CPU_MOST_KERNEL,
        .max_channels = CPU_MOST_CHANNELS,
        .batch_multiple = 1,
        .max_group = 1,
    };
}

static hox_status unsupported_node(hox_error *error, uint32_t node, const char *what,
                                   uint32_t value) {
    if (error && error->status == HOX_OK) error->plan_node = (int32_t)node;
    return hox_error_set(error, HOX_UNSUPPORTED, "node %u: %s %u is not supported on the CPU", node,
                         what, value);
}

static hox_status unsupported_edge(hox_error *error, uint32_t edge, const char *what,
                                   uint32_t value) {
    if (error && error->status == HOX_OK) error->plan_edge = (int32_t)edge;
    return hox_error_set(error, HOX_UNSUPPORTED, "edge %u: %s %u is not supported on the CPU", edge,
                         what, value);
}

// 1 .. most
static int is_within(uint32_t value, uint32_t most) {
    return value >= 1 && value <= most;
}

static hox_status check_node(const hox_plan *plan, uint32_t i, hox_error *error) {
    if (!is_within(plan->node_channels[i], CPU_MOST_CHANNELS))
        return unsupported_node(error, i, "channel count", plan->node_channels[i]);
    if (!is_within(plan->node_height[i], CPU_MOST_SIDE))
        return unsupported_node(error, i, "height", plan->node_height[i]);
    if (!is_within(plan->node_width[i], CPU_MOST_SIDE))
        return unsupported_node(error, i, "width", plan->node_width[i]);
    if (plan->node_activation[i] >= HOX_ACTIVATION_COUNT)
        return unsupported_node(error, i, "activation", plan->node_activation[i]);
    return HOX_OK;
}

static hox_status check_edge(const hox_plan *plan, uint32_t i, hox_error *error) {
    const struct {
        const char *name;
        uint32_t value, least, most;
    } rows[] = {{"kernel height", plan->edge_kernel_h[i], 1, CPU_MOST_KERNEL},
                {"kernel width", plan->edge_kernel_w[i], 1, CPU_MOST_KERNEL},
                {"vertical stride", plan->edge_stride_h[i], 1, CPU_MOST_SIDE},
                {"horizontal stride", plan->edge_stride_w[i], 1, CPU_MOST_SIDE},
                {"vertical padding", plan->edge_padding_h[i], 0, CPU_MOST_SIDE},
                {"horizontal padding", plan->edge_padding_w[i], 0, CPU_MOST_SIDE}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].value < rows[k].least || rows[k].value > rows[k].most)
            return unsupported_edge(error, i, rows[k].name, rows[k].value);
    return HOX_OK;
}

hox_status cpu_check_plan(const hox_plan *plan, uint32_t precision, hox_error *error) {
    if (precision != HOX_PRECISION_FP32)
        return hox_error_set(error, HOX_UNSUPPORTED, "precision %u is not supported on the CPU",
                             precision);
    if (plan->readout >= HOX_READOUT_COUNT)
        return hox_error_set(error, HOX_UNSUPPORTED, "readout %u is not supported on the CPU",
                             plan->readout);
    for (uint32_t i = 0; i < plan->node_count; i++)
        HOX_TRY(check_node(plan, i, error));
    for (uint32_t i = 0; i < plan->edge_count; i++)
        HOX_TRY(check_edge(plan, i, error));
    return HOX_OK;
}
