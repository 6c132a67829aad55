// kernels.h - the CUDA kernels by name, and their arguments: one struct each, by value. One text
// for host and device.
//
// A map on the device is fp32 [block of 32 images][channel][row][column][32 images]: the 32 threads
// of a warp take an image each, so maps of every size use all of them and every access is of 128
// bytes in a row. A value is computed by one thread from its own image, in one order: no result
// depends on the batch, on neighbours or on how a map is cut into tiles.
#pragma once

#include <stdint.h>

enum {
    CUDA_IMAGES = 32,     // side by side
    CUDA_THREADS = 128,   // in a block of every kernel
    CUDA_LAYOUT_TILE = 32 // images, and pixels, that a block of threads lays out
};

// How a convolution kernel goes along a row of taps.
enum {
    CUDA_POINT,   // stride 1, one tap, so nothing to go along
    CUDA_SLIDING, // stride 1: each pixel is loaded once for a row of taps
    CUDA_STRIDED  // any stride: each pixel is loaded for each tap
};

// Convolution kernels: name, target channels and pixels of a row that a thread computes, CUDA_*.
// clang-format off
#define CUDA_CONVOLUTION_MAP(X)                                                                    \
    X(convolve_3x16, 3, 16, CUDA_SLIDING)                                                          \
    X(convolve_3x8, 3, 8, CUDA_SLIDING)                                                            \
    X(convolve_3x4, 3, 4, CUDA_SLIDING)                                                            \
    X(convolve_3x1, 3, 1, CUDA_SLIDING)                                                            \
    X(convolve_8x8, 8, 8, CUDA_SLIDING)                                                            \
    X(convolve_8x4, 8, 4, CUDA_SLIDING)                                                            \
    X(convolve_8x1, 8, 1, CUDA_SLIDING)                                                            \
    X(convolve_point_3x8, 3, 8, CUDA_POINT)                                                        \
    X(convolve_point_8x8, 8, 8, CUDA_POINT)                                                        \
    X(convolve_strided_3x4, 3, 4, CUDA_STRIDED)                                                    \
    X(convolve_strided_8x4, 8, 4, CUDA_STRIDED)

// The other kernels: name, argument.
#define CUDA_PLAIN_KERNEL_MAP(X)                                                                   \
    X(lay_out_images, cuda_layout)                                                                 \
    X(activate, cuda_activation)                                                                   \
    X(read_out, cuda_readout)                                                                      \
    X(run_genomes, cuda_genomes)

// How run_genomes computes an edge: name, target channels and pixels of a row that a thread computes
// at a time.
#define CUDA_STEP_MAP(X)                                                                           \
    X(CUDA_STEP_3X8, 3, 8)                                                                         \
    X(CUDA_STEP_3X4, 3, 4)                                                                         \
    X(CUDA_STEP_3X1, 3, 1)                                                                         \
    X(CUDA_STEP_8X4, 8, 4)                                                                         \
    X(CUDA_STEP_8X1, 8, 1)
// clang-format on

// The images that a run of kernels is over, in device memory: a recorded run finds others there
// each time. At most as many as the launches are for.
typedef struct cuda_chunk {
    const float *images; // a map
    uint64_t first;      // of its images
    uint32_t count;
    uint32_t reserved;
} cuda_chunk;

// Images as the host has them, (n,C,H,W), to places first .. first + count - 1 of a map. A block of
// threads for each tile of 32 images x 32 pixels, along the pixels first.
typedef struct cuda_layout {
    const float *images;
    float *map;
    uint64_t first;
    uint32_t count;
    uint32_t pixels;       // of an image, all channels
    uint32_t side_by_side; // images of the map: CUDA_IMAGES, or CUDA_TILE for run_genomes
    uint32_t reserved;
} cuda_layout;

// One edge, added to its target: a cross-correlation with bias and zero padding (plan.h). The sum
// over input channel, kernel row and kernel column is an FMA chain from 0 in this order; then come
// the bias and what the target holds. Blocks of threads: cuda_convolution_blocks.
typedef struct cuda_convolution {
    const cuda_chunk *chunk;
    const float *source;  // a map; NULL: the chunk's images
    const float *weights; // [Cout][Cin][kh][kw], then bias [Cout]
    float *target;
    uint32_t most; // images that the launch is for
    uint32_t source_channels, source_height, source_width;
    uint32_t target_channels, target_height, target_width;
    uint32_t kernel_h, kernel_w;
    uint32_t stride_h, stride_w;
    uint32_t padding_h, padding_w;
    uint32_t is_first; // the target holds nothing yet
    float slope;       // below 0, of the activation that comes next: 1 = none, 0 = ReLU
} cuda_convolution;

