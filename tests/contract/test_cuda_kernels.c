// test_cuda_kernels.c - the CUDA kernels' text, run on the CPU, against their definitions. Every
// array is just as large as needed, so that the address sanitizer sees a step beside it; what
// nobody may read is NaN, and what nobody may write is looked at afterwards.
#include "cuda/kernels.h"
#include "fibres.h"
#include "host_kernels.h"
#include "random.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <hox/plan.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct convolution_kernel {
    const char *name;
    uint32_t channels, pixels;
    int kind;
} convolution_kernel;

static const convolution_kernel convolution_kernels[] = {
#define ROW(name, channels, pixels, kind) {#name, channels, pixels, kind},
    CUDA_CONVOLUTION_MAP(ROW)
#undef ROW
};

enum {
    KERNEL_COUNT = sizeof convolution_kernels / sizeof convolution_kernels[0],
    ORDER_COUNT = FIBRES_SCRAMBLED + 1,
    DRAWS = 12,         // of shapes, for each kernel and order
    MOST_WORK = 1 << 18 // products
};

static float *make_floats(size_t count) {
    float *floats = malloc(count * sizeof *floats);
    cr_assert_not_null(floats);
    for (size_t i = 0; i < count; i++)
        floats[i] = NAN;
    return floats;
}

