// kernels.c - compiled once for each instruction set, with LANES images in a vector (16, 8 or 4)
// and CPU_KERNELS as the table's name. Vectors are GCC's and clang's own; what becomes of them is
// in the flags.
#include "cpu/kernels.h"

#include "runtime/limits.h"

#include <hox/plan.h>
#include <math.h>
#if LANES > 4
#include <immintrin.h>
#endif

typedef float vec __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t ivec __attribute__((vector_size(LANES * sizeof(float))));

#define INLINE static inline __attribute__((always_inline))

// KEEP: in a register from here on; folded into its uses a load is done once for each of them.
// smaller, larger: of a limit and x; x where it is not a number.
#if LANES == 16
#define KEEP(v)           __asm__("" : "+v"(v))
#define SPLAT(x)          ((vec){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x})
#define smaller(limit, x) _mm512_min_ps(limit, x)
#define larger(limit, x)  _mm512_max_ps(limit, x)
#elif LANES == 8
#define KEEP(v)           __asm__("" : "+x"(v))
#define SPLAT(x)          ((vec){x, x, x, x, x, x, x, x})
#define smaller(limit, x) _mm256_min_ps(limit, x)
#define larger(limit, x)  _mm256_max_ps(limit, x)
#else
#define KEEP(v)
#define SPLAT(x)          ((vec){x, x, x, x})
#define smaller(limit, x) choose((x) > (limit), limit, x)
#define larger(limit, x)  choose((x) < (limit), limit, x)
#endif

// Pixels of a tile of n channels: sums, pixels and a weight for each channel fill the registers.
#if defined(SMALL_TILES) // builds that compile slowly
enum { MOST_PIXELS_1 = 4, MOST_PIXELS_2 = 2, MOST_PIXELS_3 = 3, MOST_PIXELS_4 = 2 };
#elif LANES == 16
enum { MOST_PIXELS_1 = 8, MOST_PIXELS_2 = 8, MOST_PIXELS_3 = 7, MOST_PIXELS_4 = 5 };
#else
enum { MOST_PIXELS_1 = 6, MOST_PIXELS_2 = 4, MOST_PIXELS_3 = 3, MOST_PIXELS_4 = 0 };
#endif

// ---- activations ----

#if LANES == 4
// mask ? a : b
INLINE vec choose(ivec mask, vec a, vec b) {
    return (vec)((mask & (ivec)a) | (~mask & (ivec)b));
}
#endif

// e^x within 2 units of the last place; outside -87 .. 88 as at the ends; what is not a number
// stays so. Reduction by ln 2 in two parts, a polynomial, the power of two by the exponent's bits.
INLINE vec exponential(vec x) {
    const vec lowest = SPLAT(-87.0F), highest = SPLAT(88.0F);
    x = larger(lowest, smaller(highest, x));
    const vec magic = SPLAT(12582912.0F); // 1.5 * 2^23: adding it rounds
    const vec n = (x * SPLAT(1.44269504F) + magic) - magic;
    const vec r = (x - n * SPLAT(0.693359375F)) - n * SPLAT(-2.12194440e-4F);
    vec p = SPLAT(1.0F / 720);
    p = p * r + SPLAT(1.0F / 120);
    p = p * r + SPLAT(1.0F / 24);
    p = p * r + SPLAT(1.0F / 6);
    p = p * r + SPLAT(0.5F);
    p = p * r + SPLAT(1.0F);
    p = p * r + SPLAT(1.0F);
    const ivec power = (__builtin_convertvector(n, ivec) + 127) << 23;
    return p * (vec)power;
}

INLINE vec logistic(vec x) {
    return SPLAT(1.0F) / (SPLAT(1.0F) + exponential(-x));
}

// Phi, the normal distribution, within 1.5e-6. Between -5.4 and 5.4 it is 1/2 + x P(u) with
// u = 2 (x / 5.4)^2 - 1 and P the polynomial whose largest error, weighted by max(x, 0.3), is
// least; from there on it is 0 and 1.
INLINE vec normal(vec x) {
    static const float coefficients[] = {
        -0.000408120599F, 0.00181839266F, -0.00292069605F, 0.00289397966F, -0.00487245666F,
        0.00985185709F,   -0.0148902955F, 0.0196723379F,   -0.0255234726F, 0.0320983417F,
        -0.0392293595F,   0.0485014319F,  -0.0653274208F,  0.130928084F};
    const vec inner = larger(SPLAT(-5.4F), smaller(SPLAT(5.4F), x));
    const vec u = inner * inner * SPLAT(2.0F / (5.4F * 5.4F)) - SPLAT(1.0F);
    vec p = SPLAT(coefficients[0]);
#pragma GCC unroll 16
    for (size_t i = 1; i < sizeof coefficients / sizeof *coefficients; i++)
        p = p * u + SPLAT(coefficients[i]);
    return larger(SPLAT(0.0F), smaller(SPLAT(1.0F), SPLAT(0.5F) + inner * p));
}

