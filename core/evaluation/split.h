// split.h - a data split: where its images come from, what is right about each, and the copy on the
// device.
#pragma once

#include <hox/runtime.h>
#include <stdbool.h>

// Takes blocks of images in order: fp32 (count,C,H,W), the first one's place in the split.
typedef hox_status image_consumer(void *context, uint64_t first, uint64_t count,
                                  const float *images, hox_error *error);

// Hands images first .. first + count - 1 to consume. Errors: its own, and the consumer's. [main]
typedef hox_status image_reader(void *context, uint64_t first, uint64_t count,
                                image_consumer *consume, void *consumer, hox_error *error);

// What a split is for: the setting that says whether it may stay on the device.
enum { SPLIT_USE_SCORE, SPLIT_USE_TRAIN, SPLIT_USE_MONITOR, SPLIT_USE_COUNT };

typedef struct evaluation_split {
    image_reader *read;
    void *reader; // context of read
    uint64_t count;
    uint32_t channels, height, width;
    const uint8_t *labels; // borrowed; 1 = positive
    uint32_t use;          // SPLIT_USE_*

    // The evaluation's own, 0 at first.
    hox_samples *samples; // all of it on the device; NULL = not there
    bool is_told;         // that it does not fit
    struct evaluation_split *next;
} evaluation_split;

uint64_t split_image_bytes(const evaluation_split *s); // of one, as fp32

// Room on the device for count images of the split's size. Errors: out of memory. [main]
hox_status split_create_samples(const evaluation_split *s, const hox_runtime_api *api,
                                hox_runtime *runtime, uint64_t count, hox_samples **samples,
                                hox_error *error) HOX_MUST_CHECK;

// Images first .. first + count - 1 to the front of samples. Errors: what the reader says. [main]
hox_status split_fill(const evaluation_split *s, const hox_runtime_api *api, hox_samples *samples,
                      uint64_t first, uint64_t count, hox_error *error) HOX_MUST_CHECK;
