// convolution.c - taps outside, pixels inside: a pixel's sum keeps the reference order while the
// inner loop runs along a row and vectorises.
#include "convolution.h"

#include <stddef.h>

// Targets begin .. end - 1 meet the source under a tap; the others meet padding.
typedef struct span {
    size_t begin, end;
} span;

// The first target whose source position is at least `position`, were padding endless.
static size_t first_target(const convolution_axis *axis, uint32_t tap, uint32_t position) {
    const int64_t distance = (int64_t)position + axis->padding - tap;
    if (distance <= 0) return 0;
    const int64_t target = (distance + axis->stride - 1) / axis->stride;
    return target < axis->target ? (size_t)target : axis->target;
}

static void find_spans(const convolution_axis *axis, span spans[CONVOLUTION_MAX_KERNEL]) {
    for (uint32_t tap = 0; tap < axis->kernel; tap++) {
        spans[tap].begin = first_target(axis, tap, 0);
        spans[tap].end = first_target(axis, tap, axis->source);
    }
}

static void add_row(float *restrict target, const float *restrict source, size_t count,
                    size_t stride, float weight) {
    if (stride == 1) {
        for (size_t x = 0; x < count; x++)
            target[x] += weight * source[x];
    } else {
        for (size_t x = 0; x < count; x++)
            target[x] += weight * source[x * stride];
    }
}

// Adds weight times the source plane, moved by the tap at (ky, kx).
static void add_tap(const convolution *edge, uint32_t ky, uint32_t kx, span rows, span columns,
                    float weight, const float *source, float *target) {
    if (columns.begin == columns.end) return;
    const size_t source_x = columns.begin * edge->columns.stride + kx - edge->columns.padding;
    for (size_t y = rows.begin; y < rows.end; y++) {
        const size_t source_y = y * edge->rows.stride + ky - edge->rows.padding;
        add_row(target + y * edge->columns.target + columns.begin,
                source + source_y * edge->columns.source + source_x, columns.end - columns.begin,
                edge->columns.stride, weight);
    }
}

static void add_to_map(const convolution *edge, const float *weights, const float *source,
                       float *target) {
    const size_t source_plane = (size_t)edge->rows.source * edge->columns.source;
    const size_t target_plane = (size_t)edge->rows.target * edge->columns.target;
    span rows[CONVOLUTION_MAX_KERNEL], columns[CONVOLUTION_MAX_KERNEL];
    find_spans(&edge->rows, rows);
    find_spans(&edge->columns, columns);
    for (uint32_t co = 0; co < edge->target_channels; co++, target += target_plane)
        for (uint32_t ci = 0; ci < edge->source_channels; ci++)
            for (uint32_t ky = 0; ky < edge->rows.kernel; ky++)
                for (uint32_t kx = 0; kx < edge->columns.kernel; kx++)
                    add_tap(edge, ky, kx, rows[ky], columns[kx], *weights++,
                            source + ci * source_plane, target);
}

// The taps that meet the source at target position 0.
static span taps_inside(const convolution_axis *axis) {
    const size_t end = (size_t)axis->source + axis->padding;
    return (span){axis->padding, end < axis->kernel ? end : axis->kernel};
}

// A map of one pixel: the row of taps is the long loop. The same order, so the same bits.
static void add_to_pixel(const convolution *edge, const float *weights, const float *source,
                         float *target) {
    const span rows = taps_inside(&edge->rows), columns = taps_inside(&edge->columns);
    for (uint32_t co = 0; co < edge->target_channels; co++) {
        float sum = target[co];
        for (uint32_t ci = 0; ci < edge->source_channels; ci++) {
            for (size_t ky = rows.begin; ky < rows.end; ky++) {
                const size_t tap_row =
                    ((size_t)co * edge->source_channels + ci) * edge->rows.kernel + ky;
                const size_t source_row = (size_t)ci * edge->rows.source + ky - rows.begin;
                for (size_t kx = columns.begin; kx < columns.end; kx++)
                    sum += weights[tap_row * edge->columns.kernel + kx] *
                           source[source_row * edge->columns.source + kx - columns.begin];
            }
        }
        target[co] = sum;
    }
}

void convolution_add(const convolution *edge, const float *weights, const float *source,
                     float *target) {
    const size_t target_plane = (size_t)edge->rows.target * edge->columns.target;
    if (target_plane == 1)
        add_to_pixel(edge, weights, source, target);
    else
        add_to_map(edge, weights, source, target);

    const float *bias = weights + (size_t)edge->target_channels * edge->source_channels *
                                      edge->rows.kernel * edge->columns.kernel;
    for (uint32_t co = 0; co < edge->target_channels; co++)
        for (size_t i = 0; i < target_plane; i++)
            target[co * target_plane + i] += bias[co];
}