// x > 0 ? above : below
INLINE vec by_sign(vec x, float above, float below) {
    const ivec mask = x > SPLAT(0.0F);
    return (vec)((mask & (ivec)SPLAT(above)) | (~mask & (ivec)SPLAT(below)));
}

// The value, and the derivative where slope is there.
INLINE vec activate(uint32_t kind, vec x, vec *slope) {
    const vec one = SPLAT(1.0F);
    vec value, part;
    switch (kind) {
        case HOX_ACTIVATION_RELU:
            if (slope) *slope = by_sign(x, 1.0F, 0.0F);
            return larger(SPLAT(0.0F), x);
        case HOX_ACTIVATION_LEAKY_RELU:
            if (slope) *slope = by_sign(x, 1.0F, 0.01F);
            return larger(x, SPLAT(0.01F) * x);
        case HOX_ACTIVATION_TANH:
            value = SPLAT(2.0F) * logistic(SPLAT(2.0F) * x) - one;
            if (slope) *slope = one - value * value;
            return value;
        case HOX_ACTIVATION_SIGMOID:
            value = logistic(x);
            if (slope) *slope = value * (one - value);
            return value;
        case HOX_ACTIVATION_GELU:
            part = normal(x);
            if (slope) *slope = part + x * SPLAT(0.39894228F) * exponential(SPLAT(-0.5F) * x * x);
            return x * part;
        default: // silu
            part = logistic(x);
            value = x * part;
            if (slope) *slope = part + value * (one - part);
            return value;
    }
}

INLINE void activate_row(uint32_t kind, float *row, float *slopes, size_t width) {
    for (size_t i = 0; i < width; i += CPU_BLOCK)
        *(vec *)(row + i) =
            activate(kind, *(const vec *)(row + i), slopes ? (vec *)(slopes + i) : NULL);
}

// A map in place; slopes: NULL, or where its derivatives go.
static void activate_map(const cpu_node *node, uint32_t kind, float *map, float *slopes) {
    const size_t width = (size_t)node->width * CPU_BLOCK;
    for (uint32_t c = 0; c < node->channels; c++) {
        float *row = map + node->offset + c * node->plane;
        for (uint32_t y = 0; y < node->height; y++, row += node->row) {
            for (size_t part = 0; part < CPU_BLOCK; part += LANES)
                if (slopes)
                    activate_row(kind, row + part, slopes + part, width);
                else
                    activate_row(kind, row + part, NULL, width);
            if (slopes) slopes += width;
        }
    }
}

// ---- a tile: rows x columns pixels of `group` output channels, in registers for all edges ----

enum { MOST_GROUP = 4, MOST_TILE = 8 }; // channels and pixels of a tile

typedef struct tile_place {
    const cpu_node *node;
    const float *weights; // of the genome
    const float *const *maps;
    const float *bias; // summed over the edges, [channels]
    float *target;
    size_t part; // images of the block: this one and LANES - 1 more
} tile_place;

typedef vec tile_sums[MOST_GROUP][MOST_TILE];  // [channel][pixel]
typedef vec tile_pixels[MOST_TILE][MOST_TILE]; // [row][column modulo the tile's columns]

// All images of a vector, in a fixed order.
INLINE float sum_images(vec v) {
    _Alignas(vec) float sums[LANES];
    *(vec *)sums = v;
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            sums[i] += sums[i + width];
    return sums[0];
}

INLINE vec load(const float *from) {
    vec v = *(const vec *)from;
    KEEP(v);
    return v;
}

// A weight of the genome, or (each = 16) a pixel of a map.
INLINE vec factor(const float *from, const size_t each) {
    return each == 1 ? SPLAT(*from) : load(from);
}

