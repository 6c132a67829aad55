#include "cuda/samples.h"

#include "runtime/either.h"
#include "runtime/memory.h"

// ---- life ----

// Whole blocks of images, and what may be read behind them.
static size_t samples_bytes(const hox_samples *s) {
    const size_t values = size_times(cuda_round_up(s->set.count), s->pixels);
    return size_times(size_plus(values, s->side_by_side == CUDA_TILE ? CUDA_TILE_SLACK : 0),
                      sizeof(float));
}

hox_status cuda_samples_create(cuda_engine *e, uint32_t side_by_side, uint64_t count,
                               uint32_t channels, uint32_t height, uint32_t width,
                               hox_samples **samples, hox_error *error) {
    *samples = NULL;
    void *block;
    const size_t pixels = size_times(channels, size_times(height, width));
    if (pixels > UINT32_MAX || count > UINT64_MAX - CUDA_IMAGES)
        return hox_error_set(error, HOX_UNSUPPORTED,
                             "%u x %u x %u pixels are more than a GPU takes", channels, height,
                             width);
    HOX_TRY(block_take(e->host, sizeof **samples, &block, error));
    hox_samples *s = block;
    *s = (hox_samples){.half = &runtime_on_cuda,
                       .engine = e,
                       .set = {count, channels, height, width},
                       .pixels = (uint32_t)pixels,
                       .side_by_side = side_by_side};
    hox_status status = cuda_device_enter(&e->device, error);
    if (status == HOX_OK) {
        status = cuda_pool_take(&e->pool, samples_bytes(s), &s->block, error);
        cuda_device_leave(&e->device);
    }
    if (status == HOX_OK)
        *samples = s;
    else
        block_return(e->host, block, sizeof *s);
    return status;
}

void cuda_samples_destroy(hox_samples *s) {
    if (!s) return;
    cuda_pool_give(&s->engine->pool, s->block);
    block_return(s->engine->host, s, sizeof *s);
}

// ---- writing, on lane 0, which is the main thread's ----

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static hox_status write_part(const hox_samples *s, const cuda_block *buffer, uint64_t first,
                             uint32_t count, const float *images, hox_error *error) {
    cuda_engine *e = s->engine;
    const cuda_layout layout = {.images = cuda_floats(buffer->address),
                                .map = cuda_floats(s->block->address),
                                .first = first,
                                .count = count,
                                .pixels = s->pixels,
                                .side_by_side = s->side_by_side};
    const uint64_t tiles = ((uint64_t)s->pixels + CUDA_LAYOUT_TILE - 1) / CUDA_LAYOUT_TILE;
    HOX_TRY(cuda_lane_upload(&e->lanes[0], buffer->address, images,
                             count * s->pixels * sizeof *images, error));
    return cuda_launch(&e->module, e->lanes[0].stream, CUDA_KERNEL_lay_out_images,
                       tiles * ((count + CUDA_LAYOUT_TILE - 1) / CUDA_LAYOUT_TILE), &layout, error);
}

// Room on the device for at most *at_once images as the host has them: as many as there is memory
// for.
static hox_status take_buffer(const hox_samples *s, uint64_t *at_once, cuda_block **buffer,
                              hox_error *error) {
    for (;; *at_once /= 2) {
        hox_error why = HOX_ERROR_INIT;
        const hox_status status =
            cuda_pool_take(&s->engine->pool, *at_once * s->pixels * sizeof(float), buffer, &why);
        if (status == HOX_OK) return HOX_OK;
        if (status != HOX_OUT_OF_DEVICE_MEMORY || *at_once == 1)
            return hox_error_pass(error, status, &why);
    }
}

// In parts that fill the lane's staging memory.
static hox_status write_parts(const hox_samples *s, uint64_t first, uint64_t count,
                              const float *images, hox_error *error) {
    cuda_lane *lane = &s->engine->lanes[0];
    const uint64_t image_bytes = (uint64_t)s->pixels * sizeof *images;
    uint64_t at_once =
        smaller(count, image_bytes < CUDA_STAGING_BYTES ? CUDA_STAGING_BYTES / image_bytes : 1);
    cuda_block *buffer;
    HOX_TRY(take_buffer(s, &at_once, &buffer, error));
    hox_error why = HOX_ERROR_INIT;
    hox_status status = HOX_OK;
    while (count > 0 && status == HOX_OK) {
        const uint32_t part = (uint32_t)smaller(count, at_once);
        status = write_part(s, buffer, first, part, images, &why);
        first += part;
        count -= part;
        images += part * (size_t)s->pixels;
    }
    if (status == HOX_OK) status = cuda_lane_wait(lane, &why);
    if (status != HOX_OK) status = hox_error_pass(error, cuda_lane_settle(lane, status), &why);
    cuda_pool_give(&s->engine->pool, buffer);
    return status;
}

hox_status cuda_samples_write(hox_samples *s, uint64_t first, uint64_t count, const float *images,
                              hox_error *error) {
    HOX_TRY(job_check_range(&s->set, first, count, error));
    if (count == 0 || s->pixels == 0) return HOX_OK;
    HOX_TRY(cuda_device_enter(&s->engine->device, error));
    const hox_status status = write_parts(s, first, count, images, error);
    cuda_device_leave(&s->engine->device);
    return status;
}
