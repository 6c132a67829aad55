// layout.cu - images from the host's order to the device's. Reads go along an image and writes
// across images, by way of a tile of 32 x 32 values in shared memory.

enum { LAYOUT_ROWS = CUDA_THREADS / CUDA_LAYOUT_TILE };

extern "C" __global__ void __launch_bounds__(CUDA_THREADS) lay_out_images(cuda_layout l) {
    __shared__ float values[CUDA_LAYOUT_TILE]
                           [CUDA_LAYOUT_TILE + 1]; // one more: no two rows on one bank
    const uint32_t column = threadIdx.x % CUDA_LAYOUT_TILE, row = threadIdx.x / CUDA_LAYOUT_TILE;
    const uint32_t tiles = (l.pixels + CUDA_LAYOUT_TILE - 1) / CUDA_LAYOUT_TILE;
    const uint32_t first_pixel = blockIdx.x % tiles * CUDA_LAYOUT_TILE;
    const uint32_t first_image = blockIdx.x / tiles * CUDA_LAYOUT_TILE;
    for (uint32_t i = row; i < CUDA_LAYOUT_TILE; i += LAYOUT_ROWS) {
        const uint32_t image = first_image + i, pixel = first_pixel + column;
        if (image < l.count && pixel < l.pixels)
            values[i][column] = l.images[(uint64_t)image * l.pixels + pixel];
    }
    __syncthreads();
    for (uint32_t i = row; i < CUDA_LAYOUT_TILE; i += LAYOUT_ROWS) {
        const uint32_t image = first_image + column, pixel = first_pixel + i;
        if (image >= l.count || pixel >= l.pixels) continue;
        const uint64_t place = l.first + image;
        l.map[(place / l.side_by_side * l.pixels + pixel) * l.side_by_side +
              place % l.side_by_side] = values[column][i];
    }
}