static bool same_bits(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static uint32_t round_up(uint64_t count, uint32_t to) {
    return (uint32_t)((count + to - 1) / to);
}

static void run_kernel(const char *name, const void *argument, size_t bytes, uint32_t blocks) {
    const uint32_t grid[3] = {blocks, 1, 1};
    const host_kernel *kernel = host_kernel_find(name);
    cr_assert_not_null(kernel, "%s", name);
    cr_assert_eq(kernel->argument_bytes, bytes, "%s", name);
    kernel->run(argument, grid, CUDA_THREADS);
    cr_assert_eq(fibres_divergence_count(), 0, "%s", name);
}

// Where value `place` of an image lies in a map of `values` values each.
static size_t place_in_map(uint64_t image, size_t values, size_t place) {
    return (image / CUDA_IMAGES * values + place) * CUDA_IMAGES + image % CUDA_IMAGES;
}

// Floats of a map up to the last value of its last image.
static size_t map_floats(uint64_t images, size_t values) {
    return place_in_map(images - 1, values, values - 1) + 1;
}

// ---- convolution ----

// The corners that a draw may miss: source map, kernel, stride, padding, channels, images.
static const struct shape {
    uint32_t height, width, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w;
    uint32_t source_channels, target_channels, images, first;
} shapes[] = {
    {1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0},     {1, 1, 3, 3, 1, 1, 1, 1, 3, 8, 33, 5},
    {31, 33, 3, 3, 1, 1, 1, 1, 3, 3, 2, 31},  {5, 7, 5, 5, 1, 1, 2, 2, 17, 17, 1, 40},
    {5, 7, 1, 12, 1, 1, 0, 9, 2, 9, 65, 32},  {64, 64, 64, 64, 1, 1, 0, 0, 2, 2, 1, 1},
    {31, 33, 32, 32, 1, 1, 1, 2, 1, 3, 1, 0}, {31, 33, 32, 32, 3, 2, 9, 9, 2, 2, 1, 33},
    {5, 70, 2, 64, 1, 1, 1, 1, 16, 1, 1, 0},  {31, 33, 7, 12, 2, 3, 3, 4, 3, 4, 3, 95},
    {1, 1, 12, 12, 1, 1, 9, 9, 2, 16, 1, 0},  {31, 33, 1, 1, 2, 2, 0, 0, 3, 17, 31, 7},
};
enum { SHAPE_COUNT = sizeof shapes / sizeof shapes[0] };

static uint32_t target_size(uint32_t source, uint32_t kernel, uint32_t stride, uint32_t padding) {
    return source + 2 * padding < kernel ? 0 : (source + 2 * padding - kernel) / stride + 1;
}

static cuda_chunk *choose_images(uint32_t count, uint64_t first) {
    static cuda_chunk chosen;
    chosen = (cuda_chunk){.count = count, .first = first};
    return &chosen;
}

static cuda_convolution draw_convolution(test_random *random) {
    static const uint32_t sizes[][2] = {{1, 1}, {5, 7}, {31, 33}, {0, 0}};
    static const uint32_t counts[] = {1, 2, 31, 32, 33, 70, 0};
    const uint32_t *size = sizes[random_below(random, 4)];
    const uint32_t count = counts[random_below(random, 7)];
    return (cuda_convolution){.source_height = size[0] ? size[0] : 1 + random_below(random, 40),
                              .source_width = size[1] ? size[1] : 1 + random_below(random, 40),
                              .kernel_h = 1 + random_below(random, 12),
                              .kernel_w = 1 + random_below(random, 12),
                              .stride_h = 1 + random_below(random, 3),
                              .stride_w = 1 + random_below(random, 3),
                              .padding_h = random_below(random, 10),
                              .padding_w = random_below(random, 10),
                              .source_channels = 1 + random_below(random, 17),
                              .target_channels = 1 + random_below(random, 17),
                              .chunk = choose_images(count ? count : 1 + random_below(random, 70),
                                                     random_below(random, 100))};
}

static cuda_convolution take_shape(const struct shape *s) {
    return (cuda_convolution){.source_height = s->height,
                              .source_width = s->width,
                              .kernel_h = s->kernel_h,
                              .kernel_w = s->kernel_w,
                              .stride_h = s->stride_h,
                              .stride_w = s->stride_w,
                              .padding_h = s->padding_h,
                              .padding_w = s->padding_w,
                              .source_channels = s->source_channels,
                              .target_channels = s->target_channels,
                              .chunk = choose_images(s->images, s->first)};
}

// As the kernel can do it. Returns the products it takes, 0 where there is no such target.
static uint64_t fit_to_kernel(cuda_convolution *c, const convolution_kernel *kernel) {
    if (kernel->kind != CUDA_STRIDED) c->stride_w = 1;
    if (kernel->kind == CUDA_POINT) c->kernel_h = c->kernel_w = 1;
    c->target_height = target_size(c->source_height, c->kernel_h, c->stride_h, c->padding_h);
    c->target_width = target_size(c->source_width, c->kernel_w, c->stride_w, c->padding_w);
    return (uint64_t)c->source_channels * c->kernel_h * c->kernel_w * c->target_channels *
           c->target_height * c->target_width * c->chunk->count;
}

static size_t source_values(const cuda_convolution *c) {
    return (size_t)c->source_channels * c->source_height * c->source_width;
}

static size_t target_values(const cuda_convolution *c) {
    return (size_t)c->target_channels * c->target_height * c->target_width;
}

static size_t taps_of(const cuda_convolution *c) {
    return (size_t)c->source_channels * c->kernel_h * c->kernel_w;
}

static size_t target_floats(const cuda_convolution *c) {
    return round_up(c->chunk->count, CUDA_IMAGES) * target_values(c) * CUDA_IMAGES;
}

static float *draw_source(const cuda_convolution *c, test_random *random) {
    float *source = make_floats(map_floats(c->chunk->first + c->chunk->count, source_values(c)));
    for (uint64_t image = c->chunk->first; image < c->chunk->first + c->chunk->count; image++)
        for (size_t i = 0; i < source_values(c); i++)
            source[place_in_map(image, source_values(c), i)] = random_signed(random);
    return source;
}

static float *draw_weights(const cuda_convolution *c, test_random *random) {
    const size_t count = (taps_of(c) + 1) * c->target_channels;
    float *weights = make_floats(count);
    for (size_t i = 0; i < count; i++)
        weights[i] = random_signed(random);
    return weights;
}

static float *draw_target(const cuda_convolution *c, test_random *random) {
    float *target = make_floats(target_floats(c));
    for (uint64_t image = 0; !c->is_first && image < c->chunk->count; image++)
        for (size_t i = 0; i < target_values(c); i++)
            target[place_in_map(image, target_values(c), i)] = random_signed(random);
    return target;
}

static float pixel_of(const cuda_convolution *c, uint64_t image, uint32_t channel, uint32_t y,
                      uint32_t x) {
    const size_t place = ((size_t)channel * c->source_height + y) * c->source_width + x;
    const float *map = c->source ? c->source : c->chunk->images;
    return map[place_in_map(c->chunk->first + image, source_values(c), place)];
}

// The definition, for one value; padding taps are skipped.
static float convolve_value(const cuda_convolution *c, uint64_t image, uint32_t channel, uint32_t y,
                            uint32_t x, float held) {
    const float *weight = c->weights + channel * taps_of(c);
    float sum = 0;
    for (uint32_t from = 0; from < c->source_channels; from++)
        for (uint32_t ky = 0; ky < c->kernel_h; ky++)
            for (uint32_t kx = 0; kx < c->kernel_w; kx++, weight++) {
                const uint32_t sy = y * c->stride_h + ky - c->padding_h; // wraps below 0
                const uint32_t sx = x * c->stride_w + kx - c->padding_w;
                if (sy >= c->source_height || sx >= c->source_width) continue;
                sum = fmaf(*weight, pixel_of(c, image, from, sy, sx), sum);
            }
    sum += c->weights[taps_of(c) * c->target_channels + channel];
    if (!c->is_first) sum += held;
    return sum < 0 ? (c->slope == 0 ? 0 : c->slope * sum) : sum;
}

// In place of what `target` holds.
static void convolve_all(const cuda_convolution *c, float *target) {
    for (uint64_t image = 0; image < c->chunk->count; image++)
        for (size_t i = 0; i < target_values(c); i++) {
            const uint32_t x = (uint32_t)(i % c->target_width);
            const uint32_t y = (uint32_t)(i / c->target_width % c->target_height);
            const uint32_t channel = (uint32_t)(i / c->target_width / c->target_height);
            float *value = &target[place_in_map(image, target_values(c), i)];
            *value = convolve_value(c, image, channel, y, x, *value);
        }
}

static size_t count_wrong(const cuda_convolution *c, const float *right) {
    size_t wrong = 0;
    for (uint64_t image = 0; image < c->chunk->count; image++)
        for (size_t i = 0; i < target_values(c); i++) {
            const size_t place = place_in_map(image, target_values(c), i);
            wrong += !same_bits(c->target[place], right[place]);
        }
    return wrong;
}

static void check_convolution(cuda_convolution c, const convolution_kernel *kernel,
                              test_random *random) {
    static const float slopes[] = {1, 0, 0.01F};
    c.is_first = random_below(random, 2);
    c.slope = slopes[random_below(random, 3)];
    cuda_chunk chunk = *c.chunk;
    c.chunk = &chunk;
    c.most = chunk.count + random_below(random, 40); // the launch may be for more
    const bool is_map = random_below(random, 3) == 0;
    if (is_map) chunk.first = 0;
    float *source = draw_source(&c, random), *weights = draw_weights(&c, random);
    float *right = draw_target(&c, random), *target = make_floats(target_floats(&c));
    chunk.images = is_map ? NULL : source;
    c.source = is_map ? source : NULL;
    c.weights = weights;
    c.target = memcpy(target, right, target_floats(&c) * sizeof *target);
    convolve_all(&c, right);
    const uint64_t tiles = (uint64_t)c.target_height * round_up(c.target_width, kernel->pixels);
    const uint32_t groups = round_up(c.target_channels, kernel->channels);
    const uint32_t warps = CUDA_THREADS / CUDA_IMAGES;
    run_kernel(kernel->name, &c, sizeof c,
               groups * round_up(tiles * round_up(c.most, CUDA_IMAGES), warps));
    const size_t wrong = count_wrong(&c, right);
    cr_expect_eq(wrong, 0,
                 "%s: %zu wrong; %u images from %u, %ux%ux%u, kernel %ux%u, stride %ux%u, padding "
                 "%ux%u, %u channels",
                 kernel->name, wrong, chunk.count, (unsigned)chunk.first, c.source_channels,
                 c.source_height, c.source_width, c.kernel_h, c.kernel_w, c.stride_h, c.stride_w,
                 c.padding_h, c.padding_w, c.target_channels);
    free(source);
    free(weights);
    free(right);
    free(target);
}

static size_t rows[KERNEL_COUNT * ORDER_COUNT]; // no pointers may stand in one

ParameterizedTestParameters(cuda_kernels, convolve_as_defined_to_the_bit) {
    for (size_t i = 0; i < KERNEL_COUNT * ORDER_COUNT; i++)
        rows[i] = i;
    return cr_make_param_array(size_t, rows, KERNEL_COUNT * ORDER_COUNT);
}
ParameterizedTest(size_t *row, cuda_kernels, convolve_as_defined_to_the_bit) {
    const convolution_kernel *kernel = &convolution_kernels[*row / ORDER_COUNT];
    test_random random = {*row};
    fibres_set_order((fibre_order)(*row % ORDER_COUNT));
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        cuda_convolution c = take_shape(&shapes[i]);
        cr_assert_gt(fit_to_kernel(&c, kernel), 0, "shape %zu", i);
        check_convolution(c, kernel, &random);
    }
    for (int i = 0; i < DRAWS; i++) {
        cuda_convolution c = draw_convolution(&random);
        const uint64_t work = fit_to_kernel(&c, kernel);
        if (work == 0 || work > MOST_WORK)
            i--;
        else
            check_convolution(c, kernel, &random);
    }
}

