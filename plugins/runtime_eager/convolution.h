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

// The way back, from delta, a loss's derivatives by the target's sums: adds its derivatives by the
// source's values to source_delta (NULL: nobody asks), those by the weights to gradient, which is
// laid out as they are. A derivative by a weight sums more terms than any pixel: in double.
void convolution_backward(const convolution *edge, const float *weights, const float *source,
                          const float *delta, float *source_delta, double *gradient);
