#include "plan/value_hash.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

// What an edge's map depends on, without padding: hashed as bytes.
typedef struct edge_identity {
    uint64_t source[2];  // value hash of the source node
    uint64_t weights[2]; // hash of kernel and bias
    uint32_t target_channels, target_height, target_width;
    uint32_t kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w;
    uint32_t reserved;
} edge_identity;
_Static_assert(sizeof(edge_identity) == 72, "no padding");

typedef struct node_identity {
    uint64_t edges[2]; // hash of the edges' value hashes, in order; 0 for the input
    uint32_t channels, height, width, activation;
} node_identity;
_Static_assert(sizeof(node_identity) == 32, "no padding");

static void store(uint64_t *place, const void *identity, size_t size) {
    const hash128 hash = hash_bytes(identity, size);
    memcpy(place, hash.words, sizeof hash.words);
}

static void hash_edge(const hox_plan *p, const kernel *k, uint32_t edge, uint32_t target,
                      const uint64_t *node_hash, uint64_t *edge_hash) {
    edge_identity id = {.target_channels = p->node_channels[target],
                        .target_height = p->node_height[target],
                        .target_width = p->node_width[target],
                        .kernel_h = p->edge_kernel_h[edge],
                        .kernel_w = p->edge_kernel_w[edge],
                        .stride_h = p->edge_stride_h[edge],
                        .stride_w = p->edge_stride_w[edge],
                        .padding_h = p->edge_padding_h[edge],
                        .padding_w = p->edge_padding_w[edge]};
    memcpy(id.source, node_hash + 2 * p->edge_source[edge], sizeof id.source);
    store(id.weights, k->values, kernel_value_count(k) * sizeof *k->values);
    store(edge_hash + 2 * edge, &id, sizeof id);
}

static void hash_values(const plan *p, const genome *g, uint64_t *edge_hash, uint64_t *node_hash) {
    const hox_plan *v = &p->view;
    for (uint32_t node = 0; node < v->node_count; node++) {
        const uint32_t begin = v->node_edge_begin[node], end = v->node_edge_begin[node + 1];
        for (uint32_t e = begin; e < end; e++)
            hash_edge(v, g->edges[p->edge_index[e]].kernel, e, node, node_hash, edge_hash);
        node_identity id = {.channels = v->node_channels[node],
                            .height = v->node_height[node],
                            .width = v->node_width[node],
                            .activation = v->node_activation[node]};
        if (end > begin)
            store(id.edges, edge_hash + 2 * begin, (end - begin) * 2 * sizeof *edge_hash);
        store(node_hash + 2 * node, &id, sizeof id);
    }
}

hox_status plan_weights_init(plan_weights *weights, const plan *p, const genome *g,
                             hox_error *error) {
    const hox_plan *v = &p->view;
    const size_t hash_words = 2 * ((size_t)v->edge_count + v->node_count);
    *weights = (plan_weights){0};
    uint64_t *hashes =
        array_create(hash_words * sizeof(uint64_t) + v->weight_count * sizeof(float), 1, error);
    if (!hashes) return HOX_OUT_OF_HOST_MEMORY;
    uint64_t *node_hash = hashes + 2 * (size_t)v->edge_count;
    float *values = (float *)(hashes + hash_words);
    plan_copy_weights(p, g, values);
    hash_values(p, g, hashes, node_hash);
    weights->block = hashes;
    weights->view = (hox_weights){.struct_size = sizeof(hox_weights),
                                  .values = values,
                                  .count = v->weight_count,
                                  .version = node_hash[2 * (size_t)v->node_count - 1],
                                  .edge_value_hash = hashes,
                                  .node_value_hash = node_hash};
    return HOX_OK;
}

void plan_weights_deinit(plan_weights *weights) {
    free(weights->block);
    *weights = (plan_weights){0};
}