// ---- an edge in run_genomes ----

static const struct step_kind {
    uint32_t kind, channels;
} step_kinds[] = {
#define ROW(name, channels, pixels) {name, channels},
    CUDA_STEP_MAP(ROW)
#undef ROW
};

enum {
    STEP_KINDS = sizeof step_kinds / sizeof step_kinds[0],
    HALVINGS = 4, // 0 .. 3
    STEP_ROWS = STEP_KINDS * HALVINGS * ORDER_COUNT
};

// One tile of images through one edge; all maps but the images lie in scratch.
typedef struct step_case {
    cuda_convolution shape; // its weights are the definition's
    cuda_step step;
    float *samples, *scratch, *right, *weights; // right: what scratch is to be; weights: packed
    uint64_t scratch_floats;
} step_case;

static cuda_map shape_map(uint32_t channels, uint32_t height, uint32_t width, bool is_padded) {
    const uint32_t row = (is_padded ? width | 1 : width) * CUDA_TILE;
    return (cuda_map){.space = CUDA_IN_SCRATCH,
                      .channels = channels,
                      .height = height,
                      .width = width,
                      .row = row,
                      .plane = row * height};
}

static void fill_map(float *map, const cuda_map *m, test_random *random) {
    for (uint32_t c = 0; c < m->channels; c++)
        for (uint32_t y = 0; y < m->height; y++)
            for (uint32_t i = 0; i < m->width * CUDA_TILE; i++)
                map[m->place + c * m->plane + y * m->row + i] = random_signed(random);
}

