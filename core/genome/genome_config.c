#include "genome/genome_config.h"

const char *const activation_names[] = {"identity", "relu", "leaky_relu", "tanh",
                                        "sigmoid",  "gelu", "silu",       NULL};
const char *const readout_names[] = {"sum", "mean", "mean_minus_median", NULL};

const hox_field genome_fields[] = {
    HOX_INT(genome_config, max_nodes, 64, 2, 1000000, "most nodes of a genome"),
    HOX_INT(genome_config, max_edges, 256, 1, 1000000, "most edges of a genome"),
    HOX_INT(genome_config, max_kernel, 0, 0, 65536,
            "largest kernel side in pixels; 0 = the larger of 32 and the image side"),
    HOX_INTS(genome_config, allowed_channels, "[3]", 1, 4096,
             "channels evolution may choose for a hidden node"),
    HOX_INTS(genome_config, output_size, "[3, 1, 1]", 1, 65536,
             "channels, height and width of the output node"),
    HOX_CHOICE(genome_config, output_readout, "sum", readout_names,
               "how the output map becomes one logit"),
    HOX_CHOICE(genome_config, output_activation, "identity", activation_names,
               "activation of the output node"),
    HOX_CHOICE(genome_config, hidden_activation, "relu", activation_names,
               "activation of a new hidden node"),
    HOX_BOOL(genome_config, same3, 0,
             "nodes of equal size are joined by a kernel of 3 with padding 1 instead of 1"),
    HOX_BOOL(
        genome_config, stride2, 0,
        "a node of half the size (rounded up) is reached by a kernel of 3, stride 2, padding 1"),
};
const uint32_t genome_field_count = sizeof genome_fields / sizeof *genome_fields;
