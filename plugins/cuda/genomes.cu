// genomes.cu - whole genomes on a few images at a time (kernels.h). A step is done by all threads
// of a block: 4 neighbouring ones have an image each, the next 4 another tile of the target, in a
// column of tiles the one below, or another part of the same tile's taps.

struct tile_memory {
    float *shared, *scratch;
    const float *images;
};

__device__ float *find_map(const tile_memory &m, const cuda_map &map) {
    return (map.space == CUDA_IN_SHARED ? m.shared : m.scratch) + map.place;
}

// ---- an edge ----

// The first value of a thread's tile of the target, and which of its rows of taps are the thread's.
struct corner {
    uint32_t channel, y, x, part;
};

// taps: of the tile's channels. source: the thread's image.
template <int CHANNELS, int PIXELS>
__device__ void sum_taps(const cuda_step &s, const corner &t, const float *source,
                         const float4 *taps, float sums[CHANNELS][PIXELS]) {
    const int32_t top = (int32_t)(t.y * s.stride_h) - (int32_t)s.padding_h;
    const int32_t left = (int32_t)(t.x * s.stride_w) - (int32_t)s.padding_w;
    const int32_t below = (int32_t)s.source.height - top; // rows from the top to the end
    const int32_t begin = top < 0 ? -top : 0;
    const int32_t end = below < (int32_t)s.kernel_h ? below : (int32_t)s.kernel_h;
    const uint32_t real = s.target.width - t.x < PIXELS ? s.target.width - t.x : PIXELS;
    const bool is_inside = left >= 0 && left + real + s.kernel_w - 1 <= s.source.width;
    const float *first = source + (int64_t)top * s.source.row + left * CUDA_TILE;
    int32_t y = begin + (int32_t)t.part; // behind the end: in one of the channels to come
    for (uint32_t channel = 0; channel < s.source.channels; channel++) {
        for (; y < end; y += 1 << s.halvings) {
            const uint32_t row = y * s.source.row;
            const pixels<CUDA_TILE> p = {first + row, left, s.source.width};
            const float4 *row_taps = taps + y * s.taps_row;
            if (s.stride_w > 1)
                stride_along<CHANNELS, PIXELS>(s.kernel_w, s.stride_w, p, row_taps, sums);
            else if (is_inside)
                slide_along<CHANNELS, PIXELS, true>(s.kernel_w, p, row_taps, sums);
            else
                slide_along<CHANNELS, PIXELS, false>(s.kernel_w, p, row_taps, sums);
        }
        y -= end - begin;
        first += s.source.plane;
        taps += s.kernel_h * s.taps_row;
    }
}

// Of all parts, in each of their threads. A warp does it as a whole.
template <int CHANNELS, int PIXELS>
__device__ void add_parts(uint32_t halvings, float sums[CHANNELS][PIXELS]) {
    ROLLED for (uint32_t i = 0; i < halvings; i++) {
        UNROLL for (int k = 0; k < CHANNELS * PIXELS; k++) {
            float *sum = &sums[k / PIXELS][k % PIXELS];
            *sum += __shfl_xor_sync(~0U, *sum, CUDA_TILE << i);
        }
    }
}

template <int CHANNELS, int PIXELS>
__device__ void finish_corner(const cuda_step &s, const tile_memory &m, const float *weights,
                              const corner &t, const float sums[CHANNELS][PIXELS]) {
    const float *bias = weights + s.weights + s.bias;
    float *target = find_map(m, s.target) + threadIdx.x % CUDA_TILE;
    UNROLL for (int k = 0; k < CHANNELS; k++) {
        const uint32_t channel = t.channel + k;
        if (channel >= s.target.channels) break;
        float *row = target + (uint64_t)channel * s.target.plane + (uint64_t)t.y * s.target.row;
        UNROLL for (int i = 0; i < PIXELS; i++) {
            if (t.x + i >= s.target.width) break;
            float *place = row + (t.x + i) * CUDA_TILE;
            float value = sums[k][i] + bias[channel];
            if (!s.is_first) value += *place;
            *place = bend(value, s.slope);
        }
    }
}

// To shared memory, all threads at once: one that went through them by itself would wait for the
// second level of the cache every 128 bytes, and a target of one pixel has work for few threads.
__device__ void stage_weights(const cuda_step &s, const tile_memory &m, const float *weights) {
    const float4 *from = (const float4 *)(weights + s.weights);
    float4 *to = (float4 *)(m.shared + s.stage);
    for (uint32_t i = threadIdx.x; i < s.stage_size / 4; i += CUDA_TILE_THREADS)
        to[i] = from[i];
    __syncthreads();
}

