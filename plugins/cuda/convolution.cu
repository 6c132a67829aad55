// convolution.cu - one edge: direct convolution. A thread computes a tile, a few channels of a few
// pixels of a row, for one image; its warp the same tile for 32 images. The weights of as many
// kernel rows as fit lie in shared memory, and all threads read the same one at a time.

enum { TAP_VECTORS = 1024 }; // of four weights each, in shared memory

// Where a warp works.
struct tile {
    uint32_t channel, y, x; // of its first value in the target
    uint32_t block;         // of 32 images, counted in the target
    bool is_there;
};

// Warps take tile after tile of a block of images, block after block, and so for each group of
// channels; no number of them is beyond 32 bits (cuda_launch).
template <int CHANNELS, int PIXELS> __device__ tile find_tile(const cuda_convolution &c) {
    const uint32_t warps = CUDA_THREADS / CUDA_IMAGES;
    const uint32_t in_row = (c.target_width + PIXELS - 1) / PIXELS;
    const uint32_t tiles = in_row * c.target_height;
    const uint32_t blocks = (c.most + CUDA_IMAGES - 1) / CUDA_IMAGES;
    const uint32_t grid = (tiles * blocks + warps - 1) / warps; // for one group of channels
    const uint32_t item = blockIdx.x % grid * warps + threadIdx.x / CUDA_IMAGES;
    const uint32_t place = item % tiles;
    tile t;
    t.channel = blockIdx.x / grid * CHANNELS;
    t.block = item / tiles;
    t.y = place / in_row;
    t.x = place % in_row * PIXELS;
    t.is_there = t.block < blocks && t.block * CUDA_IMAGES < c.chunk->count;
    return t;
}

// Weights of taps first .. first + count - 1, taps being numbered by input channel, kernel row and
// kernel column, for the tile's channels: [tap][CHANNELS], rounded up to vectors.
template <int CHANNELS>
__device__ void stage_taps(const cuda_convolution &c, const tile &t, uint32_t first, uint32_t count,
                           float4 *taps) {
    constexpr int WIDTH = (CHANNELS + 3) / 4 * 4;
    const uint32_t all = c.source_channels * c.kernel_h * c.kernel_w;
    float *values = (float *)taps;
    for (uint32_t i = threadIdx.x; i < count; i += CUDA_THREADS) {
        UNROLL for (int k = 0; k < CHANNELS; k++) {
            const bool is_real = t.channel + k < c.target_channels;
            values[i * WIDTH + k] =
                is_real ? c.weights[(uint64_t)(t.channel + k) * all + first + i] : 0.0F;
        }
    }
}

template <int CHANNELS>
__device__ void load_weights(const float4 *taps, uint32_t tap, float weights[CHANNELS]) {
    constexpr int VECTORS = (CHANNELS + 3) / 4;
    UNROLL for (int v = 0; v < VECTORS; v++) {
        const float4 four = taps[tap * VECTORS + v];
        weights[4 * v] = four.x;
        if (4 * v + 1 < CHANNELS) weights[4 * v + 1] = four.y;
        if (4 * v + 2 < CHANNELS) weights[4 * v + 2] = four.z;
        if (4 * v + 3 < CHANNELS) weights[4 * v + 3] = four.w;
    }
}

// The pixels of a row of the source from a column on, of one of so many images side by side. Beyond
// the row there are zeros, unless it is known that no value that counts meets them (IS_INSIDE).
template <int IMAGES> struct pixels {
    const float *at; // of column x, whether or not there is one
    int32_t x;
    uint32_t width;
};

template <bool IS_INSIDE, int IMAGES>
__device__ float load_pixel(const pixels<IMAGES> &p, int32_t i) {
    return IS_INSIDE || (uint32_t)(p.x + i) < p.width ? p.at[i * IMAGES] : 0.0F;
}

template <int IMAGES> __device__ void advance(pixels<IMAGES> &p, int32_t count) {
    p.at += count * IMAGES;
    p.x += count;
}

template <int CHANNELS, int PIXELS>
__device__ void add_products(const float4 *taps, uint32_t tap, const float window[PIXELS],
                             float sums[CHANNELS][PIXELS]) {
    float weights[CHANNELS];
    load_weights<CHANNELS>(taps, tap, weights);
    UNROLL for (int i = 0; i < PIXELS; i++) {
        UNROLL for (int k = 0; k < CHANNELS; k++) {
            sums[k][i] = fmaf(weights[k], window[i], sums[k][i]);
        }
    }
}