// Returns the floats; what stands for no weight is NaN.
static uint64_t pack_weights(step_case *c, uint32_t channels) {
    const cuda_convolution *s = &c->shape;
    const uint64_t all = (uint64_t)s->source_channels * s->kernel_h, row = c->step.taps_row * 4;
    const uint32_t groups = round_up(s->target_channels, channels);
    const uint32_t width = round_up(channels, 4) * 4;
    const uint64_t floats = groups * all * row + round_up(s->target_channels, 4) * 4;
    c->step.bias = groups * all * row;
    c->weights = make_floats(floats);
    for (uint32_t k = 0; k < s->target_channels; k++) {
        for (size_t tap = 0; tap < taps_of(s); tap++)
            c->weights[(k / channels * all + tap / s->kernel_w) * row + tap % s->kernel_w * width +
                       k % channels] = s->weights[k * taps_of(s) + tap];
        c->weights[c->step.bias + k] = s->weights[s->target_channels * taps_of(s) + k];
    }
    return floats;
}

static void make_step(step_case *c, size_t kind, uint32_t halvings, test_random *random) {
    static const float slopes[] = {1, 0, 0.01F};
    const cuda_convolution *s = &c->shape;
    const bool is_of_images = random_below(random, 2);
    const uint32_t vectors = s->kernel_w * round_up(step_kinds[kind].channels, 4);
    c->step = (cuda_step){
        .kind = step_kinds[kind].kind,
        .source = shape_map(s->source_channels, s->source_height, s->source_width, !is_of_images),
        .target = shape_map(s->target_channels, s->target_height, s->target_width, true),
        .taps_row = halvings > 0 ? vectors | 1 : vectors,
        .halvings = halvings,
        .kernel_h = s->kernel_h,
        .kernel_w = s->kernel_w,
        .stride_h = s->stride_h,
        .stride_w = s->stride_w,
        .padding_h = s->padding_h,
        .padding_w = s->padding_w,
        .is_first = random_below(random, 2),
        .slope = slopes[random_below(random, 3)]};
    const cuda_map *source = &c->step.source, *target = &c->step.target;
    const uint64_t source_floats = source->channels * source->plane + CUDA_TILE_SLACK;
    const uint64_t target_floats = target->channels * target->plane + CUDA_TILE_SLACK;
    c->step.target.place = is_of_images ? 0 : source_floats;
    c->scratch_floats = c->step.target.place + target_floats;
    c->scratch = make_floats(c->scratch_floats);
    c->right = make_floats(c->scratch_floats);
    c->samples = make_floats(source_floats);
    if (is_of_images) c->step.source.space = CUDA_IN_SAMPLES;
    fill_map(is_of_images ? c->samples : c->scratch, source, random);
    if (!c->step.is_first) fill_map(c->scratch, target, random);
    memcpy(c->right, c->scratch, c->scratch_floats * sizeof *c->right);
    const uint64_t floats = pack_weights(c, step_kinds[kind].channels);
    if (random_below(random, 2)) c->step.stage_size = (uint32_t)floats;
}

