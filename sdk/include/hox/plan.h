// plan.h - the executed part of a genome, ready to run: nodes in topological order, scalar arrays.
#pragma once

#include <stdint.h>

enum {
    HOX_ACTIVATION_IDENTITY = 0,
    HOX_ACTIVATION_RELU = 1,
    HOX_ACTIVATION_LEAKY_RELU = 2, // slope 0.01 below 0
    HOX_ACTIVATION_TANH = 3,
    HOX_ACTIVATION_SIGMOID = 4,
    HOX_ACTIVATION_GELU = 5, // x Phi(x), exact form with erf
    HOX_ACTIVATION_SILU = 6, // x sigmoid(x)
    HOX_ACTIVATION_COUNT
};

// How the output map becomes one logit.
enum {
    HOX_READOUT_SUM = 0,
    HOX_READOUT_MEAN = 1,
    HOX_READOUT_MEAN_MINUS_MEDIAN = 2, // median of an even count: the lower middle
    HOX_READOUT_COUNT
};

// A map is fp32, channel-major (C,H,W). The value of node i is activation(sum over its edges), node
// 0 being the input image and node node_count - 1 the output. An edge is a cross-correlation with
// bias and zero padding (padding taps are skipped):
//   out[co][y][x] += bias[co] + sum over ci, ky, kx of
//       w[co][ci][ky][kx] * in[ci][y * stride_h + ky - padding_h][x * stride_w + kx - padding_w]
// Its weights [Cout][Cin][kh][kw] and then its bias [Cout] lie at edge_weight_offset in the flat
// weight vector. A plan always holds a path from input to output. Pointers live for the call.
typedef struct hox_plan {
    uint32_t struct_size;
    uint32_t node_count; // at least 2
    uint32_t edge_count; // at least 1
    uint32_t readout;
    const uint32_t *node_channels;
    const uint32_t *node_height;
    const uint32_t *node_width;
    const uint32_t *node_activation;
    const uint32_t *node_edge_begin; // node_count + 1: edges of node i are begin[i] .. begin[i+1] -
                                     // 1, in the order of summing
    const uint32_t
        *node_last_use;          // index of the last node that reads the map; the output's: itself
    const uint32_t *edge_source; // node index, below the target's
    const uint32_t *edge_kernel_h;
    const uint32_t *edge_kernel_w;
    const uint32_t *edge_stride_h;
    const uint32_t *edge_stride_w;
    const uint32_t *edge_padding_h;
    const uint32_t *edge_padding_w;
    const uint64_t *edge_weight_offset; // in floats
    uint64_t weight_count;              // floats, biases included
    uint64_t flops_per_sample;          // 2 Cin Cout kh kw Hout Wout, summed over edges
    uint64_t bytes_per_sample;          // M_sample: floor(1.35 * bytes of all maps)
    uint64_t structure_hash[2];         // sizes, geometry, activations, order, readout; no weights
} hox_plan;