// Tap after tap, each over all its pixels.
template <int CHANNELS, int PIXELS, int IMAGES>
__device__ void stride_along(uint32_t kernel_w, uint32_t stride_w, pixels<IMAGES> p,
                             const float4 *taps, float sums[CHANNELS][PIXELS]) {
    float window[PIXELS];
    for (uint32_t tap = 0; tap < kernel_w; tap++) {
        UNROLL for (int i = 0; i < PIXELS; i++) {
            window[i] = load_pixel<false>(p, i * (int32_t)stride_w);
        }
        add_products<CHANNELS, PIXELS>(taps, tap, window, sums);
        advance(p, 1);
    }
}

// A few taps at a time, each over a window one pixel further on.
template <int CHANNELS, int PIXELS, bool IS_INSIDE, int IMAGES>
__device__ void slide_along(uint32_t kernel_w, pixels<IMAGES> p, const float4 *taps,
                            float sums[CHANNELS][PIXELS]) {
    constexpr int STEPS = PIXELS == 1 ? 8 : 4;
    float window[PIXELS - 1 + STEPS];
    UNROLL for (int i = 0; i < PIXELS - 1; i++) {
        window[i] = load_pixel<IS_INSIDE>(p, i);
    }
    advance(p, PIXELS - 1);
    uint32_t tap = 0;
    ROLLED for (; tap + STEPS <= kernel_w; tap += STEPS) {
        UNROLL for (int step = 0; step < STEPS; step++) {
            window[PIXELS - 1 + step] = load_pixel<IS_INSIDE>(p, step);
        }
        UNROLL for (int step = 0; step < STEPS; step++) {
            add_products<CHANNELS, PIXELS>(taps, tap + step, window + step, sums);
        }
        UNROLL for (int i = 0; i < PIXELS - 1; i++) {
            window[i] = window[i + STEPS];
        }
        advance(p, STEPS);
    }
    UNROLL for (int step = 0; step < STEPS - 1; step++) {
        if (tap + step >= kernel_w) break;
        window[PIXELS - 1 + step] = load_pixel<IS_INSIDE>(p, step);
        add_products<CHANNELS, PIXELS>(taps, tap + step, window + step, sums);
    }
}

// How a tile's rows of taps meet the ends of the source's rows.
struct reach {
    bool is_inside;  // the values that count meet pixels of the row only
    bool is_running; // the others meet some of the row below: there must be one
};

template <int PIXELS>
__device__ reach find_reach(const cuda_convolution &c, const tile &t, int32_t left) {
    const uint32_t real = c.target_width - t.x < PIXELS ? c.target_width - t.x : PIXELS;
    const uint32_t end = left + PIXELS + c.kernel_w - 1;
    reach r;
    r.is_inside =
        left >= 0 && left + real + c.kernel_w - 1 <= c.source_width && end <= 2 * c.source_width;
    r.is_running = end > c.source_width;
    return r;
}

// The activation where it is a bend at 0.
__device__ float bend(float value, float slope) {
    return value < 0 ? (slope == 0 ? 0 : slope * value) : value;
}

// Bias, what is there already, and the bend.
template <int CHANNELS, int PIXELS>
__device__ void finish_tile(const cuda_convolution &c, const tile &t,
                            const float sums[CHANNELS][PIXELS]) {
    const uint64_t plane = (uint64_t)c.target_height * c.target_width;
    const float *bias =
        c.weights + (uint64_t)c.target_channels * c.source_channels * c.kernel_h * c.kernel_w;
    float *target = c.target + (uint64_t)t.block * c.target_channels * plane * CUDA_IMAGES +
                    threadIdx.x % CUDA_IMAGES;
    UNROLL for (int k = 0; k < CHANNELS; k++) {
        const uint32_t channel = t.channel + k;
        if (channel >= c.target_channels) break;
        UNROLL for (int i = 0; i < PIXELS; i++) {
            if (t.x + i >= c.target_width) break;
            const uint64_t place = channel * plane + (uint64_t)t.y * c.target_width + t.x + i;
            float value = sums[k][i] + bias[channel];
            if (!c.is_first) value += target[place * CUDA_IMAGES];
            target[place * CUDA_IMAGES] = bend(value, c.slope);
        }
    }
}

