// soundness_fixture.c - see soundness_fixture.h.
#include "soundness_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 1 << 16, SLOTS = 2 * MOST_NUMBERS };

typedef struct ends {
    uint32_t from, to; // to 0 = not seen: nothing leads into the input
} ends;

struct meanings {
    map_size sizes[MOST_NUMBERS]; // by node id; 0 channels = not seen
    ends edges[MOST_NUMBERS];     // by innovation
    uint64_t numbers[SLOTS];      // innovation of some (from, to) + 1, found by hashing; 0 = free
};

meanings *meanings_create(void) {
    meanings *m = calloc(1, sizeof *m);
    cr_assert_not_null(m);
    return m;
}

void meanings_destroy(meanings *m) {
    free(m);
}

// The number under which (from, to) was seen, or this one, from now on.
static uint64_t number_of_ends(meanings *m, uint32_t from, uint32_t to, uint64_t innovation) {
    size_t slot = (from * UINT64_C(0x9e3779b97f4a7c15) + to * UINT64_C(0xc2b2ae3d27d4eb4f)) >> 47;
    for (;; slot = (slot + 1) % SLOTS) {
        if (m->numbers[slot] == 0) m->numbers[slot] = innovation + 1;
        const uint64_t seen = m->numbers[slot] - 1;
        if (seen == innovation || (m->edges[seen].from == from && m->edges[seen].to == to))
            return seen;
    }
}

static void check_node(const genome *g, size_t i, meanings *m) {
    const genome_node *node = &g->nodes[i];
    cr_assert_lt(node->id, MOST_NUMBERS);
    cr_assert(i == 0 || node[-1].id < node->id, "nodes %u, %u", node[-1].id, node->id);
    cr_assert(node->size.channels && node->size.height && node->size.width);
    if (!m->sizes[node->id].channels) m->sizes[node->id] = node->size;
    cr_assert(map_size_equals(m->sizes[node->id], node->size), "node %u has two sizes", node->id);
}

static void check_meaning(const genome_edge *edge, meanings *m) {
    cr_assert_lt(edge->innovation, MOST_NUMBERS);
    ends *seen = &m->edges[edge->innovation];
    if (seen->to == 0) *seen = (ends){edge->from, edge->to};
    cr_assert(seen->from == edge->from && seen->to == edge->to, "%llu is %u -> %u and %u -> %u",
              (unsigned long long)edge->innovation, seen->from, seen->to, edge->from, edge->to);
    cr_assert_eq(number_of_ends(m, edge->from, edge->to, edge->innovation), edge->innovation,
                 "%u -> %u has two numbers", edge->from, edge->to);
}

static void check_kernel(const genome_edge *edge, map_size source, map_size target) {
    const kernel *k = edge->kernel;
    cr_assert_geq(atomic_load(&k->reference_count), 1);
    cr_assert(k->source_channels == source.channels && k->target_channels == target.channels &&
              k->height == edge->geometry.rows.kernel && k->width == edge->geometry.columns.kernel);
    for (uint64_t i = 0; i < kernel_value_count(k); i++)
        cr_assert(isfinite(k->values[i]));
}

static size_t place_of(const genome *g, uint32_t id) {
    for (size_t i = 0; i < g->node_count; i++)
        if (g->nodes[i].id == id) return i;
    cr_assert_fail("there is no node %u", id);
    return 0;
}

static void check_edge(const genome *g, size_t i, const genome_config *limits, meanings *m) {
    const genome_edge *edge = &g->edges[i];
    cr_assert(i == 0 || edge[-1].innovation < edge->innovation);
    const map_size source = g->nodes[place_of(g, edge->from)].size;
    const map_size target = g->nodes[place_of(g, edge->to)].size;
    const geometry expected = geometry_between(source, target, limits);
    cr_assert(edge->to != GENOME_INPUT && edge->from != GENOME_OUTPUT);
    cr_assert_eq(memcmp(&edge->geometry, &expected, sizeof expected), 0);
    cr_assert(geometry_fits(edge->geometry, source, target));
    cr_assert(limits->max_kernel == 0 ||
              geometry_largest_kernel(edge->geometry) <= limits->max_kernel);
    check_kernel(edge, source, target);
    check_meaning(edge, m);
    for (size_t k = 0; k < i; k++)
        cr_assert(g->edges[k].from != edge->from || g->edges[k].to != edge->to, "%u -> %u twice",
                  edge->from, edge->to);
}

// Depth first over enabled edges: 1 = on the way, 2 = done. A node met on the way closes a cycle.
static void visit(const genome *g, uint32_t id, char *state) {
    char *own = &state[place_of(g, id)];
    cr_assert_neq(*own, 1, "node %u lies on a cycle", id);
    if (*own == 2) return;
    *own = 1;
    for (size_t i = 0; i < g->edge_count; i++)
        if (g->edges[i].is_enabled && g->edges[i].from == id) visit(g, g->edges[i].to, state);
    *own = 2;
}

static void check_paths(const genome *g) {
    char *state = calloc(g->node_count, 1);
    visit(g, GENOME_INPUT, state);
    cr_assert_eq(state[place_of(g, GENOME_OUTPUT)], 2, "no path from input to output");
    for (size_t i = 0; i < g->node_count; i++)
        visit(g, g->nodes[i].id, state);
    free(state);
}

static void check_no_lonely_node(const genome *g) {
    for (size_t i = 2; i < g->node_count; i++) {
        size_t genes = 0;
        for (size_t k = 0; k < g->edge_count; k++)
            genes += g->edges[k].from == g->nodes[i].id || g->edges[k].to == g->nodes[i].id;
        cr_assert_gt(genes, 0, "node %u has no gene", g->nodes[i].id);
    }
}

void check_sound(const genome *g, const genome_config *limits, meanings *m) {
    cr_assert(g->node_count >= 2 && g->node_count <= (size_t)limits->max_nodes);
    cr_assert_leq(g->edge_count, (size_t)limits->max_edges);
    cr_assert(g->nodes[0].id == GENOME_INPUT && g->nodes[1].id == GENOME_OUTPUT);
    for (size_t i = 0; i < g->node_count; i++)
        check_node(g, i, m);
    for (size_t i = 0; i < g->edge_count; i++)
        check_edge(g, i, limits, m);
    check_no_lonely_node(g);
    check_paths(g);
}
