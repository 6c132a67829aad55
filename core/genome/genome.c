#include "genome/genome.h"

#include "base/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

genome *genome_create(uint32_t readout, hox_error *error) {
    genome *g = array_create(1, sizeof *g, error);
    if (g) g->readout = readout;
    return g;
}

genome *genome_copy(const genome *g, hox_error *error) {
    genome *copy = genome_create(g->readout, error);
    if (!copy) return NULL;
    copy->id = g->id;
    memcpy(copy->parent_ids, g->parent_ids, sizeof copy->parent_ids);
    copy->nodes = array_create(g->node_count, sizeof *g->nodes, error);
    copy->edges = array_create(g->edge_count, sizeof *g->edges, error);
    if (!copy->nodes || !copy->edges) {
        genome_destroy(copy);
        return NULL;
    }
    copy->node_count = copy->node_capacity = g->node_count;
    copy->edge_count = copy->edge_capacity = g->edge_count;
    if (g->node_count) memcpy(copy->nodes, g->nodes, g->node_count * sizeof *g->nodes);
    for (size_t i = 0; i < g->edge_count; i++) {
        copy->edges[i] = g->edges[i];
        kernel_retain(copy->edges[i].kernel);
    }
    return copy;
}

void genome_destroy(genome *g) {
    if (!g) return;
    for (size_t i = 0; i < g->edge_count; i++)
        kernel_release(g->edges[i].kernel);
    free(g->edges);
    free(g->nodes);
    free(g);
}

// Index of the first node whose id is not below.
static size_t node_place(const genome *g, uint32_t id) {
    size_t low = 0, high = g->node_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (g->nodes[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const genome_node *genome_find_node(const genome *g, uint32_t id) {
    const size_t place = node_place(g, id);
    return place < g->node_count && g->nodes[place].id == id ? &g->nodes[place] : NULL;
}

genome_edge *genome_find_edge(const genome *g, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < g->edge_count; i++)
        if (g->edges[i].from == from && g->edges[i].to == to) return &g->edges[i];
    return NULL;
}

hox_status genome_add_node(genome *g, genome_node node, hox_error *error) {
    const size_t place = node_place(g, node.id);
    if (place < g->node_count && g->nodes[place].id == node.id)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "node %u: given twice", node.id);
    genome_node *nodes =
        array_grow(g->nodes, &g->node_capacity, g->node_count + 1, sizeof *nodes, error);
    if (!nodes) return HOX_OUT_OF_HOST_MEMORY;
    g->nodes = nodes;
    memmove(nodes + place + 1, nodes + place, (g->node_count - place) * sizeof *nodes);
    nodes[place] = node;
    g->node_count++;
    return HOX_OK;
}

hox_status genome_add_edge(genome *g, genome_edge edge, hox_error *error) {
    size_t place = g->edge_count;
    while (place > 0 && g->edges[place - 1].innovation > edge.innovation)
        place--;
    genome_edge *edges = NULL;
    hox_status status = HOX_OK;
    if (place > 0 && g->edges[place - 1].innovation == edge.innovation)
        status = hox_error_set(error, HOX_INVALID_ARGUMENT,
                               "edge %u -> %u: innovation %" PRIu64 " is given twice", edge.from,
                               edge.to, edge.innovation);
    else if (!(edges = array_grow(g->edges, &g->edge_capacity, g->edge_count + 1, sizeof *edges,
                                  error)))
        status = HOX_OUT_OF_HOST_MEMORY;
    if (status != HOX_OK) {
        kernel_release(edge.kernel);
        return status;
    }
    g->edges = edges;
    memmove(edges + place + 1, edges + place, (g->edge_count - place) * sizeof *edges);
    edges[place] = edge;
    g->edge_count++;
    return HOX_OK;
}

void genome_remove_edge(genome *g, size_t edge_index) {
    kernel_release(g->edges[edge_index].kernel);
    g->edge_count--;
    memmove(g->edges + edge_index, g->edges + edge_index + 1,
            (g->edge_count - edge_index) * sizeof *g->edges);
}

void genome_remove_node(genome *g, uint32_t id) {
    for (size_t i = g->edge_count; i-- > 0;)
        if (g->edges[i].from == id || g->edges[i].to == id) genome_remove_edge(g, i);
    const size_t place = node_place(g, id);
    if (place == g->node_count || g->nodes[place].id != id) return;
    g->node_count--;
    memmove(g->nodes + place, g->nodes + place + 1, (g->node_count - place) * sizeof *g->nodes);
}

static bool has_edge(const genome *g, uint32_t id) {
    for (size_t i = 0; i < g->edge_count; i++)
        if (g->edges[i].from == id || g->edges[i].to == id) return true;
    return false;
}

void genome_remove_lonely_nodes(genome *g) {
    for (size_t i = g->node_count; i-- > 0;)
        if (g->nodes[i].id > GENOME_OUTPUT && !has_edge(g, g->nodes[i].id))
            genome_remove_node(g, g->nodes[i].id);
}

void genome_replace_kernel(genome_edge *edge, kernel *k) {
    kernel_release(edge->kernel);
    edge->kernel = k;
}

uint64_t genome_weight_count(const genome *g) {
    uint64_t sum = 0;
    for (size_t i = 0; i < g->edge_count; i++)
        sum += kernel_value_count(g->edges[i].kernel);
    return sum;
}

size_t genome_enabled_edge_count(const genome *g) {
    size_t count = 0;
    for (size_t i = 0; i < g->edge_count; i++)
        count += g->edges[i].is_enabled;
    return count;
}

// One link of a chain of hashes; no padding, hashed as bytes.
typedef struct content_link {
    hash128 before;
    uint64_t first,
        second; // node: id, activation; edge: ends and flag, hash of the weights in two words
    uint64_t third;
    uint32_t numbers[6];
} content_link;
_Static_assert(sizeof(content_link) == 64, "no padding");

hash128 genome_content_hash(const genome *g) {
    hash128 hash = hash_bytes(&g->readout, sizeof g->readout);
    for (size_t i = 0; i < g->node_count; i++) {
        const genome_node *n = &g->nodes[i];
        const content_link link = {
            hash, n->id, n->activation, 0, {n->size.channels, n->size.height, n->size.width}};
        hash = hash_bytes(&link, sizeof link);
    }
    for (size_t i = 0; i < g->edge_count; i++) {
        const genome_edge *e = &g->edges[i];
        const axis_geometry r = e->geometry.rows, c = e->geometry.columns;
        const hash128 weights =
            hash_bytes(e->kernel->values, kernel_value_count(e->kernel) * sizeof(float));
        const content_link link = {hash,
                                   weights.words[0],
                                   weights.words[1],
                                   (uint64_t)e->from << 32 | e->to,
                                   {r.kernel | (uint32_t)e->is_enabled << 31, r.stride, r.padding,
                                    c.kernel, c.stride, c.padding}};
        hash = hash_bytes(&link, sizeof link);
    }
    return hash;
}