template <int CHANNELS, int PIXELS, int KIND>
__device__ void convolve(const cuda_convolution &c, float4 *taps) {
    constexpr int VECTORS = (CHANNELS + 3) / 4;
    constexpr uint32_t MOST_TAPS = TAP_VECTORS / VECTORS;
    const tile t = find_tile<CHANNELS, PIXELS>(c);
    const uint64_t plane = (uint64_t)c.source_height * c.source_width;
    // Behind the last image the last one stands once more.
    const uint32_t own = t.block * CUDA_IMAGES + threadIdx.x % CUDA_IMAGES;
    const uint32_t place = own < c.chunk->count ? own : c.chunk->count - 1;
    const uint64_t image = c.source ? place : c.chunk->first + place;
    const float *source = (c.source ? c.source : c.chunk->images) +
                          image / CUDA_IMAGES * c.source_channels * plane * CUDA_IMAGES +
                          image % CUDA_IMAGES;
    const uint32_t kernel_w = KIND == CUDA_POINT ? 1 : c.kernel_w;
    const uint32_t rows = c.source_channels * c.kernel_h; // of taps
    const uint32_t at_once = MOST_TAPS / kernel_w;
    const int32_t top = (int32_t)(t.y * c.stride_h) - (int32_t)c.padding_h;
    const int32_t left = (int32_t)(t.x * c.stride_w) - (int32_t)c.padding_w;
    const reach r = find_reach<PIXELS>(c, t, left);
    float sums[CHANNELS][PIXELS];
    UNROLL for (int i = 0; i < CHANNELS * PIXELS; i++) {
        sums[i / PIXELS][i % PIXELS] = 0;
    }
    uint32_t channel = 0, kernel_y = 0;
    for (uint32_t first = 0; first < rows; first += at_once) {
        const uint32_t count = rows - first < at_once ? rows - first : at_once;
        __syncthreads();
        stage_taps<CHANNELS>(c, t, first * kernel_w, count * kernel_w, taps);
        __syncthreads();
        for (uint32_t i = 0; i < count; i++) {
            const int32_t y = top + (int32_t)kernel_y;
            if (t.is_there && (uint32_t)y < c.source_height) {
                const uint64_t row = channel * plane + (uint64_t)y * c.source_width;
                const pixels<CUDA_IMAGES> p = {source + ((int64_t)row + left) * CUDA_IMAGES, left,
                                               c.source_width};
                const float4 *row_taps = taps + i * kernel_w * VECTORS;
                if constexpr (KIND == CUDA_STRIDED)
                    stride_along<CHANNELS, PIXELS>(kernel_w, c.stride_w, p, row_taps, sums);
                else if (r.is_inside && !(r.is_running && (uint32_t)y + 1 == c.source_height &&
                                          channel + 1 == c.source_channels))
                    slide_along<CHANNELS, PIXELS, true>(kernel_w, p, row_taps, sums);
                else
                    slide_along<CHANNELS, PIXELS, false>(kernel_w, p, row_taps, sums);
            }
            if (++kernel_y < c.kernel_h) continue;
            kernel_y = 0;
            channel++;
        }
    }
    if (t.is_there) finish_tile<CHANNELS, PIXELS>(c, t, sums);
}

// Blocks that a processor is to hold at once, which bounds their registers. The smallest tile waits
// for memory rather than for a place, and takes registers to load ahead.
constexpr int blocks_at_once(int sums) {
    return sums < 12 ? 4 : sums < 24 ? 6 : sums < 32 ? 5 : sums < 48 ? 4 : 3;
}

#define KERNEL(name, channels, pixels, kind)                                                       \
    extern "C" __global__ void __launch_bounds__(                                                  \
        CUDA_THREADS, blocks_at_once((channels) * (pixels))) name(cuda_convolution c) {            \
        __shared__ float4 taps[TAP_VECTORS];                                                       \
        convolve<channels, pixels, kind>(c, taps);                                                 \
    }
CUDA_CONVOLUTION_MAP(KERNEL)
#undef KERNEL
