// kernels.h - the arithmetic of the CPU runtimes: 16 images side by side in a vector.
//
// A map of a block of 16 images is [channel][row][column][16 images], fp32, on a 64-byte boundary.
// Each image goes through the same operations in the same order wherever it stands, so no map
// depends on its neighbours, on the batch or on the lane; derivatives by weights are sums over a
// block.
#pragma once

#include <hox/host.h>
#include <stddef.h>
#include <stdint.h>

enum { CPU_BLOCK = 16, CPU_ALIGNMENT = 64 };

// A convolution into a node. Padding is a margin of zeros round the source's map, so that no tap
// needs a check; a tile leaves out the taps that meet nothing else. Weights are read where the
// genome has them.
typedef struct cpu_edge {
    uint32_t source;                  // node of the program
    uint32_t channels, height, width; // of the source
    uint32_t kernel_h, kernel_w;
    uint32_t stride_h, stride_w;
    int32_t padding_h, padding_w; // below 0: so many rows or columns are passed over
    size_t offset;     // floats from the source's map to what the first tap of pixel 0,0 meets
    size_t row, plane; // of the source's map, floats
    uint64_t weights;  // place in the weight vector: [Cout][Cin][kh][kw], then bias [Cout]
} cpu_edge;

// A node: activation(sum over its edges), written once.
typedef struct cpu_node {
    const cpu_edge *edges;
    uint32_t edge_count;
    uint32_t channels, height, width;
    uint32_t activation;         // HOX_ACTIVATION_*
    uint32_t margin_h, margin_w; // zeros round the map
    size_t offset;               // floats from the map to pixel 0,0
    size_t row, plane;           // floats
    size_t size;                 // of the whole map, floats
} cpu_node;

typedef struct cpu_kernels {
    const char *name; // "avx512", "avx2", "portable"
    // maps[i]: the map of node i, at least of those the edges read. Writes all of target but its
    // margins.
    void (*compute)(const cpu_node *node, const float *weights, const float *const *maps,
                    float *target);
    // The activation of a map in place, and its derivatives: slopes[channel][row][column][16].
    void (*differentiate)(const cpu_node *node, uint32_t activation, float *map, float *slopes);
    // Adds the derivatives by an edge's weights, summed over a block, to sums[Cout][Cin][kh][kw].
    // source: the map of its source; derivatives: those by its target, a map laid out as target
    // says.
    void (*gradient)(const cpu_edge *edge, const float *source, const cpu_node *target,
                     const float *derivatives, float *sums);
} cpu_kernels;

// All that are built for this kind of processor, the fastest first, and whether it has each.
typedef struct cpu_kernel_set {
    const cpu_kernels *kernels;
    int (*is_there)(void);
} cpu_kernel_set;
extern const cpu_kernel_set cpu_kernel_sets[];
extern const size_t cpu_kernel_set_count;

extern const cpu_kernels cpu_kernels_avx512, cpu_kernels_avx2, cpu_kernels_portable;

// The fastest this processor has, or the one that HOX_CPU names. Errors: UNSUPPORTED where HOX_CPU
// names none, or one this processor lacks. [any]
hox_status cpu_kernels_choose(const cpu_kernels **chosen, hox_error *error) HOX_MUST_CHECK;
