// evaluation_config.h - the section "evaluation" of an experiment.
#pragma once

#include <hox/field.h>

typedef struct evaluation_config {
    const char *forward_runtime;   // name or path of a runtime plugin
    const char *device;            // auto, cpu, cuda, cuda:1
    int64_t eval_batch_size;       // images
    int64_t fitness_eval_parallel; // lanes, 0 = one per core
    int64_t gpu_vram_cap_bytes;    // 0 = no cap
} evaluation_config;

extern const hox_field evaluation_fields[];
extern const uint32_t evaluation_field_count;