// Tap t of a row of them. ring[r][(t + i) % columns] is what pixel i of row r meets; the last one
// is loaded, from `pixel` on.
INLINE void add_tap(tile_sums sum, tile_pixels ring, const float *pixel,
                    const float *const *weights, size_t at, const size_t each, size_t down,
                    const int t, const int group, const int rows, const int columns) {
    vec w[MOST_GROUP];
#pragma GCC unroll 4
    for (int o = 0; o < group; o++)
        w[o] = factor(weights[o] + at, each);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        ring[r][(t + columns - 1) % columns] = load(pixel + r * down);
#pragma GCC unroll 8
        for (int i = 0; i < columns; i++)
#pragma GCC unroll 4
            for (int o = 0; o < group; o++)
                sum[o][r * columns + i] += ring[r][(t + i) % columns] * w[o];
    }
}

// All pixels of the first tap but the last column.
INLINE void fill_ring(tile_pixels ring, const float *pixel, size_t right, size_t down,
                      const int rows, const int columns) {
#pragma GCC unroll 8
    for (int i = 0; i < columns - 1; i++)
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
            ring[r][i] = load(pixel + i * right + r * down);
}

// One row of taps at stride 1: what a tap reads the next one reads too, one pixel to the left, so
// each pixel is loaded once and goes round.
INLINE void add_taps(tile_sums sum, const float *pixel, const float *const *weights, size_t at,
                     const size_t each, uint32_t left, size_t down, const int group, const int rows,
                     const int columns) {
    tile_pixels ring;
    fill_ring(ring, pixel, CPU_BLOCK, down, rows, columns);
    pixel += (columns - 1) * CPU_BLOCK;
#define TAP(t)                                                                                     \
    if ((t) < columns) {                                                                           \
        add_tap(sum, ring, pixel + (t)*CPU_BLOCK, weights, at + (t)*each, each, down, t, group,    \
                rows, columns);                                                                    \
        if (left == (t) + 1) return;                                                               \
    }
    for (;;) {
        TAP(0)
        TAP(1)
        TAP(2)
        TAP(3)
        TAP(4)
        TAP(5)
        TAP(6)
        TAP(7)
        left -= columns;
        at += columns * each;
        pixel += columns * CPU_BLOCK;
    }
#undef TAP
}

// So few taps that their number is best known beforehand.
INLINE void add_few_taps(tile_sums sum, const float *pixel, const float *const *weights, size_t at,
                         size_t down, const int taps, const int group, const int rows,
                         const int columns) {
    tile_pixels ring;
    fill_ring(ring, pixel, CPU_BLOCK, down, rows, columns);
#pragma GCC unroll 4
    for (int t = 0; t < taps; t++)
        add_tap(sum, ring, pixel + (columns - 1 + t) * CPU_BLOCK, weights, at + t, 1, down, t,
                group, rows, columns);
}

// The same at any distance from pixel to pixel of a tap (right) and of a pixel from tap to tap
// (step): every tap loads its own.
INLINE void add_taps_apart(tile_sums sum, const float *pixel, const float *const *weights,
                           size_t at, const size_t each, uint32_t left, size_t step, size_t right,
                           size_t down, const int group, const int rows, const int columns) {
    for (; left > 0; left--, at += each, pixel += step) {
        tile_pixels ring;
        fill_ring(ring, pixel, right, down, rows, columns);
        add_tap(sum, ring, pixel + (columns - 1) * right, weights, at, each, down, 0, group, rows,
                columns);
    }
}

// Taps of an edge that meet more than padding, somewhere in a tile.
typedef struct tap_range {
    uint32_t y, x, rows, columns; // the first one, and how many; 0 where there are none
} tap_range;

// Along one axis: count pixels of the target from first on.
INLINE uint32_t clip_taps(uint32_t kernel, uint32_t stride, int32_t padding, uint32_t size,
                          uint32_t first, uint32_t count, uint32_t *begin) {
    const int64_t nearest = padding - (int64_t)(first + count - 1) * stride;
    const int64_t end = padding - (int64_t)first * stride + size;
    const int64_t last = end < kernel ? end : kernel;
    *begin = nearest > 0 ? (uint32_t)nearest : 0;
    return last > *begin ? (uint32_t)last - *begin : 0;
}

INLINE tap_range find_taps(const cpu_edge *e, uint32_t y, uint32_t x, uint32_t rows,
                           uint32_t columns) {
    tap_range r = {0, 0, e->kernel_h, e->kernel_w};
    if (e->padding_h > 0)
        r.rows = clip_taps(e->kernel_h, e->stride_h, e->padding_h, e->height, y, rows, &r.y);
    if (e->padding_w > 0)
        r.columns = clip_taps(e->kernel_w, e->stride_w, e->padding_w, e->width, x, columns, &r.x);
    return r;
}

