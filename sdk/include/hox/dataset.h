// dataset.h - the contract of a dataset: labelled images in a train and, maybe, a test split.
#pragma once

#include <hox/host.h>

enum { HOX_SPLIT_TRAIN = 1, HOX_SPLIT_TEST = 2 };
enum { HOX_PIXEL_U8 = 1, HOX_PIXEL_F32 = 2 }; // u8: 0..255; the host divides by 255

typedef struct hox_dataset hox_dataset; // body is the plugin's own

typedef struct hox_dataset_info {
    uint32_t struct_size;
    uint32_t pixel_type;
    uint32_t channels, height, width;
    uint32_t class_count;
    uint64_t train_count;
    uint64_t test_count;            // 0 = no test split
    const char *const *class_names; // class_count names, the dataset's own
    uint64_t fingerprint[2];        // of content and of the options that change it
} hox_dataset_info;

typedef struct hox_dataset_api {
    uint32_t struct_size;
    uint32_t reserved;

    // options: the filled struct of the plugin's fields, NULL without fields; lives until close.
    // Errors: IO, CORRUPT; the message names file, offset and record. [main]
    hox_status (*open)(const hox_host *host, const void *options, hox_dataset **dataset,
                       hox_error *error);
    void (*close)(hox_dataset *dataset);

    void (*info)(const hox_dataset *dataset, hox_dataset_info *info); // [any]

    // A pure function: images [count][C][H][W] of the split's indices, any order, repeats allowed,
    // and their classes, into the caller's memory; images NULL = labels only. Errors:
    // INVALID_ARGUMENT (no such split or index), IO, CORRUPT. [main]
    hox_status (*read)(hox_dataset *dataset, uint32_t split, const uint64_t *indices,
                       uint64_t count, void *images, int32_t *labels, hox_error *error);
} hox_dataset_api;
