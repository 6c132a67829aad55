// layout.h - where every member of every struct that crosses lies, by hand: a change here is a
// change of the contract. One table per struct, M(member, offset, size).
//
// Checked for each: the offsets, the sizes, that the sizes of the members add up to the struct (so
// nothing is padding and no member is left out), that the struct is a multiple of 8.
#pragma once

#include <hox/dataset.h>
#include <hox/field.h>
#include <hox/fitness.h>
#include <hox/host.h>
#include <hox/plan.h>
#include <hox/plugin.h>
#include <hox/runtime.h>
#include <hox/status.h>
#include <hox/weights.h>

#define LAYOUT_MAP(STRUCT)                                                                         \
    STRUCT(hox_error, HOX_ERROR_LAYOUT, 552)                                                       \
    STRUCT(hox_int_list, HOX_INT_LIST_LAYOUT, 136)                                                 \
    STRUCT(hox_real_list, HOX_REAL_LIST_LAYOUT, 136)                                               \
    STRUCT(hox_field, HOX_FIELD_LAYOUT, 88)                                                        \
    STRUCT(hox_host, HOX_HOST_LAYOUT, 48)                                                          \
    STRUCT(hox_plan, HOX_PLAN_LAYOUT, 168)                                                         \
    STRUCT(hox_weights, HOX_WEIGHTS_LAYOUT, 48)                                                    \
    STRUCT(hox_dataset_info, HOX_DATASET_INFO_LAYOUT, 64)                                          \
    STRUCT(hox_dataset_api, HOX_DATASET_API_LAYOUT, 40)                                            \
    STRUCT(hox_predictions, HOX_PREDICTIONS_LAYOUT, 136)                                           \
    STRUCT(hox_genome_facts, HOX_GENOME_FACTS_LAYOUT, 48)                                          \
    STRUCT(hox_fitness_api, HOX_FITNESS_API_LAYOUT, 16)                                            \
    STRUCT(hox_device_info, HOX_DEVICE_INFO_LAYOUT, 168)                                           \
    STRUCT(hox_runtime_caps, HOX_RUNTIME_CAPS_LAYOUT, 40)                                          \
    STRUCT(hox_prepare_options, HOX_PREPARE_OPTIONS_LAYOUT, 16)                                    \
    STRUCT(hox_job, HOX_JOB_LAYOUT, 64)                                                            \
    STRUCT(hox_memory, HOX_MEMORY_LAYOUT, 48)                                                      \
    STRUCT(hox_estimate, HOX_ESTIMATE_LAYOUT, 24)                                                  \
    STRUCT(hox_runtime_api, HOX_RUNTIME_API_LAYOUT, 144)                                           \
    STRUCT(hox_plugin, HOX_PLUGIN_LAYOUT, 104)

#define HOX_ERROR_LAYOUT(M)                                                                        \
    M(struct_size, 0, 4)                                                                           \
    M(status, 4, 4)                                                                                \
    M(bytes_requested, 8, 8)                                                                       \
    M(bytes_available, 16, 8)                                                                      \
    M(plan_node, 24, 4)                                                                            \
    M(plan_edge, 28, 4)                                                                            \
    M(native_code, 32, 4)                                                                          \
    M(reserved, 36, 4)                                                                             \
    M(message, 40, 512)

#define HOX_INT_LIST_LAYOUT(M)                                                                     \
    M(count, 0, 8)                                                                                 \
    M(values, 8, 128)

#define HOX_REAL_LIST_LAYOUT(M)                                                                    \
    M(count, 0, 8)                                                                                 \
    M(values, 8, 128)

#define HOX_FIELD_LAYOUT(M)                                                                        \
    M(name, 0, 8)                                                                                  \
    M(help, 8, 8)                                                                                  \
    M(type, 16, 4)                                                                                 \
    M(offset, 20, 4)                                                                               \
    M(default_int, 24, 8)                                                                          \
    M(least_int, 32, 8)                                                                            \
    M(most_int, 40, 8)                                                                             \
    M(default_real, 48, 8)                                                                         \
    M(least_real, 56, 8)                                                                           \
    M(most_real, 64, 8)                                                                            \
    M(default_text, 72, 8)                                                                         \
    M(choices, 80, 8)

#define HOX_HOST_LAYOUT(M)                                                                         \
    M(struct_size, 0, 4)                                                                           \
    M(log_level, 4, 4)                                                                             \
    M(context, 8, 8)                                                                               \
    M(log, 16, 8)                                                                                  \
    M(reserve, 24, 8)                                                                              \
    M(release, 32, 8)                                                                              \
    M(random, 40, 8)

