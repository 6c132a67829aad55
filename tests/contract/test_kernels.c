// test_kernels.c - the CPU kernels of each instruction set against the definition, node by node.
// Maps and weights lie between closed pages, so that one float beside them ends the test. Weights
// and images are such that every sum is exact in fp32, in any order: sums are compared to the bit.
#include "cpu/kernels.h"
#include "random.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <hox/plan.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t indices[8]; // a test row: no pointers may stand in it

#define EACH_SET(name)                                                                             \
    ParameterizedTestParameters(kernels, name) {                                                   \
        for (size_t i = 0; i < cpu_kernel_set_count; i++)                                          \
            indices[i] = i;                                                                        \
        return cr_make_param_array(size_t, indices, cpu_kernel_set_count);                         \
    }                                                                                              \
    ParameterizedTest(size_t *row, kernels, name)

static void say_missing(size_t row) {
    fprintf(stderr, "skipped: this processor lacks %s\n", cpu_kernel_sets[row].kernels->name);
}

static void say_what_is_missing(void) {
    for (size_t i = 0; i < cpu_kernel_set_count; i++)
        if (!cpu_kernel_sets[i].is_there()) say_missing(i);
}

static const cpu_kernels *need_set(size_t row) {
    const cpu_kernels *kernels = cpu_kernel_sets[row].kernels;
    if (cpu_kernel_sets[row].is_there()) return kernels;
    say_missing(row);
    cr_skip_test("no %s", kernels->name);
}

// ---- memory between closed pages ----

typedef struct guarded {
    char *begin, *end; // whole pages
} guarded;

static guarded guarded_make(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (bytes + page - 1) / page * page;
    char *all = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(all, MAP_FAILED);
    cr_assert_eq(mprotect(all + page, room, PROT_READ | PROT_WRITE), 0);
    return (guarded){all + page, all + page + room};
}

// The last floats of the pages, or the first ones.
static float *guarded_place(const guarded *g, size_t count, bool at_end) {
    const size_t bytes = count * sizeof(float);
    cr_assert_leq(bytes, (size_t)(g->end - g->begin), "%zu floats", count);
    return (float *)(at_end ? g->end - bytes : g->begin);
}

enum { MOST_EDGES = 2, MAP_BYTES = 16 << 20, WEIGHT_BYTES = 4 << 20 };

static guarded source_pages[MOST_EDGES], target_pages, weight_pages;

static void open_pages(void) {
    for (size_t i = 0; i < MOST_EDGES; i++)
        source_pages[i] = guarded_make(MAP_BYTES);
    target_pages = guarded_make(MAP_BYTES);
    weight_pages = guarded_make(WEIGHT_BYTES);
}

// ---- a node and its sources ----

// One axis.
typedef struct axis {
    uint32_t source, kernel, stride, padding, target;
} axis;

typedef struct setup {
    uint32_t edge_count;
    axis rows[MOST_EDGES], columns[MOST_EDGES];
    cpu_edge edges[MOST_EDGES];
    cpu_node sources[MOST_EDGES], node; // nodes 0, 1 and 2
    size_t weight_count;
    float *images[MOST_EDGES]; // plain: [channel][row][column][16]
    float *weights;
    double *right; // of the target, plain
    double *slack; // how far off it may be
} setup;

static cpu_node describe_node(uint32_t channels, uint32_t height, uint32_t width, uint32_t margin_h,
                              uint32_t margin_w) {
    const size_t row = ((size_t)width + 2 * margin_w) * CPU_BLOCK;
    const size_t plane = ((size_t)height + 2 * margin_h) * row;
    return (cpu_node){.channels = channels,
                      .height = height,
                      .width = width,
                      .margin_h = margin_h,
                      .margin_w = margin_w,
                      .offset = margin_h * row + (size_t)margin_w * CPU_BLOCK,
                      .row = row,
                      .plane = plane,
                      .size = channels * plane};
}

