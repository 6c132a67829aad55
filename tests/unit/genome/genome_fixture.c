// genome_fixture.c - see genome_fixture.h.
#include "genome_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

genome *genome_of(map_size input, map_size output) {
    genome *g = genome_create(HOX_READOUT_SUM, NULL);
    cr_assert_not_null(g);
    put_node(g, GENOME_INPUT, input, HOX_ACTIVATION_IDENTITY);
    put_node(g, GENOME_OUTPUT, output, HOX_ACTIVATION_IDENTITY);
    return g;
}

void put_node(genome *g, uint32_t id, map_size size, uint32_t activation) {
    const genome_node node = {.id = id, .activation = activation, .size = size};
    cr_assert_eq(genome_add_node(g, node, NULL), HOX_OK);
}

genome_edge *put_edge(genome *g, uint64_t innovation, uint32_t from, uint32_t to) {
    static const genome_config derived = {0};
    const map_size source = genome_find_node(g, from)->size, target = genome_find_node(g, to)->size;
    rng r = rng_stream(innovation, 0, 0, 0);
    genome_edge edge = {.innovation = innovation,
                        .from = from,
                        .to = to,
                        .geometry = geometry_between(source, target, &derived),
                        .is_enabled = true};
    edge.kernel = kernel_draw(source, target, edge.geometry, 1.0, &r, NULL);
    cr_assert_not_null(edge.kernel);
    float *bias = edge.kernel->values + kernel_weight_count(edge.kernel);
    for (uint32_t i = 0; i < target.channels; i++)
        bias[i] = (float)(0.1 * rng_normal(&r));
    cr_assert_eq(genome_add_edge(g, edge, NULL), HOX_OK);
    size_t place = g->edge_count - 1; // most often the last
    while (g->edges[place].innovation != innovation)
        place--;
    return &g->edges[place];
}

static bool axis_is_same(axis_geometry a, axis_geometry b) {
    return a.kernel == b.kernel && a.stride == b.stride && a.padding == b.padding;
}

static bool kernel_is_same(const kernel *a, const kernel *b) {
    return a->target_channels == b->target_channels && a->source_channels == b->source_channels &&
           a->height == b->height && a->width == b->width &&
           memcmp(a->values, b->values, kernel_value_count(a) * sizeof *a->values) == 0;
}

static bool edge_is_same(const genome_edge *a, const genome_edge *b) {
    return a->innovation == b->innovation && a->from == b->from && a->to == b->to &&
           a->is_enabled == b->is_enabled && axis_is_same(a->geometry.rows, b->geometry.rows) &&
           axis_is_same(a->geometry.columns, b->geometry.columns) &&
           kernel_is_same(a->kernel, b->kernel);
}

bool genome_is_same(const genome *a, const genome *b) {
    if (a->readout != b->readout || a->node_count != b->node_count ||
        a->edge_count != b->edge_count)
        return false;
    for (size_t i = 0; i < a->node_count; i++)
        if (a->nodes[i].id != b->nodes[i].id || a->nodes[i].activation != b->nodes[i].activation ||
            !map_size_equals(a->nodes[i].size, b->nodes[i].size))
            return false;
    for (size_t i = 0; i < a->edge_count; i++)
        if (!edge_is_same(&a->edges[i], &b->edges[i])) return false;
    return true;
}
