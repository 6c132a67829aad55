// kernels.c - compiled once for each instruction set, with LANES images in a vector (16, 8 or 4)
// and CPU_KERNELS as the table's name. Vectors are GCC's and clang's own; what becomes of them is
// in the flags.
#include "cpu/kernels.h"

#include <hox/plan.h>

typedef float vec __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t ivec __attribute__((vector_size(LANES * sizeof(float))));

#define INLINE static inline __attribute__((always_inline))

#if LANES == 16
#define KEEP(v)                                                                                    \
    __asm__("" : "+v"(v)) // in a register: folded into its uses it is loaded once for each
#define SPLAT(x) ((vec){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x})
enum { MOST_PIXELS = 8, MOST_PIXELS_OF_4 = 6 };
#elif LANES == 8
#define KEEP(v)  __asm__("" : "+x"(v))
#define SPLAT(x) ((vec){x, x, x, x, x, x, x, x})
enum { MOST_PIXELS = 4, MOST_PIXELS_OF_4 = 3 };
#else
#define KEEP(v)
#define SPLAT(x) ((vec){x, x, x, x})
enum { MOST_PIXELS = 4, MOST_PIXELS_OF_4 = 3 };
#endif

// ---- activations ----

// mask ? a : b
INLINE vec choose(ivec mask, vec a, vec b) {
    return (vec)((mask & (ivec)a) | (~mask & (ivec)b));
}