static size_t plain_size(const cpu_node *n) {
    return (size_t)n->channels * n->height * n->width * CPU_BLOCK;
}

static size_t taps_of(const setup *s, uint32_t e) {
    return (size_t)s->edges[e].channels * s->edges[e].kernel_h * s->edges[e].kernel_w;
}

// 1 .. most or the negative, so that no tap can be left out unseen
static float nonzero(test_random *random, uint32_t most) {
    const float value = (float)(1 + random_below(random, most));
    return random_below(random, 2) ? value : -value;
}

static void *room_for(size_t count, size_t item_size) {
    void *room = malloc(count * item_size);
    cr_assert_not_null(room);
    return room;
}

// The edge from source e, whose margin may be wider than its padding.
static void describe_edge(setup *s, uint32_t e, uint32_t channels, test_random *random) {
    const axis *r = &s->rows[e], *c = &s->columns[e];
    s->sources[e] =
        describe_node(channels, r->source, c->source, r->padding + random_below(random, 3),
                      c->padding + random_below(random, 3));
    const cpu_node *source = &s->sources[e];
    s->weight_count += random_below(random, 3); // nobody's, and not a number
    s->edges[e] = (cpu_edge){.source = e,
                             .channels = channels,
                             .height = source->height,
                             .width = source->width,
                             .kernel_h = r->kernel,
                             .kernel_w = c->kernel,
                             .stride_h = r->stride,
                             .stride_w = c->stride,
                             .padding_h = (int32_t)r->padding,
                             .padding_w = (int32_t)c->padding,
                             .offset = (source->margin_h - r->padding) * source->row +
                                       (size_t)(source->margin_w - c->padding) * CPU_BLOCK,
                             .row = source->row,
                             .plane = source->plane,
                             .weights = s->weight_count};
    s->weight_count += (taps_of(s, e) + 1) * s->node.channels;
}

static void draw_values(setup *s, test_random *random) {
    s->weights = room_for(s->weight_count, sizeof *s->weights);
    for (size_t i = 0; i < s->weight_count; i++)
        s->weights[i] = NAN;
    for (uint32_t e = 0; e < s->edge_count; e++) {
        float *own = s->weights + s->edges[e].weights;
        for (size_t i = 0; i < (taps_of(s, e) + 1) * s->node.channels; i++)
            own[i] = nonzero(random, 3) / 64;
        s->images[e] = NULL;
        if (s->edges[e].source != e) continue;
        s->images[e] = room_for(plain_size(&s->sources[e]), sizeof(float));
        for (size_t i = 0; i < plain_size(&s->sources[e]); i++)
            s->images[e][i] = nonzero(random, 4);
    }
}

static void free_setup(setup *s) {
    for (uint32_t e = 0; e < s->edge_count; e++)
        free(s->images[e]);
    free(s->weights);
    free(s->right);
    free(s->slack);
}

// ---- the definition ----

static void add_tap(const setup *s, uint32_t e, uint32_t c, int64_t sy, int64_t sx, double weight,
                    double sum[CPU_BLOCK]) {
    const uint32_t source = s->edges[e].source;
    const cpu_node *from = &s->sources[source];
    if (sy < 0 || sy >= (int64_t)from->height || sx < 0 || sx >= (int64_t)from->width) return;
    const float *pixel =
        s->images[source] +
        (((size_t)c * from->height + (size_t)sy) * from->width + (size_t)sx) * CPU_BLOCK;
    for (int i = 0; i < CPU_BLOCK; i++)
        sum[i] += weight * (double)pixel[i];
}