// Rows of taps that meet the source, in turn to the parts; then these in pairs.
static float sum_parts(const step_case *c, uint32_t image, uint32_t channel, uint32_t y,
                       uint32_t x) {
    const cuda_step *s = &c->step;
    const float *source = s->source.space == CUDA_IN_SAMPLES ? c->samples : c->scratch;
    const float *weight = c->shape.weights + channel * taps_of(&c->shape);
    float parts[1 << (HALVINGS - 1)] = {0};
    uint32_t row = 0;
    for (uint32_t from = 0; from < s->source.channels; from++)
        for (uint32_t ky = 0; ky < s->kernel_h; ky++, weight += s->kernel_w) {
            const uint32_t sy = y * s->stride_h + ky - s->padding_h; // wraps below 0
            if (sy >= s->source.height) continue;
            float *sum = &parts[row++ % (1U << s->halvings)];
            for (uint32_t kx = 0; kx < s->kernel_w; kx++) {
                const uint32_t sx = x * s->stride_w + kx - s->padding_w;
                if (sx >= s->source.width) continue;
                *sum = fmaf(
                    weight[kx],
                    source[from * s->source.plane + sy * s->source.row + sx * CUDA_TILE + image],
                    *sum);
            }
        }
    for (uint32_t count = 1U << s->halvings; count > 1; count /= 2)
        for (uint32_t i = 0; i < count / 2; i++)
            parts[i] = parts[2 * i] + parts[2 * i + 1];
    return parts[0];
}

static void convolve_tile(const step_case *c) {
    const cuda_map *t = &c->step.target;
    const float *bias = c->shape.weights + t->channels * taps_of(&c->shape);
    for (uint32_t channel = 0; channel < t->channels; channel++)
        for (uint32_t y = 0; y < t->height; y++)
            for (uint32_t i = 0; i < t->width * CUDA_TILE; i++) {
                float *value = &c->right[t->place + channel * t->plane + y * t->row + i];
                float sum = sum_parts(c, i % CUDA_TILE, channel, y, i / CUDA_TILE) + bias[channel];
                if (!c->step.is_first) sum += *value;
                *value = sum < 0 ? (c->step.slope == 0 ? 0 : c->step.slope * sum) : sum;
            }
}

static void run_step(const step_case *c) {
    const uint32_t one_block[3] = {1, 1, 1};
    const cuda_genomes g = {.steps = &c->step,
                            .weights = c->weights,
                            .samples = c->samples,
                            .scratch = c->scratch,
                            .scratch_floats = c->scratch_floats,
                            .count = CUDA_TILE,
                            .tile_count = 1,
                            .step_count = 1,
                            .pixels = (uint32_t)source_values(&c->shape)};
    fibres_set_shared_at_launch(c->step.stage_size * sizeof(float));
    host_kernel_find("run_genomes")->run(&g, one_block, CUDA_TILE_THREADS);
    cr_assert_eq(fibres_divergence_count(), 0);
}