// The curved activations, in place: tanh, sigmoid, gelu, silu. A thread for each value.
typedef struct cuda_activation {
    float *map;
    uint64_t value_count; // of all blocks, a multiple of 32
    uint32_t kind;        // HOX_ACTIVATION_*
    uint32_t reserved;
} cuda_activation;

// A logit for each image: a thread each, sums in double.
typedef struct cuda_readout {
    const cuda_chunk *chunk;
    const float *map;
    float *logits;
    uint32_t value_count; // of the output's map for one image
    uint32_t kind;        // HOX_READOUT_*
} cuda_readout;

// ---- whole genomes ----
//
// run_genomes takes CUDA_TILE images through all genomes of a call; a block of threads takes one
// such tile after another, and follows the same list of steps for each. A map of a tile is
// [channel][row][column][CUDA_TILE images], of so many columns that rows begin on other banks of
// the shared memory: the 8 neighbouring rows that a warp works on are then read at once.

enum {
    CUDA_TILE = 4,
    CUDA_TILE_THREADS = 256, // in a block; two blocks a processor are there at once
    CUDA_TILE_BLOCKS = 2,
    // Floats that may be read behind a map, for values of a thread that do not count: 7 pixels.
    CUDA_TILE_SLACK = 32
};

// Steps beside those of CUDA_STEP_MAP.
enum {
#define X(name, ...) name,
    CUDA_STEP_MAP(X)
#undef X
        CUDA_STEP_ACTIVATE, // a curved activation of the target, in place
    CUDA_STEP_READ_OUT      // the source becomes the job's logits; its rows are not padded
};

// Where a map lies.
enum {
    CUDA_IN_SHARED,  // memory of the block of threads
    CUDA_IN_SCRATCH, // the block's part of the scratch
    CUDA_IN_SAMPLES  // the tile's images
};

typedef struct cuda_map {
    uint64_t place; // floats from the beginning of its kind of memory
    uint32_t space; // CUDA_IN_*
    uint32_t channels, height, width;
    uint32_t row, plane; // floats
} cuda_map;

// An edge is computed as cuda_convolution says where one thread has a value to itself. A target
// with work for few of the 64 groups of 4 threads is shared: 2, 4 or 8 neighbouring groups have the
// same values, and rows of taps in turn. Rows are counted by input channel and kernel row, those
// beside the source not at all; part p of n sums rows p, p + n, p + 2n ... in an FMA chain from 0.
// Then parts are added as pairs, pairs of pairs and so on: ((0+1)+(2+3))+((4+5)+(6+7)). Bias and
// what the target holds come last, as ever. Its weights are [group of target channels][input
// channel][kernel row][kernel column][the group's channels, up to a multiple of 4], then bias
// [Cout], and begin at a multiple of 4 floats. A row of taps takes `taps_row` vectors of 4, an odd
// number where values are shared: the parts of a warp then read from other banks of the shared
// memory.
typedef struct cuda_step {
    uint32_t kind;     // CUDA_STEP_*
    uint32_t waits;    // until all threads of the block have done all before
    uint32_t function; // HOX_ACTIVATION_* or HOX_READOUT_*, for those two kinds
    uint32_t job;      // in the order of logits, to read out
    cuda_map source, target;
    uint64_t weights;    // floats from cuda_genomes.weights
    uint64_t bias;       // from there
    uint64_t stage;      // where in shared memory the block copies them first,
    uint32_t stage_size; // floats; 0 = they are read where they lie
    uint32_t taps_row;
    uint32_t halvings; // 2^halvings groups of threads share a value
    uint32_t reserved;
    uint32_t kernel_h, kernel_w;
    uint32_t stride_h, stride_w;
    uint32_t padding_h, padding_w;
    uint32_t is_first;
    float slope;
} cuda_step;

typedef struct cuda_genomes {
    const cuda_step *steps;
    const float *weights;
    const float *samples; // of tiles
    float *scratch;       // scratch_floats for each block of threads
    float *logits;        // [job][count]
    uint64_t scratch_floats;
    uint64_t first, count; // images
    uint64_t first_tile;
    uint32_t tile_count; // that hold these
    uint32_t step_count;
    uint32_t pixels; // of an image, all channels
    uint32_t reserved;
} cuda_genomes;