static void sum_pixel(const setup *s, uint32_t o, uint32_t y, uint32_t x, double sum[CPU_BLOCK]) {
    for (int i = 0; i < CPU_BLOCK; i++)
        sum[i] = 0;
    for (uint32_t e = 0; e < s->edge_count; e++) {
        const axis *r = &s->rows[e], *k = &s->columns[e];
        const float *w = s->weights + s->edges[e].weights + o * taps_of(s, e);
        for (uint32_t c = 0; c < s->edges[e].channels; c++)
            for (uint32_t ky = 0; ky < r->kernel; ky++)
                for (uint32_t kx = 0; kx < k->kernel; kx++)
                    add_tap(s, e, c, (int64_t)y * r->stride + ky - r->padding,
                            (int64_t)x * k->stride + kx - k->padding, (double)*w++, sum);
        const float *bias = s->weights + s->edges[e].weights + s->node.channels * taps_of(s, e);
        for (int i = 0; i < CPU_BLOCK; i++)
            sum[i] += (double)bias[o];
    }
}

// Not a number: gelu and silu of minus infinity, by their formulas (their limit is 0).
static double exact(uint32_t activation, double x) {
    switch (activation) {
        case HOX_ACTIVATION_IDENTITY: return x;
        case HOX_ACTIVATION_RELU: return x < 0 ? 0 : x;
        case HOX_ACTIVATION_LEAKY_RELU: return x < 0 ? 0.01 * x : x;
        case HOX_ACTIVATION_TANH: return tanh(x);
        case HOX_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
        case HOX_ACTIVATION_GELU: return x * erfc(-x / sqrt(2)) / 2;
        case HOX_ACTIVATION_SILU: return x / (1 + exp(-x));
    }
    abort();
}

static double allowed(uint32_t activation, double x) {
    const double size = fmax(1, fabs(x));
    switch (activation) {
        case HOX_ACTIVATION_IDENTITY:
        case HOX_ACTIVATION_RELU: return 0;
        case HOX_ACTIVATION_LEAKY_RELU: return x < 0 ? 1e-8 * size : 0; // one rounding
        case HOX_ACTIVATION_TANH:
        case HOX_ACTIVATION_SIGMOID: return 4e-6;
    }
    return 4e-6 * size;
}

// Also how far a kernel may be off.
static void compute_exactly(setup *s) {
    const size_t size = plain_size(&s->node);
    double *right = s->right = room_for(size, sizeof *s->right);
    s->slack = room_for(size, sizeof *s->slack);
    for (uint32_t o = 0; o < s->node.channels; o++)
        for (uint32_t y = 0; y < s->node.height; y++)
            for (uint32_t x = 0; x < s->node.width; x++, right += CPU_BLOCK)
                sum_pixel(s, o, y, x, right);
    for (size_t i = 0; i < size; i++) {
        s->slack[i] = allowed(s->node.activation, s->right[i]);
        s->right[i] = exact(s->node.activation, s->right[i]);
    }
}

// ---- a run ----

static const uint32_t canary_bits = 0x7FC0BEEF; // not a number either

static void lay_out_source(const setup *s, uint32_t e, float *map) {
    const cpu_node *n = &s->sources[e];
    const float *image = s->images[e];
    memset(map, 0, n->size * sizeof *map);
    for (uint32_t c = 0; c < n->channels; c++)
        for (uint32_t y = 0; y < n->height; y++, image += (size_t)n->width * CPU_BLOCK)
            memcpy(map + n->offset + c * n->plane + y * n->row, image,
                   (size_t)n->width * CPU_BLOCK * sizeof *map);
}

// The target, in its pages.
static const float *run(const setup *s, const cpu_kernels *kernels, bool at_end) {
    const float *maps[MOST_EDGES + 1] = {NULL};
    for (uint32_t e = 0; e < s->edge_count; e++) {
        if (s->edges[e].source != e) continue;
        float *map = guarded_place(&source_pages[e], s->sources[e].size, at_end);
        lay_out_source(s, e, map);
        maps[e] = map;
    }
    float *weights = guarded_place(&weight_pages, s->weight_count, at_end);
    memcpy(weights, s->weights, s->weight_count * sizeof *weights);
    float *target = guarded_place(&target_pages, s->node.size, at_end);
    for (size_t i = 0; i < s->node.size; i++)
        memcpy(target + i, &canary_bits, sizeof canary_bits);
    kernels->compute(&s->node, weights, maps, target);
    return target;
}

