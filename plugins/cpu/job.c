#include "cpu/job.h"

#include "cpu/device.h"

static int hold(const cpu_images *images, uint64_t first, uint64_t count) {
    return first <= images->count && count <= images->count - first;
}

hox_status cpu_check_range(const cpu_images *images, uint64_t first, uint64_t count,
                           hox_error *error) {
    if (hold(images, first, count)) return HOX_OK;
    return hox_error_set(error, HOX_INVALID_ARGUMENT, "%llu images from %llu: there are %llu",
                         (unsigned long long)count, (unsigned long long)first,
                         (unsigned long long)images->count);
}

hox_status cpu_check_prepare(uint32_t lane, uint32_t lane_count, const hox_plan *plan,
                             const hox_prepare_options *options, cpu_capacity *capacity,
                             hox_error *error) {
    if (lane >= lane_count)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "lane %u of %u", lane, lane_count);
    if (options->purpose != HOX_PURPOSE_INFER)
        return hox_error_set(error, HOX_UNSUPPORTED, "purpose %u is not supported",
                             options->purpose);
    HOX_TRY(cpu_check_plan(plan, options->precision, error));
    *capacity = (cpu_capacity){.lane = lane,
                               .images = options->capacity,
                               .channels = plan->node_channels[0],
                               .height = plan->node_height[0],
                               .width = plan->node_width[0],
                               .weight_count = plan->weight_count};
    return HOX_OK;
}

hox_status cpu_check_job(const hox_job *job, uint32_t lane, const cpu_capacity *c,
                         const cpu_images *images) {
    if (c->lane != lane)
        return hox_error_set(job->error, HOX_INVALID_ARGUMENT, "a runner of lane %u on lane %u",
                             c->lane, lane);
    if (job->count > c->images || !hold(images, job->first, job->count))
        return hox_error_set(job->error, HOX_INVALID_ARGUMENT,
                             "%llu images from %llu: capacity is %u, and there are %llu",
                             (unsigned long long)job->count, (unsigned long long)job->first,
                             c->images, (unsigned long long)images->count);
    if (images->channels != c->channels || images->height != c->height || images->width != c->width)
        return hox_error_set(job->error, HOX_INVALID_ARGUMENT,
                             "images are %u x %u x %u, the plan takes %u x %u x %u",
                             images->channels, images->height, images->width, c->channels,
                             c->height, c->width);
    if (job->weights->count != c->weight_count)
        return hox_error_set(job->error, HOX_INVALID_ARGUMENT, "%llu weights, the plan takes %llu",
                             (unsigned long long)job->weights->count,
                             (unsigned long long)c->weight_count);
    return HOX_OK;
}
