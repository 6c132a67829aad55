// plugin.h - the one constant a plugin exports, and how host and plugin agree.
//
// One shared object is one plugin, named <kind>_<name>.so (fitness_accuracy.so). In C:
//     static const hox_fitness_api api = {.struct_size = sizeof api, .score = accuracy_score};
//     HOX_FITNESS_PLUGIN(&api, .name = "accuracy", .version = "1.0.0", .summary = "...");
// A plugin in C++ or CUDA adds one .c file with these lines.
#pragma once

#include <hox/dataset.h>
#include <hox/field.h>
#include <hox/fitness.h>
#include <hox/runtime.h>

// The contract is a draft: host and plugin must agree on this number, raised with every change.
#define HOX_ABI_DRAFT    5u
#define HOX_PLUGIN_MAGIC UINT64_C(0x3067756c70786f68) // "hoxplug0", little-endian

enum { HOX_KIND_RUNTIME = 1, HOX_KIND_DATASET = 2, HOX_KIND_FITNESS = 3 };

typedef struct hox_plugin {
    uint32_t struct_size;
    uint32_t abi_draft;
    uint64_t magic;
    uint32_t kind;
    uint32_t field_count; // 0 = no options
    uint64_t field_size;  // stride of fields
    uint64_t options_size;
    const hox_field *fields;
    const char *name;               // as experiments say it: a-z, 0-9 and _
    const hox_runtime_api *runtime; // the one that kind says; the others NULL
    const hox_dataset_api *dataset;
    const hox_fitness_api *fitness;
    const char *version; // (optional)
    const char *summary; // (optional) one line
    const char *licence; // (optional) SPDX expression
} hox_plugin;

#define HOX_PLUGIN_SYMBOL "hox_plugin_v0"

#if defined(__GNUC__)
#define HOX_EXPORT __attribute__((visibility("default")))
#else
#define HOX_EXPORT
#endif

#define HOX_PLUGIN_(kind_, ...)                                                                    \
    HOX_EXPORT extern const hox_plugin hox_plugin_v0;                                              \
    const hox_plugin hox_plugin_v0 = {.struct_size = sizeof(hox_plugin),                           \
                                      .abi_draft = HOX_ABI_DRAFT,                                  \
                                      .magic = HOX_PLUGIN_MAGIC,                                   \
                                      .kind = kind_,                                               \
                                      __VA_ARGS__}

#define HOX_RUNTIME_PLUGIN(api, ...) HOX_PLUGIN_(HOX_KIND_RUNTIME, .runtime = api, __VA_ARGS__)
#define HOX_DATASET_PLUGIN(api, ...) HOX_PLUGIN_(HOX_KIND_DATASET, .dataset = api, __VA_ARGS__)
#define HOX_FITNESS_PLUGIN(api, ...) HOX_PLUGIN_(HOX_KIND_FITNESS, .fitness = api, __VA_ARGS__)