// source, weight: of the first tap in range, at the tile's first pixel and channel.
INLINE void add_edge(tile_sums sum, const cpu_edge *edge, const float *source, const float *weight,
                     tap_range taps, const int group, const int rows, const int columns) {
    const size_t plane = (size_t)edge->kernel_h * edge->kernel_w, filter = edge->channels * plane;
    const size_t down = edge->stride_h * edge->row;
    const float *weights[MOST_GROUP] = {0};
#pragma GCC unroll 4
    for (int o = 0; o < group; o++)
        weights[o] = weight + o * filter;
#define EACH_ROW(add)                                                                              \
    for (size_t begin = 0; begin < filter; begin += plane, source += edge->plane) {                \
        const float *line = source;                                                                \
        size_t at = begin;                                                                         \
        for (uint32_t ky = taps.rows; ky > 0; ky--, line += edge->row, at += edge->kernel_w)       \
            add;                                                                                   \
    }
    if (edge->stride_w > 1)
        EACH_ROW(add_taps_apart(sum, line, weights, at, 1, taps.columns, CPU_BLOCK,
                                edge->stride_w * CPU_BLOCK, down, group, rows, columns))
    else if (taps.columns == 1)
        EACH_ROW(add_few_taps(sum, line, weights, at, down, 1, group, rows, columns))
    else if (taps.columns == 2)
        EACH_ROW(add_few_taps(sum, line, weights, at, down, 2, group, rows, columns))
    else if (taps.columns == 3)
        EACH_ROW(add_few_taps(sum, line, weights, at, down, 3, group, rows, columns))
    else if (taps.columns > 3)
        EACH_ROW(add_taps(sum, line, weights, at, 1, taps.columns, down, group, rows, columns))
#undef EACH_ROW
}

// The same for one pixel: four sums in turn, or each product would wait for the one before.
INLINE void add_edge_to_pixel(tile_sums sum, const cpu_edge *edge, const float *source,
                              const float *weight, tap_range taps, const int group) {
    const size_t plane = (size_t)edge->kernel_h * edge->kernel_w, filter = edge->channels * plane;
    vec turn[MOST_GROUP][4];
#pragma GCC unroll 4
    for (int o = 0; o < group; o++)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            turn[o][i] = SPLAT(0.0F);
    for (uint32_t c = 0; c < edge->channels; c++, source += edge->plane, weight += plane) {
        const float *line = source, *row = weight;
        for (uint32_t ky = 0; ky < taps.rows; ky++, line += edge->row, row += edge->kernel_w) {
            for (uint32_t kx = 0; kx < taps.columns; kx += 4) {
#pragma GCC unroll 4
                for (uint32_t i = 0; i < 4; i++) {
                    if (kx + i == taps.columns) break;
                    const vec v = load(line + (size_t)(kx + i) * CPU_BLOCK);
#pragma GCC unroll 4
                    for (int o = 0; o < group; o++)
                        turn[o][i] += v * SPLAT(row[o * filter + kx + i]);
                }
            }
        }
    }
#pragma GCC unroll 4
    for (int o = 0; o < group; o++)
        sum[o][0] += (turn[o][0] + turn[o][1]) + (turn[o][2] + turn[o][3]);
}

INLINE void tile(const tile_place *p, uint32_t first, uint32_t y, uint32_t x, const int group,
                 const int rows, const int columns) {
    const cpu_node *node = p->node;
    tile_sums sum;
#pragma GCC unroll 4
    for (int o = 0; o < group; o++)
#pragma GCC unroll 8
        for (int i = 0; i < rows * columns; i++)
            sum[o][i] = SPLAT(p->bias[first + o]);
    for (uint32_t e = 0; e < node->edge_count; e++) {
        const cpu_edge *edge = &node->edges[e];
        const size_t filter = (size_t)edge->channels * edge->kernel_h * edge->kernel_w;
        const tap_range taps = find_taps(edge, y, x, rows, columns);
        const float *weights =
            p->weights + edge->weights + first * filter + (size_t)taps.y * edge->kernel_w + taps.x;
        const float *source = p->maps[edge->source] + edge->offset +
                              ((size_t)y * edge->stride_h + taps.y) * edge->row +
                              ((size_t)x * edge->stride_w + taps.x) * CPU_BLOCK + p->part;
        if (rows * columns == 1)
            add_edge_to_pixel(sum, edge, source, weights, taps, group);
        else
            add_edge(sum, edge, source, weights, taps, group, rows, columns);
    }
    const vec lowest = SPLAT(node->activation == HOX_ACTIVATION_RELU ? 0.0F : -INFINITY);
    float *target = p->target + node->offset + first * node->plane + y * node->row +
                    (size_t)x * CPU_BLOCK + p->part;
#pragma GCC unroll 4
    for (int o = 0; o < group; o++, target += node->plane)
#pragma GCC unroll 8
        for (int i = 0; i < rows * columns; i++)
            *(vec *)(target + (size_t)(i / columns) * node->row +
                     (size_t)(i % columns) * CPU_BLOCK) = larger(lowest, sum[o][i]);
}

