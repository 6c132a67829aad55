// edges.c - which kernels would run for a topology, one a line, for whoever predicts their time.
#include "commands.h"
#include "cuda/convolution.h"
#include "gpu.h"
#include "loaded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct listing {
    const char *name;
    const hox_plan *plan;
    uint32_t images;
} listing;

// As the runtime lays it out, but for addresses.
static cuda_convolution shape_of(const listing *l, uint32_t edge, uint32_t target) {
    const hox_plan *p = l->plan;
    const uint32_t source = p->edge_source[edge];
    return (cuda_convolution){.most = l->images,
                              .source_channels = p->node_channels[source],
                              .source_height = p->node_height[source],
                              .source_width = p->node_width[source],
                              .target_channels = p->node_channels[target],
                              .target_height = p->node_height[target],
                              .target_width = p->node_width[target],
                              .kernel_h = p->edge_kernel_h[edge],
                              .kernel_w = p->edge_kernel_w[edge],
                              .stride_h = p->edge_stride_h[edge],
                              .stride_w = p->edge_stride_w[edge],
                              .padding_h = p->edge_padding_h[edge],
                              .padding_w = p->edge_padding_w[edge],
                              .is_first = edge == p->node_edge_begin[target]};
}

static void print_edge(const listing *l, uint32_t edge, uint32_t target) {
    const cuda_convolution c = shape_of(l, edge, target);
    const cuda_kernel chosen = cuda_convolution_choose(&c);
    printf("%s,%s,%" PRIu64 ",%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u\n", l->name,
           cuda_kernel_name(chosen), cuda_convolution_blocks(chosen, &c), c.source_channels,
           c.source_height, c.source_width, c.target_channels, c.target_height, c.target_width,
           c.kernel_h, c.kernel_w, c.stride_h, c.stride_w, c.padding_h, c.padding_w, c.is_first);
}

// Kernels that go value by value have a target only.
static void print_plain(const listing *l, const char *name, uint32_t node) {
    const hox_plan *p = l->plan;
    printf("%s,%s,0,0,0,0,%u,%u,%u,0,0,0,0,0,0,1\n", l->name, name, p->node_channels[node],
           p->node_height[node], p->node_width[node]);
}

static void print_topology(const listing *l) {
    const hox_plan *p = l->plan;
    for (uint32_t i = 1; i < p->node_count; i++) {
        for (uint32_t e = p->node_edge_begin[i]; e < p->node_edge_begin[i + 1]; e++)
            print_edge(l, e, i);
        if (p->node_activation[i] > HOX_ACTIVATION_LEAKY_RELU) print_plain(l, "activate", i);
    }
    print_plain(l, "read_out", p->node_count - 1);
}

int cmd_edges(int count, char **words) {
    must_be(count > 1, "edges IMAGES TOPOLOGY.json ...");
    puts("topology,kernel,blocks,source_channels,source_height,source_width,target_channels,"
         "target_height,target_width,kernel_h,kernel_w,stride_h,stride_w,padding_h,padding_w,"
         "is_first");
    for (int i = 1; i < count; i++) {
        loaded l;
        loaded_read(&l, words[i], 7);
        print_topology(&(listing){words[i], &l.plan.view, (uint32_t)strtoul(words[0], NULL, 10)});
        loaded_drop(&l);
    }
    return 0;
}
