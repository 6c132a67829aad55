// genome_config.h - what a genome may be; the section "genome" of an experiment.
#pragma once

#include <hox/field.h>
#include <hox/plan.h>

typedef struct genome_config {
    int64_t max_nodes, max_edges;
    int64_t max_kernel; // 0 = max(32, image side)
    hox_int_list allowed_channels;
    hox_int_list output_size;                     // C, H, W
    int32_t output_readout;                       // HOX_READOUT_*
    int32_t output_activation, hidden_activation; // HOX_ACTIVATION_*
    int32_t same3, stride2;                       // geometry rules beside "derived"
} genome_config;

extern const hox_field genome_fields[];
extern const uint32_t genome_field_count;

// Names in the order of HOX_ACTIVATION_* and HOX_READOUT_*, NULL at the end.
extern const char *const activation_names[];
extern const char *const readout_names[];
