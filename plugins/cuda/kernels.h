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
    X(read_out, cuda_readout)
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
    uint32_t pixels; // of an image, all channels
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