static bool is_canary(float value) {
    return memcmp(&value, &canary_bits, sizeof value) == 0;
}

static const char *describe(const setup *s) {
    static char text[256];
    int used = snprintf(text, sizeof text, "%u x %u x %u, activation %u,", s->node.channels,
                        s->node.height, s->node.width, s->node.activation);
    for (uint32_t e = 0; e < s->edge_count; e++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         " from %u x %u x %u by %ux%u / %ux%u + %ux%u", s->edges[e].channels,
                         s->rows[e].source, s->columns[e].source, s->rows[e].kernel,
                         s->columns[e].kernel, s->rows[e].stride, s->columns[e].stride,
                         s->rows[e].padding, s->columns[e].padding);
    return text;
}

static void check_pixel(const setup *s, uint32_t o, uint32_t y, uint32_t x, const float *pixel,
                        const char *set) {
    const cpu_node *n = &s->node;
    const size_t first = (((size_t)o * n->height + y) * n->width + x) * CPU_BLOCK;
    const double *right = s->right + first, *slack = s->slack + first;
    for (int i = 0; i < CPU_BLOCK; i++) {
        if (fabs((double)pixel[i] - right[i]) <= slack[i]) continue;
        cr_assert_fail("%s, %s: channel %u, pixel %u %u, image %d: %.9g, not %.9g", set,
                       describe(s), o, y, x, i, (double)pixel[i], right[i]);
    }
}

static void check_target(const setup *s, const float *target, const char *set) {
    const cpu_node *n = &s->node;
    const uint32_t height = n->height + 2 * n->margin_h, width = n->width + 2 * n->margin_w;
    const float *pixel = target;
    for (uint32_t o = 0; o < n->channels; o++)
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++, pixel += CPU_BLOCK) {
                // where it is in the margin, this wraps and is far too large
                const uint32_t inner_y = y - n->margin_h, inner_x = x - n->margin_w;
                if (inner_y < n->height && inner_x < n->width) {
                    check_pixel(s, o, inner_y, inner_x, pixel, set);
                    continue;
                }
                for (int i = 0; i < CPU_BLOCK; i++)
                    if (!is_canary(pixel[i]))
                        cr_assert_fail("%s, %s: wrote to the margin at %u %u", set, describe(s), y,
                                       x);
            }
}

// The sum is made once for all instruction sets.
static void check_setup(setup *s, test_random *random) {
    draw_values(s, random);
    compute_exactly(s);
    for (size_t i = 0; i < cpu_kernel_set_count; i++)
        for (int at_end = 0; at_end < 2 && cpu_kernel_sets[i].is_there(); at_end++)
            check_target(s, run(s, cpu_kernel_sets[i].kernels, at_end),
                         cpu_kernel_sets[i].kernels->name);
    free_setup(s);
}

// ---- sizes ----

// A source that this kernel, stride and padding lead to the target; its last rows may be unread.
static axis axis_into(uint32_t target, uint32_t kernel, uint32_t stride, uint32_t padding,
                      test_random *random) {
    const uint32_t unread = random_below(random, stride);
    const uint32_t room = (target - 1) * stride + kernel + unread;
    while (2 * padding >= room)
        padding--;
    return (axis){room - 2 * padding, kernel, stride, padding, target};
}

// What the setups had, so that the tests know they met it.
typedef struct seen {
    uint64_t kernels[2], strides, channels_in, channels_out, paddings[2], margins[2], activations;
    size_t same_source, two_edges;
} seen;

