#include "evaluation/split.h"

uint64_t split_image_bytes(const evaluation_split *s) {
    return (uint64_t)s->channels * s->height * s->width * sizeof(float);
}

hox_status split_create_samples(const evaluation_split *s, const hox_runtime_api *api,
                                hox_runtime *runtime, uint64_t count, hox_samples **samples,
                                hox_error *error) {
    return api->samples_create(runtime, count, s->channels, s->height, s->width, samples, error);
}

typedef struct filling {
    const hox_runtime_api *api;
    hox_samples *samples;
    uint64_t first; // image that goes to place 0
} filling;

static hox_status write_block(void *context, uint64_t first, uint64_t count, const float *images,
                              hox_error *error) {
    const filling *f = context;
    return f->api->samples_write(f->samples, first - f->first, count, images, error);
}

hox_status split_fill(const evaluation_split *s, const hox_runtime_api *api, hox_samples *samples,
                      uint64_t first, uint64_t count, hox_error *error) {
    filling f = {api, samples, first};
    return s->read(s->reader, first, count, write_block, &f, error);
}
