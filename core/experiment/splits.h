// splits.h - which images are for what, and how they are normalised (SPEC 6).
#pragma once

#include "evaluation/split.h"
#include "experiment/experiment_config.h"

#include <hox/dataset.h>

enum { SPLIT_REFINE, SPLIT_SELECT, SPLIT_MONITOR, SPLIT_TEST, SPLIT_COUNT };
extern const char *const split_names[SPLIT_COUNT];

typedef struct split_part {
    uint32_t source;    // HOX_SPLIT_* it is cut from
    uint64_t *indices;  // into the source, ascending
    uint8_t *labels;    // 1 = positive
    double *brightness; // mean raw pixel of an image, 0..1; NaN until it has been read
    uint64_t count;     // 0 = there is none
    uint64_t positive_count;
} split_part;

typedef struct splits {
    const hox_dataset_api *api;
    hox_dataset *dataset; // borrowed
    hox_dataset_info info;
    uint32_t positive_class;
    int64_t negative_class; // -1 = all others
    split_part parts[SPLIT_COUNT];
    double *means, *deviations; // per channel, of refine and select; pixels 0..1
} splits;

// Cuts the train split by seed, stratified by class, leaves at most max_images in
// each part, and reads refine and select once to measure the normalisation. An empty part, or one
// without a class, is warned of. Errors: BAD_OPTION (an unknown class; four fractions and a test
// split; no image left to select by), what the dataset says, OUT_OF_HOST_MEMORY. [main]
hox_status splits_init(splits *s, const hox_dataset_api *api, hox_dataset *dataset,
                       const task_config *task, uint64_t seed, const log_sink *log,
                       hox_error *error) HOX_MUST_CHECK;
void splits_deinit(splits *s); // {0} too

// Reads images first .. first + count - 1 of a part, normalised. Errors: what the dataset and the
// consumer say. [main]
hox_status splits_read(splits *s, uint32_t part, uint64_t first, uint64_t count,
                       image_consumer *consume, void *consumer, hox_error *error) HOX_MUST_CHECK;

// Size, classes of the task, fingerprint, parts and normalisation, as run.json tells them. The
// caller owns the reference. NULL without memory.
json_t *splits_json(const splits *s);