static void look_at(const setup *s, seen *met) {
    for (uint32_t e = 0; e < s->edge_count; e++) {
        met->kernels[0] |= UINT64_C(1) << s->rows[e].kernel;
        met->kernels[1] |= UINT64_C(1) << s->columns[e].kernel;
        met->strides |= UINT64_C(1) << (4 * s->rows[e].stride + s->columns[e].stride);
        met->paddings[0] |= UINT64_C(1) << s->rows[e].padding;
        met->paddings[1] |= UINT64_C(1) << s->columns[e].padding;
        met->channels_in |= UINT64_C(1) << (s->edges[e].channels % 64); // 64 is bit 0
    }
    met->channels_out |= UINT64_C(1) << (s->node.channels % 64);
    met->margins[0] |= UINT64_C(1) << s->node.margin_h;
    met->margins[1] |= UINT64_C(1) << s->node.margin_w;
    met->activations |= UINT64_C(1) << s->node.activation;
    met->two_edges += s->edge_count == 2;
    met->same_source += s->edge_count == 2 && s->edges[1].source == 0;
}

static const uint32_t channel_counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 11, 16, 64};
static const uint32_t kernel_sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 32};
enum {
    CHANNEL_COUNTS = sizeof channel_counts / sizeof *channel_counts,
    CHANNEL_PARTS = CHANNEL_COUNTS - 1, // 64 is parted as 16 is
    KERNEL_SIZES = sizeof kernel_sizes / sizeof *kernel_sizes,
    MOST_SIDE = 20
};

static uint64_t set_of(const uint32_t *values, size_t count) {
    uint64_t set = 0;
    for (size_t i = 0; i < count; i++)
        set |= UINT64_C(1) << (values[i] % 64);
    return set;
}

static void begin_node(setup *s, uint32_t channels, uint32_t height, uint32_t width,
                       uint32_t margin_h, uint32_t margin_w, test_random *random) {
    memset(s, 0, sizeof *s);
    s->node = describe_node(channels, height, width, margin_h, margin_w);
    s->node.activation = random_below(random, 3) ? random_below(random, 2)
                                                 : random_below(random, HOX_ACTIVATION_COUNT);
}

// Every tile and every remainder: all heights and widths with all ways to part the channels.
Test(kernels, compute_every_size) {
    static bool met[CHANNEL_PARTS][MOST_SIDE + 1][MOST_SIDE + 1];
    say_what_is_missing();
    open_pages();
    test_random random = {1};
    seen all = {0};
    const size_t node_count = (size_t)CHANNEL_PARTS * MOST_SIDE * MOST_SIDE;
    for (size_t i = 0; i < node_count; i++) {
        const uint32_t height = 1 + (uint32_t)(i % MOST_SIDE);
        const uint32_t width = 1 + (uint32_t)(i / MOST_SIDE % MOST_SIDE);
        const size_t which = i / MOST_SIDE / MOST_SIDE;
        setup s;
        begin_node(&s, channel_counts[which], height, width, random_below(&random, 2),
                   random_below(&random, 2), &random);
        s.edge_count = 1 + (random_below(&random, 4) == 0);
        for (uint32_t e = 0; e < s.edge_count; e++) {
            s.rows[e] = axis_into(height, 1 + random_below(&random, 3),
                                  1 + random_below(&random, 3), random_below(&random, 3), &random);
            s.columns[e] =
                axis_into(width, 1 + random_below(&random, 3 + 3 * (width == 1)),
                          1 + random_below(&random, 3), random_below(&random, 3), &random);
            describe_edge(&s, e, 1 + random_below(&random, 2), &random);
        }
        s.node.edges = s.edges;
        s.node.edge_count = s.edge_count;
        look_at(&s, &all);
        met[which][height][width] = true;
        check_setup(&s, &random);
    }
    size_t met_count = 0;
    for (size_t i = 0; i < sizeof met; i++)
        met_count += ((const bool *)met)[i];
    cr_expect_eq(met_count, node_count);
    cr_expect_eq(all.channels_out, set_of(channel_counts, CHANNEL_PARTS));
    cr_expect_eq(all.activations, (1U << HOX_ACTIVATION_COUNT) - 1);
    cr_expect_gt(all.two_edges, 100);
}

