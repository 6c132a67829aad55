// convolution.h - one edge: a cross-correlation with bias and zero padding, added to a map.
#pragma once

#include <stdint.h>

enum { CONVOLUTION_MAX_KERNEL = 64 };

// Rows or columns: target position t meets source position t * stride + tap - padding.
typedef struct convolution_axis {
    uint32_t source, target, kernel, stride, padding;
} convolution_axis;

typedef struct convolution {
    uint32_t source_channels, target_channels;
    convolution_axis rows, columns;
} convolution;

// Adds to target (Cout,H,W), per pixel in the order input channel, kernel row, kernel column, bias.
// weights: [Cout][Cin][kh][kw], then bias [Cout].
void convolution_add(const convolution *edge, const float *weights, const float *source,
                     float *target);