#define HOX_PLAN_LAYOUT(M)                                                                         \
    M(struct_size, 0, 4)                                                                           \
    M(node_count, 4, 4)                                                                            \
    M(edge_count, 8, 4)                                                                            \
    M(readout, 12, 4)                                                                              \
    M(node_channels, 16, 8)                                                                        \
    M(node_height, 24, 8)                                                                          \
    M(node_width, 32, 8)                                                                           \
    M(node_activation, 40, 8)                                                                      \
    M(node_edge_begin, 48, 8)                                                                      \
    M(node_last_use, 56, 8)                                                                        \
    M(edge_source, 64, 8)                                                                          \
    M(edge_kernel_h, 72, 8)                                                                        \
    M(edge_kernel_w, 80, 8)                                                                        \
    M(edge_stride_h, 88, 8)                                                                        \
    M(edge_stride_w, 96, 8)                                                                        \
    M(edge_padding_h, 104, 8)                                                                      \
    M(edge_padding_w, 112, 8)                                                                      \
    M(edge_weight_offset, 120, 8)                                                                  \
    M(weight_count, 128, 8)                                                                        \
    M(flops_per_sample, 136, 8)                                                                    \
    M(bytes_per_sample, 144, 8)                                                                    \
    M(structure_hash, 152, 16)

#define HOX_WEIGHTS_LAYOUT(M)                                                                      \
    M(struct_size, 0, 4)                                                                           \
    M(reserved, 4, 4)                                                                              \
    M(values, 8, 8)                                                                                \
    M(count, 16, 8)                                                                                \
    M(version, 24, 8)                                                                              \
    M(edge_value_hash, 32, 8)                                                                      \
    M(node_value_hash, 40, 8)

#define HOX_DATASET_INFO_LAYOUT(M)                                                                 \
    M(struct_size, 0, 4)                                                                           \
    M(pixel_type, 4, 4)                                                                            \
    M(channels, 8, 4)                                                                              \
    M(height, 12, 4)                                                                               \
    M(width, 16, 4)                                                                                \
    M(class_count, 20, 4)                                                                          \
    M(train_count, 24, 8)                                                                          \
    M(test_count, 32, 8)                                                                           \
    M(class_names, 40, 8)                                                                          \
    M(fingerprint, 48, 16)

#define HOX_DATASET_API_LAYOUT(M)                                                                  \
    M(struct_size, 0, 4)                                                                           \
    M(reserved, 4, 4)                                                                              \
    M(open, 8, 8)                                                                                  \
    M(close, 16, 8)                                                                                \
    M(info, 24, 8)                                                                                 \
    M(read, 32, 8)

#define HOX_PREDICTIONS_LAYOUT(M)                                                                  \
    M(struct_size, 0, 4)                                                                           \
    M(reserved, 4, 4)                                                                              \
    M(count, 8, 8)                                                                                 \
    M(logits, 16, 8)                                                                               \
    M(labels, 24, 8)                                                                               \
    M(threshold, 32, 8)                                                                            \
    M(true_positives, 40, 8)                                                                       \
    M(true_negatives, 48, 8)                                                                       \
    M(false_positives, 56, 8)                                                                      \
    M(false_negatives, 64, 8)                                                                      \
    M(accuracy, 72, 8)                                                                             \
    M(balanced_accuracy, 80, 8)                                                                    \
    M(precision, 88, 8)                                                                            \
    M(recall, 96, 8)                                                                               \
    M(f1, 104, 8)                                                                                  \
    M(mcc, 112, 8)                                                                                 \
    M(auc, 120, 8)                                                                                 \
    M(logloss, 128, 8)

#define HOX_GENOME_FACTS_LAYOUT(M)                                                                 \
    M(struct_size, 0, 4)                                                                           \
    M(reserved, 4, 4)                                                                              \
    M(node_count, 8, 4)                                                                            \
    M(edge_count, 12, 4)                                                                           \
    M(enabled_edge_count, 16, 4)                                                                   \
    M(executed_node_count, 20, 4)                                                                  \
    M(executed_edge_count, 24, 4)                                                                  \
    M(reserved_2, 28, 4)                                                                           \
    M(weight_count, 32, 8)                                                                         \
    M(flops_per_sample, 40, 8)

#define HOX_FITNESS_API_LAYOUT(M)                                                                  \
    M(struct_size, 0, 4)                                                                           \
    M(flags, 4, 4)                                                                                 \
    M(score, 8, 8)