// e^x within 2 units of the last place; outside -87 .. 88 as at the ends; what is not a number
// stays so. Reduction by ln 2 in two parts, a polynomial, the power of two by the exponent's bits.
INLINE vec exponential(vec x) {
    const vec lowest = SPLAT(-87.0F), highest = SPLAT(88.0F);
    x = choose(x < lowest, lowest, choose(x > highest, highest, x));
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

// x Phi(x), Phi the normal distribution, within 1.5e-6. Between -5 and 5 Phi(x) = 1/2 + x P(u) with
// u = 2 x^2 / 25 - 1 and P the polynomial whose largest error in x Phi(x) is least; outside it is x
// or 0 (and what is infinite or no number stays so).
INLINE vec gelu(vec x) {
    static const float coefficients[] = {
        0.000492966035F, -0.00151415134F, 0.00200186856F, -0.00291567878F, 0.00616542296F,
        -0.0109732272F,  0.0164976586F,   -0.0233367328F, 0.0314262286F,   -0.0404329486F,
        0.0515214205F,   -0.0702966526F,  0.141363785F};
    const vec u = x * x * SPLAT(2.0F / 25) - SPLAT(1.0F);
    vec p = SPLAT(coefficients[0]);
#pragma GCC unroll 16
    for (size_t i = 1; i < sizeof coefficients / sizeof *coefficients; i++)
        p = p * u + SPLAT(coefficients[i]);
    const vec inside = x * (SPLAT(0.5F) + x * p);
    return choose(x > SPLAT(5.0F), x, choose(x < SPLAT(-5.0F), x * SPLAT(0.0F), inside));
}

INLINE vec activate(uint32_t kind, vec x) {
    const vec zero = SPLAT(0.0F);
    switch (kind) {
        case HOX_ACTIVATION_RELU: return choose(x < zero, zero, x);
        case HOX_ACTIVATION_LEAKY_RELU: return choose(x < zero, SPLAT(0.01F) * x, x);
        case HOX_ACTIVATION_TANH: return SPLAT(2.0F) * logistic(SPLAT(2.0F) * x) - SPLAT(1.0F);
        case HOX_ACTIVATION_SIGMOID: return logistic(x);
        case HOX_ACTIVATION_GELU: return gelu(x);
        case HOX_ACTIVATION_SILU: return x * logistic(x);
        default: return x;
    }
}

// A row of pixels in place.
static void activate_row(uint32_t kind, float *row, uint32_t width, size_t part) {
    for (uint32_t i = 0; i < width; i++) {
        vec *pixel = (vec *)(row + (size_t)i * CPU_BLOCK + part);
        *pixel = activate(kind, *pixel);
    }
}

// ---- a tile: rows x columns pixels of `group` output channels, in registers for all edges ----

typedef struct tile_place {
    const cpu_node *node;
    const float *weights; // of the genome
    const float *const *maps;
    const float *bias; // summed over the edges, [channels]
    float *target;
    size_t part; // images of the block: this one and LANES - 1 more
} tile_place;

// One edge's products. columns_step, rows_step: floats from pixel to pixel.
INLINE void add_edge(vec sum[4][8], const cpu_edge *edge, const float *source, const float *weight,
                     size_t rows_step, size_t columns_step, const int group, const int rows,
                     const int columns) {
    const size_t filter = (size_t)edge->channels * edge->kernel_h * edge->kernel_w;
    for (uint32_t c = 0; c < edge->channels; c++, source += edge->plane) {
        const float *line = source;
        for (uint32_t ky = 0; ky < edge->kernel_h; ky++, line += edge->row) {
            const float *tap = line;
            for (uint32_t kx = 0; kx < edge->kernel_w; kx++, tap += CPU_BLOCK, weight++) {
                vec w[4];
#pragma GCC unroll 4
                for (int o = 0; o < group; o++)
                    w[o] = SPLAT(weight[o * filter]);
#pragma GCC unroll 8
                for (int i = 0; i < rows * columns; i++) {
                    vec v = *(const vec *)(tap + (size_t)(i / columns) * rows_step +
                                           (size_t)(i % columns) * columns_step);
                    KEEP(v);
#pragma GCC unroll 4
                    for (int o = 0; o < group; o++)
                        sum[o][i] += v * w[o];
                }
            }
        }
    }
}

// The same for one pixel: four sums in turn, or each product would wait for the one before.
INLINE void add_edge_to_pixel(vec sum[4][8], const cpu_edge *edge, const float *source,
                              const float *weight, const int group) {
    const size_t filter = (size_t)edge->channels * edge->kernel_h * edge->kernel_w;
    vec turn[4][4];
#pragma GCC unroll 4
    for (int o = 0; o < group; o++)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            turn[o][i] = SPLAT(0.0F);
    for (uint32_t c = 0; c < edge->channels; c++, source += edge->plane) {
        const float *line = source;
        for (uint32_t ky = 0; ky < edge->kernel_h; ky++, line += edge->row) {
            uint32_t kx = 0;
            for (; kx + 4 <= edge->kernel_w; kx += 4, weight += 4) {
#pragma GCC unroll 4
                for (int i = 0; i < 4; i++) {
                    vec v = *(const vec *)(line + (size_t)(kx + i) * CPU_BLOCK);
                    KEEP(v);
#pragma GCC unroll 4
                    for (int o = 0; o < group; o++)
                        turn[o][i] += v * SPLAT(weight[o * filter + i]);
                }
            }
            for (; kx < edge->kernel_w; kx++, weight++) {
                const vec v = *(const vec *)(line + (size_t)kx * CPU_BLOCK);
#pragma GCC unroll 4
                for (int o = 0; o < group; o++)
                    turn[o][0] += v * SPLAT(weight[o * filter]);
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
    vec sum[4][8];
#pragma GCC unroll 4
    for (int o = 0; o < group; o++)
#pragma GCC unroll 8
        for (int i = 0; i < rows * columns; i++)
            sum[o][i] = SPLAT(p->bias[first + o]);
    for (uint32_t e = 0; e < node->edge_count; e++) {
        const cpu_edge *edge = &node->edges[e];
        const size_t filter = (size_t)edge->channels * edge->kernel_h * edge->kernel_w;
        const float *weight = p->weights + edge->weights + first * filter;
        const float *source = p->maps[edge->source] + edge->offset +
                              (size_t)y * edge->stride_h * edge->row +
                              (size_t)x * edge->stride_w * CPU_BLOCK + p->part;
        if (rows * columns == 1)
            add_edge_to_pixel(sum, edge, source, weight, group);
        else if (edge->stride_w == 1)
            add_edge(sum, edge, source, weight, edge->stride_h * edge->row, CPU_BLOCK, group, rows,
                     columns);
        else
            add_edge(sum, edge, source, weight, edge->stride_h * edge->row,
                     (size_t)edge->stride_w * CPU_BLOCK, group, rows, columns);
    }
    const int is_cheap = node->activation <= HOX_ACTIVATION_RELU;
    const ivec clip = (ivec){0} + -(node->activation == HOX_ACTIVATION_RELU);
#pragma GCC unroll 4
    for (int o = 0; o < group; o++) {
        float *target = p->target + node->offset + (first + o) * node->plane + y * node->row +
                        (size_t)x * CPU_BLOCK + p->part;
#pragma GCC unroll 8
        for (int i = 0; i < rows * columns; i++) {
            const vec s = sum[o][i];
            *(vec *)(target + (size_t)(i / columns) * node->row +
                     (size_t)(i % columns) * CPU_BLOCK) =
                (vec)(~((s < SPLAT(0.0F)) & clip) & (ivec)s);
        }
        for (int r = 0; r < rows && !is_cheap; r++)
            activate_row(node->activation, target - p->part + r * node->row, columns, p->part);
    }
}

typedef void tile_function(const tile_place *p, uint32_t first, uint32_t y, uint32_t x);

#define TILE(group, rows, columns)                                                                 \
    static void tile_##group##_##rows##_##columns(const tile_place *p, uint32_t first, uint32_t y, \
                                                  uint32_t x) {                                    \
        tile(p, first, y, x, group, rows, columns);                                                \
    }

// Rows of a tile are 1, 2, 4 or 8: there are more than one where the map is narrow.
#if LANES == 16
#define TILES(X, g)                                                                                \
    X(g, 1, 1)                                                                                     \
    X(g, 1, 2)                                                                                     \
    X(g, 1, 3)                                                                                     \
    X(g, 1, 4)                                                                                     \
    X(g, 1, 5)                                                                                     \
    X(g, 1, 6)                                                                                     \
    X(g, 1, 7)                                                                                     \
    X(g, 1, 8) X(g, 2, 1) X(g, 2, 2) X(g, 2, 3) X(g, 2, 4) X(g, 4, 1) X(g, 4, 2) X(g, 8, 1)
#define TILES_OF_4(X, g)                                                                           \
    X(g, 1, 1)                                                                                     \
    X(g, 1, 2)                                                                                     \
    X(g, 1, 3) X(g, 1, 4) X(g, 1, 5) X(g, 1, 6) X(g, 2, 1) X(g, 2, 2) X(g, 2, 3) X(g, 4, 1)
#else
#define TILES(X, g)      X(g, 1, 1) X(g, 1, 2) X(g, 1, 3) X(g, 1, 4) X(g, 2, 1) X(g, 2, 2) X(g, 4, 1)
#define TILES_OF_4(X, g) X(g, 1, 1) X(g, 1, 2) X(g, 1, 3) X(g, 2, 1)
#endif
#define ENTRY(g, r, c) [g][r][c] = tile_##g##_##r##_##c,
TILES(TILE, 1)
TILES(TILE, 2)
TILES(TILE, 3)
TILES_OF_4(TILE, 4)
static tile_function *const tiles[5][9][9] = { // [group][rows][columns]
    TILES(ENTRY, 1) TILES(ENTRY, 2) TILES(ENTRY, 3) TILES_OF_4(ENTRY, 4)};

// ---- a node ----

// Channels that are computed together: fours and threes as far as that goes.
static uint32_t group_size(uint32_t left) {
    if (left <= 3) return left;
    return left % 4 == 0 || left == 7 || left > 9 ? 4 : 3;
}

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

// One row of tiles across the map, in parts of about the same width.
static void compute_rows(const tile_place *p, uint32_t group, uint32_t first, uint32_t y,
                         uint32_t rows, uint32_t part_count) {
    uint32_t x = 0;
    for (uint32_t left = part_count; left > 0; left--) {
        const uint32_t columns = (p->node->width - x + left - 1) / left;
        tiles[group][rows][columns](p, first, y, x);
        x += columns;
    }
}

static void compute_group(const tile_place *p, uint32_t group, uint32_t first) {
    const cpu_node *node = p->node;
    const uint32_t most = group == 4 ? MOST_PIXELS_OF_4 : MOST_PIXELS;
    const uint32_t part_count = (node->width + most - 1) / most;
    uint32_t most_rows = 1;
    while (part_count == 1 && 2 * most_rows * node->width <= most)
        most_rows *= 2;
    for (uint32_t y = 0, rows = most_rows; y < node->height; y += rows) {
        while (rows > node->height - y)
            rows /= 2;
        compute_rows(p, group, first, y, rows, part_count);
    }
}

static void compute(const cpu_node *node, const float *weights, const float *const *maps,
                    float *target) {
    float bias[CPU_MOST_CHANNELS];
    add_biases(node, weights, bias);
    for (size_t part = 0; part < CPU_BLOCK; part += LANES) {
        const tile_place p = {node, weights, maps, bias, target, part};
        for (uint32_t first = 0; first < node->channels;) {
            const uint32_t group = group_size(node->channels - first);
            compute_group(&p, group, first);
            first += group;
        }
    }
}

const cpu_kernels CPU_KERNELS = {CPU_KERNELS_NAME, compute};
