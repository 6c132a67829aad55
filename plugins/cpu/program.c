#include "cpu/program.h"

#include "runtime/memory.h"
#include "runtime/places.h"

#include <string.h>

// ---- sizes ----

size_t cpu_program_bytes(const hox_plan *plan) {
    const size_t nodes = plan->node_count, edges = plan->edge_count;
    return size_plus(sizeof(cpu_program), size_plus(nodes * (sizeof(cpu_node) + 2 * sizeof(size_t) +
                                                             sizeof(float *) + sizeof(uint32_t)),
                                                    edges * sizeof(cpu_edge)));
}

// ---- layout of the maps ----

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static void describe_node(cpu_program *p, const hox_plan *plan, uint32_t i) {
    const uint32_t begin = plan->node_edge_begin[i];
    p->nodes[i] = (cpu_node){.edges = p->edges + begin,
                             .edge_count = plan->node_edge_begin[i + 1] - begin,
                             .channels = plan->node_channels[i],
                             .height = plan->node_height[i],
                             .width = plan->node_width[i],
                             .activation = plan->node_activation[i]};
    p->last_use[i] = plan->node_last_use[i];
}

static void widen_margin(cpu_program *p, const hox_plan *plan, uint32_t e) {
    cpu_node *source = &p->nodes[plan->edge_source[e]];
    source->margin_h = larger(source->margin_h, plan->edge_padding_h[e]);
    source->margin_w = larger(source->margin_w, plan->edge_padding_w[e]);
}

void cpu_lay_out(cpu_node *n) {
    n->row = ((size_t)n->width + 2 * n->margin_w) * CPU_BLOCK;
    n->plane = ((size_t)n->height + 2 * n->margin_h) * n->row;
    n->offset = n->margin_h * n->row + (size_t)n->margin_w * CPU_BLOCK;
    n->size = n->channels * n->plane;
}

static void describe_edge(cpu_program *p, const hox_plan *plan, uint32_t e) {
    const cpu_node *source = &p->nodes[plan->edge_source[e]];
    p->edges[e] =
        (cpu_edge){.source = plan->edge_source[e],
                   .channels = source->channels,
                   .height = source->height,
                   .width = source->width,
                   .padding_h = (int32_t)plan->edge_padding_h[e],
                   .padding_w = (int32_t)plan->edge_padding_w[e],
                   .kernel_h = plan->edge_kernel_h[e],
                   .kernel_w = plan->edge_kernel_w[e],
                   .stride_h = plan->edge_stride_h[e],
                   .stride_w = plan->edge_stride_w[e],
                   .offset = (source->margin_h - plan->edge_padding_h[e]) * source->row +
                             (size_t)(source->margin_w - plan->edge_padding_w[e]) * CPU_BLOCK,
                   .row = source->row,
                   .plane = source->plane,
                   .weights = plan->edge_weight_offset[e]};
}

// ---- places in the arena ----

int cpu_program_copies_input(const cpu_program *p) {
    return p->nodes[0].margin_h > 0 || p->nodes[0].margin_w > 0;
}

static void place_maps(cpu_program *p) {
    const uint32_t first = cpu_program_copies_input(p) ? 0 : 1;
    for (uint32_t i = 0; i < p->node_count; i++)
        p->sizes[i] = p->nodes[i].size;
    p->arena_size = places_find(first, p->node_count, p->sizes, p->last_use, p->places);
}

cpu_program *cpu_program_make(void *memory, const hox_plan *plan) {
    cpu_program *p = memory;
    *p = (cpu_program){.bytes = cpu_program_bytes(plan),
                       .node_count = plan->node_count,
                       .edge_count = plan->edge_count,
                       .readout = plan->readout,
                       .weight_count = plan->weight_count};
    p->places = (size_t *)(p + 1);
    p->sizes = p->places + plan->node_count;
    p->maps = (const float **)(p->sizes + plan->node_count);
    p->nodes = (cpu_node *)(p->maps + plan->node_count);
    p->edges = (cpu_edge *)(p->nodes + plan->node_count);
    p->last_use = (uint32_t *)(p->edges + plan->edge_count);
    for (uint32_t i = 0; i < plan->node_count; i++)
        describe_node(p, plan, i);
    for (uint32_t e = 0; e < plan->edge_count; e++)
        widen_margin(p, plan, e);
    for (uint32_t i = 0; i < plan->node_count; i++)
        cpu_lay_out(&p->nodes[i]);
    for (uint32_t e = 0; e < plan->edge_count; e++)
        describe_edge(p, plan, e);
    memset(p->places, 0, plan->node_count * sizeof *p->places);
    place_maps(p);
    return p;
}

// ---- margins ----

void cpu_clear_margins(const cpu_node *n, float *map) {
    if (n->margin_h == 0 && n->margin_w == 0) return;
    const size_t top = n->margin_h * n->row, side = (size_t)n->margin_w * CPU_BLOCK;
    for (uint32_t c = 0; c < n->channels; c++, map += n->plane) {
        memset(map, 0, top * sizeof *map);
        memset(map + n->plane - top, 0, top * sizeof *map);
        for (uint32_t y = 0; y < n->height && side > 0; y++) {
            float *row = map + top + y * n->row;
            memset(row, 0, side * sizeof *row);
            memset(row + n->row - side, 0, side * sizeof *row);
        }
    }
}

void cpu_copy_input(const cpu_node *n, const float *images, float *map) {
    const size_t row = (size_t)n->width * CPU_BLOCK;
    cpu_clear_margins(n, map);
    for (uint32_t c = 0; c < n->channels; c++)
        for (uint32_t y = 0; y < n->height; y++, images += row)
            memcpy(map + n->offset + c * n->plane + y * n->row, images, row * sizeof *map);
}