#define HOX_DEVICE_INFO_LAYOUT(M)                                                                  \
    M(struct_size, 0, 4)                                                                           \
    M(kind, 4, 4)                                                                                  \
    M(score, 8, 4)                                                                                 \
    M(flags, 12, 4)                                                                                \
    M(total_bytes, 16, 8)                                                                          \
    M(name, 24, 64)                                                                                \
    M(address, 88, 32)                                                                             \
    M(instruction_set, 120, 32)                                                                    \
    M(bus, 152, 16)

#define HOX_RUNTIME_CAPS_LAYOUT(M)                                                                 \
    M(struct_size, 0, 4)                                                                           \
    M(flags, 4, 4)                                                                                 \
    M(precisions, 8, 4)                                                                            \
    M(activations, 12, 4)                                                                          \
    M(readouts, 16, 4)                                                                             \
    M(max_kernel, 20, 4)                                                                           \
    M(max_channels, 24, 4)                                                                         \
    M(batch_multiple, 28, 4)                                                                       \
    M(max_group, 32, 4)                                                                            \
    M(reserved, 36, 4)

#define HOX_MEMORY_LAYOUT(M)                                                                       \
    M(struct_size, 0, 4)                                                                           \
    M(reserved, 4, 4)                                                                              \
    M(total_bytes, 8, 8)                                                                           \
    M(free_bytes, 16, 8)                                                                           \
    M(cached_bytes, 24, 8)                                                                         \
    M(in_use_bytes, 32, 8)                                                                         \
    M(peak_bytes, 40, 8)

#define HOX_ESTIMATE_LAYOUT(M)                                                                     \
    M(struct_size, 0, 4)                                                                           \
    M(reserved, 4, 4)                                                                              \
    M(fixed_bytes, 8, 8)                                                                           \
    M(bytes_per_sample, 16, 8)

#define HOX_PREPARE_OPTIONS_LAYOUT(M)                                                              \
    M(struct_size, 0, 4)                                                                           \
    M(capacity, 4, 4)                                                                              \
    M(precision, 8, 4)                                                                             \
    M(purpose, 12, 4)

#define HOX_JOB_LAYOUT(M)                                                                          \
    M(struct_size, 0, 4)                                                                           \
    M(status, 4, 4)                                                                                \
    M(runner, 8, 8)                                                                                \
    M(weights, 16, 8)                                                                              \
    M(samples, 24, 8)                                                                              \
    M(first, 32, 8)                                                                                \
    M(count, 40, 8)                                                                                \
    M(logits, 48, 8)                                                                               \
    M(error, 56, 8)

#define HOX_RUNTIME_API_LAYOUT(M)                                                                  \
    M(struct_size, 0, 4)                                                                           \
    M(reserved, 4, 4)                                                                              \
    M(device_count, 8, 8)                                                                          \
    M(device_info, 16, 8)                                                                          \
    M(open, 24, 8)                                                                                 \
    M(close, 32, 8)                                                                                \
    M(caps, 40, 8)                                                                                 \
    M(check_plan, 48, 8)                                                                           \
    M(samples_create, 56, 8)                                                                       \
    M(samples_write, 64, 8)                                                                        \
    M(samples_destroy, 72, 8)                                                                      \
    M(prepare, 80, 8)                                                                              \
    M(release, 88, 8)                                                                              \
    M(evaluate, 96, 8)                                                                             \
    M(memory, 104, 8)                                                                              \
    M(trim, 112, 8)                                                                                \
    M(estimate, 120, 8)                                                                            \
    M(train_forward, 128, 8)                                                                       \
    M(train_backward, 136, 8)

#define HOX_PLUGIN_LAYOUT(M)                                                                       \
    M(struct_size, 0, 4)                                                                           \
    M(abi_draft, 4, 4)                                                                             \
    M(magic, 8, 8)                                                                                 \
    M(kind, 16, 4)                                                                                 \
    M(field_count, 20, 4)                                                                          \
    M(field_size, 24, 8)                                                                           \
    M(options_size, 32, 8)                                                                         \
    M(fields, 40, 8)                                                                               \
    M(name, 48, 8)                                                                                 \
    M(runtime, 56, 8)                                                                              \
    M(dataset, 64, 8)                                                                              \
    M(fitness, 72, 8)                                                                              \
    M(version, 80, 8)                                                                              \
    M(summary, 88, 8)                                                                              \
    M(licence, 96, 8)
