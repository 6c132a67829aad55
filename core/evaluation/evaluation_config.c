#include "evaluation/evaluation_config.h"

const hox_field evaluation_fields[] = {
    HOX_TEXT(evaluation_config, forward_runtime, "eager",
             "runtime plugin, by name or by the path of its file"),
    HOX_TEXT(evaluation_config, device, "auto", "auto, cpu, cuda, or one of several: cuda:1"),
    HOX_INT(evaluation_config, eval_batch_size, 45000, 1, 1000000000,
            "most images given to the runtime at once"),
    HOX_INT(evaluation_config, fitness_eval_parallel, 0, 0, 1024,
            "lanes: genomes evaluated beside each other; 0 = one per core"),
    HOX_INT(evaluation_config, gpu_vram_cap_bytes, 0, 0, INT64_MAX,
            "most memory the runtime may take, on the CPU too; 0 = no cap"),
};
const uint32_t evaluation_field_count = sizeof evaluation_fields / sizeof *evaluation_fields;