static void check_step(const cuda_convolution *shape, size_t kind, uint32_t halvings,
                       test_random *random) {
    step_case c = {.shape = *shape};
    float *weights = draw_weights(shape, random);
    c.shape.weights = weights;
    make_step(&c, kind, halvings, random);
    convolve_tile(&c);
    run_step(&c);
    size_t wrong = 0;
    for (size_t i = 0; i < c.scratch_floats; i++)
        wrong += !same_bits(c.scratch[i], c.right[i]);
    cr_expect_eq(wrong, 0,
                 "kind %u, %u halvings: %zu wrong; %ux%ux%u, kernel %ux%u, stride %ux%u, padding "
                 "%ux%u, to %ux%ux%u",
                 c.step.kind, halvings, wrong, shape->source_channels, shape->source_height,
                 shape->source_width, shape->kernel_h, shape->kernel_w, shape->stride_h,
                 shape->stride_w, shape->padding_h, shape->padding_w, shape->target_channels,
                 shape->target_height, shape->target_width);
    free(weights);
    free(c.samples);
    free(c.scratch);
    free(c.right);
    free(c.weights);
}

static size_t step_rows[STEP_ROWS];

ParameterizedTestParameters(cuda_kernels, steps_add_parts_in_one_order) {
    for (size_t i = 0; i < STEP_ROWS; i++)
        step_rows[i] = i;
    return cr_make_param_array(size_t, step_rows, STEP_ROWS);
}
ParameterizedTest(size_t *row, cuda_kernels, steps_add_parts_in_one_order) {
    static const convolution_kernel any = {.kind = CUDA_STRIDED};
    const size_t kind = *row / ORDER_COUNT / HALVINGS;
    const uint32_t halvings = *row / ORDER_COUNT % HALVINGS;
    test_random random = {*row};
    fibres_set_order((fibre_order)(*row % ORDER_COUNT));
    for (int i = 0; i < DRAWS; i++) {
        cuda_convolution c = draw_convolution(&random);
        c.chunk = choose_images(CUDA_TILE, 0);
        if (i % 2) c.stride_w = c.stride_h = 1;
        if (i % 3 == 0) { // onto few values
            c.kernel_h = c.source_height;
            c.kernel_w = c.source_width;
            c.padding_h = c.padding_w = i % 2;
        }
        const uint64_t work = fit_to_kernel(&c, &any);
        if (work == 0 || work > MOST_WORK)
            i--;
        else
            check_step(&c, kind, halvings, &random);
    }
    fibres_set_shared_at_launch(0);
}

// ---- activation ----

static double activation_of(uint32_t kind, double x) {
    switch (kind) {
        case HOX_ACTIVATION_TANH: return tanh(x);
        case HOX_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
        case HOX_ACTIVATION_GELU: return 0.5 * x * erfc(-x / sqrt(2));
        default: return x / (1 + exp(-x)); // SILU
    }
}

// gelu's tail magnifies the rounding of its argument by the square.
static bool is_close(float value, double right, double x) {
    return fabs((double)value - right) <= 3e-7 * (2 + x * x) * fabs(right) + 1e-37;
}

Test(cuda_kernels, activate_as_libm_does) {
    enum { COUNT = 32 * 129 };
    static const float special[] = {0, -0.0F, NAN, -NAN, 1e-40F, -1e-40F, 1e-8F, 12, -12, 80, -80};
    enum { SPECIAL = sizeof special / sizeof special[0] };
    test_random random = {1};
    for (uint32_t kind = HOX_ACTIVATION_TANH; kind <= HOX_ACTIVATION_SILU; kind++) {
        float *before = make_floats(COUNT), *map = make_floats(COUNT);
        for (size_t i = 0; i < COUNT; i++)
            before[i] = i < SPECIAL ? special[i] : random_signed(&random) * (i % 2 ? 12 : 1);
        memcpy(map, before, COUNT * sizeof *map);
        const cuda_activation a = {.map = map, .value_count = COUNT, .kind = kind};
        run_kernel("activate", &a, sizeof a, round_up(COUNT, CUDA_THREADS));
        for (size_t i = 0; i < COUNT; i++) {
            const double x = (double)before[i];
            const bool is_right =
                isnan(x) ? isnan(map[i]) != 0 : is_close(map[i], activation_of(kind, x), x);
            cr_expect(is_right, "kind %u of %.9g is %.9g", kind, x, (double)map[i]);
        }
        free(before);
        free(map);
    }
}

// ---- readout ----

static int compare_floats(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// Sorts the values.
static float logit_of(uint32_t kind, float *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i];
    if (kind == HOX_READOUT_SUM) return (float)sum;
    if (kind == HOX_READOUT_MEAN) return (float)(sum / (double)count);
    qsort(values, count, sizeof *values, compare_floats);
    return (float)(sum / (double)count - (double)values[(count - 1) / 2]);
}