static uint32_t draw_kernel(test_random *random) {
    return kernel_sizes[random_below(random, KERNEL_SIZES)];
}

static void draw_edge(setup *s, uint32_t e, test_random *random) {
    const uint32_t kernel_h = draw_kernel(random), kernel_w = draw_kernel(random);
    s->rows[e] = axis_into(s->node.height, kernel_h, 1 + random_below(random, 3),
                           random_below(random, 10), random);
    s->columns[e] = axis_into(s->node.width, kernel_w, 1 + random_below(random, 3),
                              random_below(random, 10), random);
    describe_edge(s, e, channel_counts[random_below(random, CHANNEL_COUNTS)], random);
}

// Two edges of one source, with weights of their own.
static void repeat_edge(setup *s) {
    s->rows[1] = s->rows[0];
    s->columns[1] = s->columns[0];
    s->edges[1] = s->edges[0];
    s->edges[1].weights = s->weight_count;
    s->weight_count += (taps_of(s, 0) + 1) * s->node.channels;
}

static void draw_setup(setup *s, test_random *random) {
    static const uint32_t sizes[][2] = {{31, 33}, {1, 1}, {5, 7}};
    const uint32_t special = random_below(random, 8);
    const uint32_t height = special < 3 ? sizes[special][0] : 1 + random_below(random, MOST_SIDE);
    const uint32_t width = special < 3 ? sizes[special][1] : 1 + random_below(random, MOST_SIDE);
    begin_node(s, channel_counts[random_below(random, CHANNEL_COUNTS)], height, width,
               random_below(random, 4) * 3, random_below(random, 5) * 2, random);
    s->edge_count = 1 + random_below(random, 2);
    draw_edge(s, 0, random);
    if (s->edge_count == 2 && random_below(random, 3) == 0)
        repeat_edge(s);
    else if (s->edge_count == 2)
        draw_edge(s, 1, random);
    s->node.edges = s->edges;
    s->node.edge_count = s->edge_count;
}

// Of so many products at most, and sources of a million floats.
static bool is_small(const setup *s, size_t most_products) {
    size_t products = 0, largest = 0;
    for (uint32_t e = 0; e < s->edge_count; e++) {
        products += taps_of(s, e) * s->node.channels * s->node.height * s->node.width;
        if (s->sources[e].size > largest) largest = s->sources[e].size;
    }
    return products <= most_products && largest <= 1 << 20;
}

Test(kernels, compute_every_kernel_and_stride) {
    enum { SETUPS = 700, MOST_PRODUCTS = 250000 };
    say_what_is_missing();
    open_pages();
    test_random random = {2};
    seen all = {0};
    for (int i = 0; i < SETUPS;) {
        setup s;
        draw_setup(&s, &random);
        if (!is_small(&s, MOST_PRODUCTS)) continue;
        look_at(&s, &all);
        check_setup(&s, &random);
        i++;
    }
    for (int a = 0; a < 2; a++) {
        cr_expect_eq(all.kernels[a], set_of(kernel_sizes, KERNEL_SIZES));
        cr_expect_eq(all.paddings[a], (1U << 10) - 1);
    }
    cr_expect_eq(all.margins[0], 1U << 0 | 1U << 3 | 1U << 6 | 1U << 9);
    cr_expect_eq(all.margins[1], 1U << 0 | 1U << 2 | 1U << 4 | 1U << 6 | 1U << 8);
    cr_expect_eq(all.strides, (uint64_t)0xEEE0); // 1 .. 3 with 1 .. 3
    cr_expect_eq(all.channels_in, set_of(channel_counts, CHANNEL_COUNTS));
    cr_expect_eq(all.channels_out, set_of(channel_counts, CHANNEL_COUNTS));
    cr_expect_gt(all.same_source, 50);
}