// group: of the target's channels. The usual ways are apart, so that shared memory is read as such.
template <int CHANNELS, int PIXELS>
__device__ void sum_corner(const cuda_step &s, const tile_memory &m, const float *weights,
                           const corner &t, uint32_t group, float sums[CHANNELS][PIXELS]) {
    const uint64_t place = group * (uint64_t)s.source.channels * s.kernel_h * s.taps_row * 4;
    const float4 *lying = (const float4 *)(weights + s.weights + place);
    const float4 *staged = (const float4 *)(m.shared + s.stage + place);
    const uint64_t own = s.source.place + threadIdx.x % CUDA_TILE;
    const float *far = s.source.space == CUDA_IN_SAMPLES ? m.images : m.scratch;
    const bool is_near = s.source.space == CUDA_IN_SHARED;
    if (s.stage_size == 0)
        sum_taps<CHANNELS, PIXELS>(s, t, (is_near ? m.shared : far) + own, lying, sums);
    else if (is_near)
        sum_taps<CHANNELS, PIXELS>(s, t, m.shared + own, staged, sums);
    else
        sum_taps<CHANNELS, PIXELS>(s, t, far + own, staged, sums);
}

// The same thread has the same values of a target for each edge with tiles and parts as the edge
// before, so that such an edge need not wait. The last warp with work may have threads without:
// they only take part when parts are added.
template <int CHANNELS, int PIXELS>
__device__ void convolve_map(const cuda_step &s, const tile_memory &m, const float *weights) {
    constexpr uint32_t AT_ONCE = CUDA_TILE_THREADS / CUDA_TILE, OF_WARP = 32 / CUDA_TILE;
    const uint32_t in_row = (s.target.width + PIXELS - 1) / PIXELS;
    const uint32_t groups = (s.target.channels + CHANNELS - 1) / CHANNELS;
    const uint32_t corners = groups * in_row * s.target.height;
    const uint32_t items = corners << s.halvings;
    if (s.stage_size > 0) stage_weights(s, m, weights);
    for (uint32_t item = threadIdx.x / CUDA_TILE; item / OF_WARP * OF_WARP < items;
         item += AT_ONCE) {
        const uint32_t i = item >> s.halvings;
        const uint32_t column = i / s.target.height;
        const uint32_t group = column / in_row;
        const corner t = {group * CHANNELS, i % s.target.height, column % in_row * PIXELS,
                          item - (i << s.halvings)};
        float sums[CHANNELS][PIXELS];
        UNROLL for (int k = 0; k < CHANNELS * PIXELS; k++) {
            sums[k / PIXELS][k % PIXELS] = 0;
        }
        if (item < items) sum_corner<CHANNELS, PIXELS>(s, m, weights, t, group, sums);
        add_parts<CHANNELS, PIXELS>(s.halvings, sums);
        if (item < items && t.part == 0) finish_corner<CHANNELS, PIXELS>(s, m, weights, t, sums);
    }
}

// ---- the other steps ----

// Columns that only pad are computed along.
__device__ void activate_map(const cuda_step &s, const tile_memory &m) {
    float *map = find_map(m, s.target);
    const uint32_t size = s.target.channels * s.target.plane;
    for (uint32_t i = threadIdx.x; i < size; i += CUDA_TILE_THREADS)
        map[i] = curve(s.function, map[i]);
}

__device__ void read_out_tile(const cuda_genomes &g, const cuda_step &s, const tile_memory &m,
                              uint32_t tile) {
    const uint64_t image = (g.first_tile + tile) * CUDA_TILE + threadIdx.x;
    if (threadIdx.x >= CUDA_TILE || image < g.first || image - g.first >= g.count) return;
    const uint32_t count = s.source.channels * s.source.height * s.source.width;
    const float *values = find_map(m, s.source) + threadIdx.x;
    g.logits[s.job * g.count + (image - g.first)] = logit_of<CUDA_TILE>(s.function, values, count);
}

// ---- all of them ----

__device__ void do_step(const cuda_genomes &g, const cuda_step &s, const tile_memory &m,
                        uint32_t tile) {
    if (s.waits) __syncthreads();
    switch (s.kind) {
#define X(name, channels, pixels)                                                                  \
    case name: convolve_map<channels, pixels>(s, m, g.weights); break;
        CUDA_STEP_MAP(X)
#undef X
        case CUDA_STEP_ACTIVATE: activate_map(s, m); break;
        case CUDA_STEP_READ_OUT: read_out_tile(g, s, m, tile); break;
    }
}

extern "C" __global__ void __launch_bounds__(CUDA_TILE_THREADS, CUDA_TILE_BLOCKS)
    run_genomes(cuda_genomes g) {
    SHARED_AT_LAUNCH(float4, maps);
    for (uint32_t tile = blockIdx.x; tile < g.tile_count; tile += gridDim.x) {
        const tile_memory m = {(float *)maps, g.scratch + blockIdx.x * g.scratch_floats,
                               g.samples + (g.first_tile + tile) * g.pixels * CUDA_TILE};
        for (uint32_t i = 0; i < g.step_count; i++)
            do_step(g, g.steps[i], m, tile);
    }
}