// Each image gets another sort of values: any, with ties, all negative, zeros of both signs.
static float draw_value(test_random *random, uint32_t image) {
    const float value = random_signed(random);
    switch (image % 4) {
        case 0: return value * 100;
        case 1: return roundf(value * 3);
        case 2: return -fabsf(value);
        default: return copysignf(0, value);
    }
}

static void check_readout(uint32_t kind, uint32_t value_count, uint32_t count,
                          test_random *random) {
    const uint32_t spoilt = count > 2 ? 2 : count; // this image has a NaN
    float *map = make_floats(map_floats(count, value_count));
    float *logits = make_floats(count), *right = make_floats(count);
    float *values = make_floats(value_count);
    for (uint32_t image = 0; image < count; image++) {
        for (size_t i = 0; i < value_count; i++)
            map[place_in_map(image, value_count, i)] = values[i] = draw_value(random, image);
        right[image] = logit_of(kind, values, value_count);
    }
    if (spoilt < count)
        map[place_in_map(spoilt, value_count, random_below(random, value_count))] = NAN;
    const cuda_chunk chunk = {.count = count};
    const cuda_readout r = {
        .chunk = &chunk, .map = map, .logits = logits, .value_count = value_count, .kind = kind};
    run_kernel("read_out", &r, sizeof r, round_up(count, CUDA_THREADS));
    for (uint32_t image = 0; image < count; image++) {
        const float got = logits[image];
        cr_expect(image == spoilt ? isnan(got) : got == right[image],
                  "kind %u, image %u of %u, %u values: %.9g, not %.9g", kind, image, count,
                  value_count, (double)got, (double)right[image]);
    }
    free(map);
    free(logits);
    free(right);
    free(values);
}

Test(cuda_kernels, read_out_sums_means_and_medians) {
    static const uint32_t value_counts[] = {1, 2, 3, 4, 5, 64, 1023, 5000};
    static const uint32_t counts[] = {1, 5, 32, 135};
    test_random random = {2};
    for (uint32_t kind = 0; kind < HOX_READOUT_COUNT; kind++)
        for (size_t i = 0; i < sizeof value_counts / sizeof value_counts[0]; i++)
            for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++)
                if (value_counts[i] * counts[k] < 200000)
                    check_readout(kind, value_counts[i], counts[k], &random);
}

// ---- layout ----

static void check_layout(uint32_t side_by_side, uint32_t pixels, uint32_t count, uint32_t first) {
    float *images = make_floats((size_t)pixels * count);
    for (size_t i = 0; i < (size_t)pixels * count; i++)
        images[i] = (float)i;
    const size_t floats = (size_t)round_up(first + count, side_by_side) * pixels * side_by_side;
    float *map = make_floats(floats);
    const cuda_layout l = {.images = images,
                           .map = map,
                           .first = first,
                           .count = count,
                           .pixels = pixels,
                           .side_by_side = side_by_side};
    run_kernel("lay_out_images", &l, sizeof l, round_up(pixels, 32) * round_up(count, 32));
    size_t wrong = 0;
    for (size_t i = 0; i < floats; i++) {
        const size_t image = i / side_by_side / pixels * side_by_side + i % side_by_side;
        const size_t pixel = i / side_by_side % pixels;
        const bool is_ours = image >= first && image < (size_t)first + count;
        wrong += is_ours ? map[i] != (float)((image - first) * pixels + pixel) : !isnan(map[i]);
    }
    cr_expect_eq(wrong, 0, "%zu wrong; %u images of %u from %u", wrong, count, pixels, first);
    free(images);
    free(map);
}

Test(cuda_kernels, lay_out_images_at_their_places_only) {
    static const uint32_t sizes[] = {1, 3, 31, 32, 33, 105, 3072};
    static const uint32_t counts[] = {1, 2, 31, 32, 33, 70};
    static const uint32_t places[] = {0, 1, 31, 32, 45};
    for (int order = 0; order < ORDER_COUNT; order++)
        for (size_t i = 0; i < 7 * 6 * 5; i++) {
            fibres_set_order((fibre_order)order);
            check_layout(CUDA_IMAGES, sizes[i % 7], counts[i / 7 % 6], places[i / 42]);
            check_layout(CUDA_TILE, sizes[i % 7], counts[i / 7 % 6], places[i / 42]);
        }
}