// From images of odd sizes: 31 x 33, 1 x 1, 5 x 7, with margins up to 9.
Test(kernels, compute_from_odd_sizes) {
    static const uint32_t sizes[][2] = {{31, 33}, {1, 1}, {5, 7}};
    say_what_is_missing();
    open_pages();
    test_random random = {3};
    for (int i = 0; i < 150;) {
        const uint32_t *size = sizes[i % 3];
        axis along[2];
        bool fits = true;
        for (int a = 0; a < 2; a++) {
            along[a] = (axis){.source = size[a],
                              .kernel = draw_kernel(&random),
                              .stride = 1 + random_below(&random, 3),
                              .padding = random_below(&random, 10)};
            const uint32_t room = along[a].source + 2 * along[a].padding;
            fits = fits && room >= along[a].kernel;
            if (fits) along[a].target = (room - along[a].kernel) / along[a].stride + 1;
        }
        if (!fits) continue;
        setup s;
        begin_node(&s, channel_counts[random_below(&random, 6)], along[0].target, along[1].target,
                   random_below(&random, 10), random_below(&random, 10), &random);
        s.edge_count = 1;
        s.rows[0] = along[0];
        s.columns[0] = along[1];
        describe_edge(&s, 0, channel_counts[random_below(&random, 4)], &random);
        s.node.edges = s.edges;
        s.node.edge_count = s.edge_count;
        if (!is_small(&s, 600000)) continue;
        check_setup(&s, &random);
        i++;
    }
}

// ---- activations: pixels through a kernel of 1 ----

enum { POINTS = 5 * 7 * CPU_BLOCK };

static void follow(const cpu_kernels *kernels, uint32_t activation, const float points[POINTS],
                   float values[POINTS]) {
    static const float weights[] = {1, 0};
    const cpu_edge edge = {.channels = 1,
                           .kernel_h = 1,
                           .kernel_w = 1,
                           .stride_h = 1,
                           .stride_w = 1,
                           .row = (size_t)7 * CPU_BLOCK,
                           .plane = POINTS};
    cpu_node node = describe_node(1, 5, 7, 0, 0);
    node.edges = &edge;
    node.edge_count = 1;
    node.activation = activation;
    float *source = guarded_place(&source_pages[0], POINTS, true);
    float *target = guarded_place(&target_pages, POINTS, true);
    memcpy(source, points, POINTS * sizeof *source);
    kernels->compute(&node, weights, (const float *const[]){source}, target);
    memcpy(values, target, POINTS * sizeof *values);
}

static void check_curve(const cpu_kernels *kernels, const float points[POINTS]) {
    float values[POINTS];
    for (uint32_t activation = 0; activation < HOX_ACTIVATION_COUNT; activation++) {
        follow(kernels, activation, points, values);
        for (int i = 0; i < POINTS; i++) {
            const double x = points[i], right = exact(activation, x);
            cr_assert(fabs((double)values[i] - right) <= allowed(activation, x),
                      "activation %u at %.9g: %.9g, not %.9g", activation, x, (double)values[i],
                      right);
        }
    }
}

EACH_SET(follow_each_curve_from_minus_100_to_100) {
    enum { STEPS = 40 };
    const cpu_kernels *kernels = need_set(*row);
    open_pages();
    float points[POINTS];
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < POINTS; i++)
            points[i] =
                (float)(-100 + 200 * ((double)step * POINTS + i) / (double)(STEPS * POINTS - 1));
        check_curve(kernels, points);
    }
}

