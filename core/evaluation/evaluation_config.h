// evaluation_config.h - the section "evaluation" of an experiment.
#pragma once

#include "evaluation/vram_controller.h"

#include <hox/field.h>

typedef struct evaluation_config {
    const char *forward_runtime; // name or path of a runtime plugin
    const char *device;          // auto, cpu, cuda, cuda:1
    int32_t use_amp;             // half precision where the runtime has it
    int64_t eval_batch_size;     // most images at once
    int64_t eval_batch_size_min; // the formula's least
    int64_t batch_size;          // images at once in training
    int32_t adaptive_eval_batch_size;
    double gpu_memory_fraction; // of what is free, that the formula fills
    int64_t cuda_graph_memory_reserve_bytes;
    double vram_usage_threshold; // used / total; 0 = off
    int64_t vram_recovery_generations;
    int64_t gpu_vram_cap_bytes;            // 0 = no cap
    int32_t cache_val_on_gpu;              // select, and test
    int32_t cache_refinement_train_on_gpu; // refine
    int32_t cache_refinement_test_on_gpu;  // monitor
    int32_t keep_population_on_gpu_within_generation;
    int64_t cuda_empty_cache_interval; // generations; 0 = never
    int64_t fitness_eval_parallel;     // lanes; 0 = one per core, 2 on CUDA
} evaluation_config;

// is_cuda: the memory reserve counts.
vram_settings evaluation_vram_settings(const evaluation_config *config, bool is_cuda);

extern const hox_field evaluation_fields[];
extern const uint32_t evaluation_field_count;