// Tiles of one shape from row y to end: of a map, or of an edge's kernels.
typedef void tile_function(const void *place, uint32_t first, uint32_t y, uint32_t end, uint32_t x);
typedef tile_function *const tile_table[MOST_GROUP + 1][MOST_TILE + 1][MOST_TILE + 1];

// A strip down the map: what a tile reads is mostly what the one above it read.
#define STRIP(group, rows, columns)                                                                \
    static void strip_##group##_##rows##_##columns(const void *place, uint32_t first, uint32_t y,  \
                                                   uint32_t end, uint32_t x) {                     \
        if ((rows) * (columns) <= MOST_PIXELS_##group)                                             \
            for (; y < end; y += (rows))                                                           \
                tile(place, first, y, x, group, rows, columns);                                    \
    }
#define ENTRY(g, r, c) [g][r][c] = strip_##g##_##r##_##c,
// clang-format off
#define EACH_SHAPE(X, g)                                                                           \
    X(g, 1, 1) X(g, 1, 2) X(g, 1, 3) X(g, 1, 4) X(g, 1, 5) X(g, 1, 6) X(g, 1, 7) X(g, 1, 8)        \
    X(g, 2, 2) X(g, 2, 3) X(g, 2, 4) X(g, 3, 2) X(g, 4, 2)
// clang-format on

EACH_SHAPE(STRIP, 1)
EACH_SHAPE(STRIP, 2)
EACH_SHAPE(STRIP, 3)
EACH_SHAPE(STRIP, 4)
static tile_table strips = {EACH_SHAPE(ENTRY, 1) EACH_SHAPE(ENTRY, 2) EACH_SHAPE(ENTRY, 3)
                                EACH_SHAPE(ENTRY, 4)};

// ---- tiles of all channels ----

static const uint32_t most_pixels[] = {0, MOST_PIXELS_1, MOST_PIXELS_2, MOST_PIXELS_3,
                                       MOST_PIXELS_4};

// The first of the fewest and most even parts of `left`, each of at most `most`.
static uint32_t part_size(uint32_t left, uint32_t most) {
    const uint32_t parts = (left + most - 1) / most;
    return (left + parts - 1) / parts;
}

// Rows of a tile so wide: several where that is the whole width, and more than one pixel.
static uint32_t tile_rows(uint32_t width, uint32_t height, uint32_t columns, uint32_t most) {
    return columns < width || columns == 1 ? 1 : part_size(height, most / columns);
}

// Channels that are computed together, of so many that are left.
static uint32_t group_size(uint32_t left) {
    if (left <= 3) return left;
    if (MOST_PIXELS_4 == 0) return left % 2 == 0 ? 2 : 3;
    return left % 4 == 0 || left == 7 || left > 9 ? 4 : 3;
}

static void run_tiles(tile_table table, const void *place, uint32_t channels, uint32_t width,
                      uint32_t height) {
    for (uint32_t first = 0, group; first < channels; first += group) {
        group = group_size(channels - first);
        for (uint32_t x = 0, columns; x < width; x += columns) {
            columns = part_size(width - x, most_pixels[group]);
            const uint32_t rows = tile_rows(width, height, columns, most_pixels[group]);
            const uint32_t rest = height % rows;
            table[group][rows][columns](place, first, 0, height - rest, x);
            if (rest > 0) table[group][rest][columns](place, first, height - rest, height, x);
        }
    }
}

// ---- a node ----

static void add_biases(const cpu_node *node, const float *weights, float *bias) {
    for (uint32_t o = 0; o < node->channels; o++)
        bias[o] = 0.0F;
    for (uint32_t e = 0; e < node->edge_count; e++) {
        const cpu_edge *edge = &node->edges[e];
        const float *own =
            weights + edge->weights +
            (size_t)node->channels * edge->channels * edge->kernel_h * edge->kernel_w;
        for (uint32_t o = 0; o < node->channels; o++)
            bias[o] += own[o];
    }
}

static void compute(const cpu_node *node, const float *weights, const float *const *maps,
                    float *target) {
    float bias[LIMIT_CHANNELS];
    add_biases(node, weights, bias);
    for (size_t part = 0; part < CPU_BLOCK; part += LANES) {
        const tile_place p = {node, weights, maps, bias, target, part};
        run_tiles(strips, &p, node->channels, node->width, node->height);
    }
    if (node->activation > HOX_ACTIVATION_RELU) activate_map(node, node->activation, target, NULL);
}

// ---- derivatives ----

// An edge between what its source was and what the loss's derivatives by its target are.
typedef struct correlation {
    const cpu_edge *edge;
    const float *source;
    const cpu_node *target;
    const float *derivatives;
    float *gradient; // [Cout][Cin][kh][kw]
} correlation;

// Derivatives by rows x columns weights of `group` kernels: a tile whose pixels are the kernel's
// and whose taps are the target's pixels.
INLINE void correlate(const correlation *p, uint32_t first, uint32_t c, uint32_t ky, uint32_t kx,
                      const int group, const int rows, const int columns) {
    const cpu_edge *edge = p->edge;
    const cpu_node *target = p->target;
    const float *derivatives[MOST_GROUP] = {0};
    tile_sums sum;
#pragma GCC unroll 4
    for (int o = 0; o < group; o++) {
        derivatives[o] = p->derivatives + target->offset + (first + o) * target->plane;
#pragma GCC unroll 8
        for (int i = 0; i < rows * columns; i++)
            sum[o][i] = SPLAT(0.0F);
    }
    const float *source =
        p->source + edge->offset + c * edge->plane + ky * edge->row + (size_t)kx * CPU_BLOCK;
    for (size_t part = 0; part < CPU_BLOCK; part += LANES) {
        const float *line = source + part;
        size_t at = part;
        for (uint32_t y = 0; y < target->height; y++) {
            if (edge->stride_w == 1)
                add_taps(sum, line, derivatives, at, CPU_BLOCK, target->width, edge->row, group,
                         rows, columns);
            else
                add_taps_apart(sum, line, derivatives, at, CPU_BLOCK, target->width,
                               edge->stride_w * CPU_BLOCK, CPU_BLOCK, edge->row, group, rows,
                               columns);
            line += edge->stride_h * edge->row;
            at += target->row;
        }
    }
    float *gradient =
        p->gradient +
        (((size_t)first * edge->channels + c) * edge->kernel_h + ky) * edge->kernel_w + kx;
#pragma GCC unroll 4
    for (int o = 0; o < group; o++) {
#pragma GCC unroll 8
        for (int i = 0; i < rows * columns; i++)
            gradient[(size_t)(i / columns) * edge->kernel_w + i % columns] += sum_images(sum[o][i]);
        gradient += (size_t)edge->channels * edge->kernel_h * edge->kernel_w;
    }
}

// Of every input channel.
#define CORRELATE(group, rows, columns)                                                            \
    static void correlate_##group##_##rows##_##columns(const void *place, uint32_t first,          \
                                                       uint32_t y, uint32_t end, uint32_t x) {     \
        const correlation *p = place;                                                              \
        if ((rows) * (columns) <= MOST_PIXELS_##group)                                             \
            for (uint32_t c = 0; c < p->edge->channels; c++)                                       \
                for (uint32_t ky = y; ky < end; ky += (rows))                                      \
                    correlate(p, first, c, ky, x, group, rows, columns);                           \
    }
#define CORRELATE_ENTRY(g, r, c) [g][r][c] = correlate_##g##_##r##_##c,
EACH_SHAPE(CORRELATE, 1)
EACH_SHAPE(CORRELATE, 2)
EACH_SHAPE(CORRELATE, 3)
EACH_SHAPE(CORRELATE, 4)
static tile_table correlates = {EACH_SHAPE(CORRELATE_ENTRY, 1) EACH_SHAPE(CORRELATE_ENTRY, 2)
                                    EACH_SHAPE(CORRELATE_ENTRY, 3) EACH_SHAPE(CORRELATE_ENTRY, 4)};

static void gradient(const cpu_edge *edge, const float *source, const cpu_node *target,
                     const float *derivatives, float *sums) {
    const correlation p = {edge, source, target, derivatives, sums};
    run_tiles(correlates, &p, target->channels, edge->kernel_w, edge->kernel_h);
}

const cpu_kernels CPU_KERNELS = {CPU_KERNELS_NAME, compute, activate_map, gradient};
