#include "runtime/job.h"

#include "runtime/limits.h"

static int hold(const job_images *images, uint64_t first, uint64_t count) {
    return first <= images->count && count <= images->count - first;
}

hox_status job_check_range(const job_images *images, uint64_t first, uint64_t count,
                           hox_error *error) {
    if (hold(images, first, count)) return HOX_OK;
    return hox_error_set(error, HOX_INVALID_ARGUMENT, "%llu images from %llu: there are %llu",
                         (unsigned long long)count, (unsigned long long)first,
                         (unsigned long long)images->count);
}

hox_status job_check_prepare(uint32_t lane, uint32_t lane_count, uint32_t last_purpose,
                             const hox_plan *plan, const hox_prepare_options *options,
                             job_capacity *capacity, hox_error *error) {
    if (lane >= lane_count)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "lane %u of %u", lane, lane_count);
    if (options->purpose < HOX_PURPOSE_INFER || options->purpose > last_purpose)
        return hox_error_set(error, HOX_UNSUPPORTED, "purpose %u is not supported",
                             options->purpose);
    HOX_TRY(limits_check_plan(plan, options->precision, error));
    *capacity = (job_capacity){.lane = lane,
                               .purpose = options->purpose,
                               .images = options->capacity,
                               .channels = plan->node_channels[0],
                               .height = plan->node_height[0],
                               .width = plan->node_width[0],
                               .weight_count = plan->weight_count};
    return HOX_OK;
}

static hox_status check_fit(const job_capacity *c, uint32_t purpose, const hox_weights *weights,
                            const job_images *images, hox_error *error) {
    if (c->purpose != purpose)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "a runner of purpose %u, not %u",
                             c->purpose, purpose);
    if (images->channels != c->channels || images->height != c->height || images->width != c->width)
        return hox_error_set(
            error, HOX_INVALID_ARGUMENT, "images are %u x %u x %u, the plan takes %u x %u x %u",
            images->channels, images->height, images->width, c->channels, c->height, c->width);
    if (weights->count != c->weight_count)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "%llu weights, the plan takes %llu",
                             (unsigned long long)weights->count,
                             (unsigned long long)c->weight_count);
    return HOX_OK;
}

hox_status job_check(const hox_job *job, uint32_t lane, const job_capacity *c,
                     const job_images *images) {
    if (c->lane != lane)
        return hox_error_set(job->error, HOX_INVALID_ARGUMENT, "a runner of lane %u on lane %u",
                             c->lane, lane);
    if (job->count < 1 || job->count > c->images || !hold(images, job->first, job->count))
        return hox_error_set(job->error, HOX_INVALID_ARGUMENT,
                             "%llu images from %llu: capacity is %u, and there are %llu",
                             (unsigned long long)job->count, (unsigned long long)job->first,
                             c->images, (unsigned long long)images->count);
    return check_fit(c, HOX_PURPOSE_INFER, job->weights, images, job->error);
}

hox_status job_check_training(const job_capacity *c, const hox_weights *weights,
                              const job_images *images, const uint64_t *indices, uint64_t count,
                              hox_error *error) {
    if (count < 1 || count > c->images)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "%llu images: capacity is %u",
                             (unsigned long long)count, c->images);
    for (uint64_t i = 0; i < count; i++)
        HOX_TRY(job_check_range(images, indices[i], 1, error));
    return check_fit(c, HOX_PURPOSE_TRAIN, weights, images, error);
}
