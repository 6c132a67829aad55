#include "cpu/samples.h"

#include "runtime/memory.h"

#include <string.h>

// The struct takes the first 64 bytes or more, so that the images lie on a boundary too.
static const size_t header =
    (sizeof(hox_samples) + CPU_ALIGNMENT - 1) / CPU_ALIGNMENT * CPU_ALIGNMENT;

hox_status cpu_samples_create(const hox_runtime_api *half, const hox_host *host, uint64_t count,
                              uint32_t channels, uint32_t height, uint32_t width,
                              hox_samples **samples, hox_error *error) {
    *samples = NULL;
    const size_t pixels = size_times(channels, size_times(height, width));
    const size_t blocks = count / CPU_BLOCK + (count % CPU_BLOCK != 0);
    const size_t image_bytes = size_times(blocks, size_times(pixels, CPU_BLOCK * sizeof(float)));
    const size_t bytes = size_plus(header, image_bytes);
    void *block;
    HOX_TRY(block_take(host, bytes, &block, error));
    hox_samples *s = block;
    *s = (hox_samples){.half = half,
                       .host = host,
                       .bytes = bytes,
                       .set = {count, channels, height, width},
                       .pixels = pixels,
                       .images = (float *)((char *)block + header)};
    if (blocks > 0) // lanes behind the last image
        memset(s->images + (blocks - 1) * pixels * CPU_BLOCK, 0,
               pixels * CPU_BLOCK * sizeof(float));
    *samples = s;
    return HOX_OK;
}

// count images from one place on within a block.
static void write_block(float *block, size_t lane, uint64_t count, const float *images,
                        size_t pixels) {
    for (size_t pixel = 0; pixel < pixels; pixel++)
        for (size_t i = 0; i < count; i++)
            block[pixel * CPU_BLOCK + lane + i] = images[i * pixels + pixel];
}

hox_status cpu_samples_write(hox_samples *s, uint64_t first, uint64_t count, const float *images,
                             hox_error *error) {
    HOX_TRY(job_check_range(&s->set, first, count, error));
    while (count > 0) {
        const size_t lane = first % CPU_BLOCK;
        const uint64_t part = count < CPU_BLOCK - lane ? count : CPU_BLOCK - lane;
        write_block(s->images + first / CPU_BLOCK * s->pixels * CPU_BLOCK, lane, part, images,
                    s->pixels);
        first += part;
        count -= part;
        images += part * s->pixels;
    }
    return HOX_OK;
}

void cpu_samples_destroy(hox_samples *s) {
    if (s) block_return(s->host, s, s->bytes);
}
