#include "cuda/convolution.h"

typedef struct shape {
    cuda_kernel kernel;
    uint32_t channels, pixels, kind;
} shape;

static const shape shapes[] = {
#define X(name, channels, pixels, kind) {CUDA_KERNEL_##name, channels, pixels, kind},
    CUDA_CONVOLUTION_MAP(X)
#undef X
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static uint64_t divide_up(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

static uint32_t kind_of(const cuda_convolution *edge) {
    if (edge->stride_w > 1) return CUDA_STRIDED;
    return edge->kernel_w == 1 ? CUDA_POINT : CUDA_SLIDING;
}

// Instructions of a warp for one tap over a row of the target: the FMAs of its tiles, or what loads
// of weights and pixels take where that is more, and the steps of the loop.
static uint64_t cost_of(const shape *s, const cuda_convolution *edge) {
    enum { VECTOR = 8, PIXEL = 4, LOOP = 6 }; // a vector: four weights
    const uint64_t products = (uint64_t)s->channels * s->pixels;
    const uint64_t loads = divide_up(s->channels, 4) * VECTOR + PIXEL;
    return divide_up(edge->target_channels, s->channels) *
           divide_up(edge->target_width, s->pixels) *
           ((products > loads ? products : loads) + LOOP);
}

// Of equals the smaller tile, which comes later.
cuda_kernel cuda_convolution_choose(const cuda_convolution *edge) {
    const shape *best = NULL;
    for (size_t i = 0; i < SHAPES; i++) {
        if (shapes[i].kind != kind_of(edge)) continue;
        if (!best || cost_of(&shapes[i], edge) <= cost_of(best, edge)) best = &shapes[i];
    }
    return best->kernel;
}

uint64_t cuda_convolution_blocks(cuda_kernel kernel, const cuda_convolution *edge) {
    const shape *s = shapes;
    while (s->kernel != kernel)
        s++;
    const uint64_t tiles = divide_up(edge->target_width, s->pixels) * edge->target_height;
    const uint64_t warps = tiles * divide_up(edge->most, CUDA_IMAGES);
    return divide_up(edge->target_channels, s->channels) *
           divide_up(warps, CUDA_THREADS / CUDA_IMAGES);
}
