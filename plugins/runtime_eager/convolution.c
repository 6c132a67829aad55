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

// What meets under one tap: rows x columns values, in floats from the planes' begin.
typedef struct meeting {
    size_t rows, columns;
    size_t target, target_step; // of the first value; from row to row
    size_t source, source_step;
} meeting;

// Empty spans have no place in the source: without rows it is never gone to.
static meeting find_meeting(const convolution *edge, uint32_t ky, uint32_t kx, span rows,
                            span columns) {
    if (rows.begin == rows.end || columns.begin == columns.end) return (meeting){0};
    const size_t source_y = rows.begin * edge->rows.stride + ky - edge->rows.padding;
    const size_t source_x = columns.begin * edge->columns.stride + kx - edge->columns.padding;
    return (meeting){
        .rows = rows.end - rows.begin,
        .columns = columns.end - columns.begin,
        .target = rows.begin * edge->columns.target + columns.begin,
        .target_step = edge->columns.target,
        .source = source_y * edge->columns.source + source_x,
        .source_step = (size_t)edge->rows.stride * edge->columns.source,
    };
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

// Adds weight times the source plane, as the tap meets it.
static void add_tap(const meeting *m, size_t stride, float weight, const float *source,
                    float *target) {
    for (size_t y = 0; y < m->rows; y++)
        add_row(target + m->target + y * m->target_step, source + m->source + y * m->source_step,
                m->columns, stride, weight);
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
                for (uint32_t kx = 0; kx < edge->columns.kernel; kx++) {
                    const meeting m = find_meeting(edge, ky, kx, rows[ky], columns[kx]);
                    add_tap(&m, edge->columns.stride, *weights++, source + ci * source_plane,
                            target);
                }
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

// Backwards ------------------------------------------------------------------------------------

// Eight sums beside each other, for they vectorise.
static double multiply_rows(const float *delta, const float *source, size_t count, size_t stride) {
    enum { PARTS = 8 };
    double parts[PARTS] = {0}, sum = 0;
    size_t x = 0;
    for (; stride == 1 && x + PARTS <= count; x += PARTS)
        for (size_t i = 0; i < PARTS; i++)
            parts[i] += (double)delta[x + i] * source[x + i];
    for (; x < count; x++)
        sum += (double)delta[x] * source[x * stride];
    for (size_t i = 0; i < PARTS; i++)
        sum += parts[i];
    return sum;
}

// What one image adds to the derivative by a weight.
static double weight_derivative(const meeting *m, size_t stride, const float *delta,
                                const float *source) {
    double sum = 0;
    for (size_t y = 0; y < m->rows; y++)
        sum += multiply_rows(delta + m->target + y * m->target_step,
                             source + m->source + y * m->source_step, m->columns, stride);
    return sum;
}

// add_tap's other direction.
static void return_tap(const meeting *m, size_t stride, float weight, const float *delta,
                       float *source_delta) {
    for (size_t y = 0; y < m->rows; y++) {
        const float *from = delta + m->target + y * m->target_step;
        float *to = source_delta + m->source + y * m->source_step;
        if (stride == 1) add_row(to, from, m->columns, 1, weight);
        for (size_t x = 0; stride > 1 && x < m->columns; x++)
            to[x * stride] += weight * from[x];
    }
}

static double sum_plane(const float *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

void convolution_backward(const convolution *edge, const float *weights, const float *source,
                          const float *delta, float *source_delta, double *gradient) {
    const size_t source_plane = (size_t)edge->rows.source * edge->columns.source;
    const size_t target_plane = (size_t)edge->rows.target * edge->columns.target;
    const size_t stride = edge->columns.stride;
    span rows[CONVOLUTION_MAX_KERNEL], columns[CONVOLUTION_MAX_KERNEL];
    find_spans(&edge->rows, rows);
    find_spans(&edge->columns, columns);
    for (uint32_t co = 0; co < edge->target_channels; co++)
        for (uint32_t ci = 0; ci < edge->source_channels; ci++)
            for (uint32_t ky = 0; ky < edge->rows.kernel; ky++)
                for (uint32_t kx = 0; kx < edge->columns.kernel; kx++, weights++) {
                    const meeting m = find_meeting(edge, ky, kx, rows[ky], columns[kx]);
                    const float *target = delta + co * target_plane;
                    *gradient++ +=
                        weight_derivative(&m, stride, target, source + ci * source_plane);
                    if (source_delta)
                        return_tap(&m, stride, *weights, target, source_delta + ci * source_plane);
                }
    for (uint32_t co = 0; co < edge->target_channels; co++)
        *gradient++ += sum_plane(delta + co * target_plane, target_plane);
}
