#include "runtime/limits.h"

void limits_caps(hox_runtime_caps *caps) {
    *caps = (hox_runtime_caps){
        .struct_size = sizeof *caps,
        .flags = HOX_RUNTIME_BATCH_INVARIANT | HOX_RUNTIME_DETERMINISTIC,
        .precisions = HOX_PRECISION_FP32,
        .activations = (1U << HOX_ACTIVATION_COUNT) - 1,
        .readouts = (1U << HOX_READOUT_COUNT) - 1,
        .max_kernel = LIMIT_KERNEL,
        .max_channels = LIMIT_CHANNELS,
        .batch_multiple = 1,
        .max_group = 1,
    };
}

static hox_status unsupported_node(hox_error *error, uint32_t node, const char *what,
                                   uint32_t value) {
    if (error && error->status == HOX_OK) error->plan_node = (int32_t)node;
    return hox_error_set(error, HOX_UNSUPPORTED, "node %u: %s %u is not supported", node, what,
                         value);
}

static hox_status unsupported_edge(hox_error *error, uint32_t edge, const char *what,
                                   uint32_t value) {
    if (error && error->status == HOX_OK) error->plan_edge = (int32_t)edge;
    return hox_error_set(error, HOX_UNSUPPORTED, "edge %u: %s %u is not supported", edge, what,
                         value);
}

// 1 .. most
static int is_within(uint32_t value, uint32_t most) {
    return value >= 1 && value <= most;
}

static hox_status check_node(const hox_plan *plan, uint32_t i, hox_error *error) {
    if (!is_within(plan->node_channels[i], LIMIT_CHANNELS))
        return unsupported_node(error, i, "channel count", plan->node_channels[i]);
    if (!is_within(plan->node_height[i], LIMIT_SIDE))
        return unsupported_node(error, i, "height", plan->node_height[i]);
    if (!is_within(plan->node_width[i], LIMIT_SIDE))
        return unsupported_node(error, i, "width", plan->node_width[i]);
    if (plan->node_activation[i] >= HOX_ACTIVATION_COUNT)
        return unsupported_node(error, i, "activation", plan->node_activation[i]);
    return HOX_OK;
}

static hox_status check_edge(const hox_plan *plan, uint32_t i, hox_error *error) {
    const struct {
        const char *name;
        uint32_t value, least, most;
    } rows[] = {{"kernel height", plan->edge_kernel_h[i], 1, LIMIT_KERNEL},
                {"kernel width", plan->edge_kernel_w[i], 1, LIMIT_KERNEL},
                {"vertical stride", plan->edge_stride_h[i], 1, LIMIT_SIDE},
                {"horizontal stride", plan->edge_stride_w[i], 1, LIMIT_SIDE},
                {"vertical padding", plan->edge_padding_h[i], 0, LIMIT_SIDE},
                {"horizontal padding", plan->edge_padding_w[i], 0, LIMIT_SIDE}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].value < rows[k].least || rows[k].value > rows[k].most)
            return unsupported_edge(error, i, rows[k].name, rows[k].value);
    return HOX_OK;
}

hox_status limits_check_plan(const hox_plan *plan, uint32_t precision, hox_error *error) {
    if (precision != HOX_PRECISION_FP32)
        return hox_error_set(error, HOX_UNSUPPORTED, "precision %u is not supported", precision);
    if (plan->readout >= HOX_READOUT_COUNT)
        return hox_error_set(error, HOX_UNSUPPORTED, "readout %u is not supported", plan->readout);
    for (uint32_t i = 0; i < plan->node_count; i++)
        HOX_TRY(check_node(plan, i, error));
    for (uint32_t i = 0; i < plan->edge_count; i++)
        HOX_TRY(check_edge(plan, i, error));
    return HOX_OK;
}
