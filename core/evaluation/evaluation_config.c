#include "evaluation/evaluation_config.h"

const hox_field evaluation_fields[] = {
    HOX_TEXT(evaluation_config, forward_runtime, "eager",
             "runtime plugin, by name or by the path of its file"),
    HOX_TEXT(evaluation_config, device, "auto", "auto, cpu, cuda, or one of several: cuda:1"),
    HOX_BOOL(
        evaluation_config, use_amp, 0,
        "half precision inside the forward pass, sums and logits in fp32; where the runtime has "
        "none a warning, and fp32"),
    HOX_INT(evaluation_config, eval_batch_size, 45000, 1, 1000000000,
            "most images given to the runtime at once"),
    HOX_INT(evaluation_config, eval_batch_size_min, 256, 1, 1000000000,
            "images at once that free memory does not push the batch below; eval_batch_size wins"),
    HOX_INT(evaluation_config, batch_size, 128, 1, 1000000000,
            "images at once in training; out of memory does not push the batch below it either"),
    HOX_BOOL(evaluation_config, adaptive_eval_batch_size, 0,
             "ask before each generation how many images free memory holds"),
    HOX_REAL(evaluation_config, gpu_memory_fraction, 0.85, 1e-6, 1.0,
             "share of the free memory that the adaptive batch fills"),
    HOX_INT(evaluation_config, cuda_graph_memory_reserve_bytes, 600000000, 0, INT64_MAX,
            "memory that the adaptive batch leaves alone; on CUDA only"),
    HOX_REAL(evaluation_config, vram_usage_threshold, 0.72, 0.0, 1.0,
             "share of all memory; with more in use after a generation the batch is halved; 0 = "
             "off"),
    HOX_INT(evaluation_config, vram_recovery_generations, 8, 0, 1000000000,
            "generations without shortage until an adaptive batch may double; 0 = never"),
    HOX_INT(evaluation_config, gpu_vram_cap_bytes, 0, 0, INT64_MAX,
            "most memory the runtime may take, on the CPU too; 0 = no cap"),
    HOX_BOOL(evaluation_config, cache_val_on_gpu, 1,
             "keep the select split on the device where it fits; else it is streamed in chunks"),
    HOX_BOOL(evaluation_config, cache_refinement_train_on_gpu, 1, "the same for the refine split"),
    HOX_BOOL(evaluation_config, cache_refinement_test_on_gpu, 1, "the same for the monitor split"),
    HOX_BOOL(evaluation_config, keep_population_on_gpu_within_generation, 0,
             "keep every structure of a generation prepared until the generation ends"),
    HOX_INT(evaluation_config, cuda_empty_cache_interval, 50, 0, 1000000000,
            "generations between returns of cached memory to the device; 0 = never"),
    HOX_INT(evaluation_config, fitness_eval_parallel, 0, 0, 1024,
            "lanes: genomes evaluated beside each other; 0 = one per core, 2 on CUDA"),
};
vram_settings evaluation_vram_settings(const evaluation_config *config, bool is_cuda) {
    const int64_t bound = config->batch_size > config->eval_batch_size_min
                              ? config->batch_size
                              : config->eval_batch_size_min;
    return (vram_settings){
        .batch_most = (uint64_t)config->eval_batch_size,
        .batch_least = (uint64_t)config->eval_batch_size_min,
        .lower_bound = (uint64_t)bound,
        .fraction = config->gpu_memory_fraction,
        .threshold = config->vram_usage_threshold,
        .reserve_bytes = is_cuda ? (uint64_t)config->cuda_graph_memory_reserve_bytes : 0,
        .is_adaptive = config->adaptive_eval_batch_size != 0,
        .recovery_generations = (uint32_t)config->vram_recovery_generations,
    };
}

const uint32_t evaluation_field_count = sizeof evaluation_fields / sizeof *evaluation_fields;