// From the smallest numbers to the largest, both signs: random bits that are a number.
EACH_SET(follow_each_curve_over_all_of_fp32) {
    const cpu_kernels *kernels = need_set(*row);
    open_pages();
    test_random random = {4};
    float points[POINTS];
    for (int step = 0; step < 40; step++) {
        for (int i = 0; i < POINTS; i++)
            do {
                const uint32_t bits = (uint32_t)random_next(&random);
                memcpy(points + i, &bits, sizeof bits);
            } while (!isfinite(points[i]));
        check_curve(kernels, points);
    }
}

EACH_SET(know_zero_infinity_and_nan) {
    const cpu_kernels *kernels = need_set(*row);
    open_pages();
    const float kinds[] = {INFINITY, -INFINITY, NAN, 0.0F, -0.0F};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    float points[POINTS], values[POINTS];
    for (int i = 0; i < POINTS; i++)
        points[i] = kinds[i % KINDS];
    for (uint32_t activation = 0; activation < HOX_ACTIVATION_COUNT; activation++) {
        follow(kernels, activation, points, values);
        for (int i = 0; i < POINTS; i++) {
            const double value = values[i], right = exact(activation, points[i]);
            if (isnan(points[i]))
                cr_assert(isnan(value), "activation %u loses what is no number", activation);
            else if (isnan(right)) // gelu and silu at minus infinity
                cr_assert(!isfinite(value), "activation %u at %g: %g", activation,
                          (double)points[i], value);
            else if (isinf(right))
                cr_assert_eq(value, right, "activation %u at %g: %g", activation, (double)points[i],
                             value);
            else
                cr_assert_float_eq(value, right, 4e-6, "activation %u at %g: %g", activation,
                                   (double)points[i], value);
        }
    }
}

// ---- images beside each other ----

static void turn_images(float *values, size_t count, int by) {
    for (size_t i = 0; i < count; i += CPU_BLOCK) {
        float turned[CPU_BLOCK];
        for (int k = 0; k < CPU_BLOCK; k++)
            turned[(k + by) % CPU_BLOCK] = values[i + (size_t)k];
        memcpy(values + i, turned, sizeof turned);
    }
}

// Sums that are rounded; an image gives the same bits at every place, whatever its neighbours are.
EACH_SET(give_an_image_the_same_bits_at_every_place) {
    const cpu_kernels *kernels = need_set(*row);
    open_pages();
    test_random random = {5};
    for (int i = 0; i < 60;) {
        setup s;
        draw_setup(&s, &random);
        if (!is_small(&s, 100000)) continue;
        s.node.activation = (uint32_t)i++ % HOX_ACTIVATION_COUNT;
        draw_values(&s, &random);
        for (size_t k = 0; k < s.weight_count; k++)
            s.weights[k] = random_signed(&random) / 8;
        for (uint32_t e = 0; e < s.edge_count && s.images[e]; e++)
            for (size_t k = 0; k < plain_size(&s.sources[e]); k++)
                s.images[e][k] = random_signed(&random);
        float *first = room_for(s.node.size, sizeof *first);
        memcpy(first, run(&s, kernels, true), s.node.size * sizeof *first);
        for (int by = 1; by < CPU_BLOCK; by += 4) { // 16 images in all: back at the beginning
            for (uint32_t e = 0; e < s.edge_count && s.images[e]; e++)
                turn_images(s.images[e], plain_size(&s.sources[e]), by);
            turn_images(first, s.node.size, by);
            cr_assert_arr_eq(run(&s, kernels, true), first, s.node.size * sizeof *first, "%s",
                             describe(&s));
        }
        for (uint32_t e = 0; e < s.edge_count && s.images[e]; e++)
            for (size_t k = 0; k < plain_size(&s.sources[e]); k += CPU_BLOCK)
                s.images[e][k + 5] = NAN;
        const float *spoilt = run(&s, kernels, true);
        for (size_t k = 0; k < s.node.size; k++)
            if (k % CPU_BLOCK != 5)
                cr_assert_eq(memcmp(spoilt + k, first + k, sizeof *first), 0, "%s", describe(&s));
        free(first);
        free_setup(&s);
    }
}
