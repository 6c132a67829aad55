// mutate.h - how a child comes to differ from its parent: weights, and one change of structure
// (SPEC 5).
#pragma once

#include "genome/genome.h"
#include "genome/innovation.h"

// The section "evolution.mutation" of an experiment. Rates are chances per child.
typedef struct mutation_config {
    double weights;         // of changing weights at all
    double weights_edge;    // then, of each edge
    double weights_step;    // standard deviation added, in sigma of the edge
    double weights_replace; // of a changed edge: drawn anew instead
    double add_edge, add_node, remove_edge, remove_node, toggle_edge, resize_node, channels,
        activation;           // of one change of structure, at most one of them a child
    double add_edge_scale;    // of a new edge's kernel, in sigma
    int32_t split_keeps_edge; // add_node leaves the old edge and starts as no change
    int64_t tries;            // of the drawn operator
} mutation_config;

extern const hox_field mutation_fields[];
extern const uint32_t mutation_field_count;

// The operators by number; 0 = none.
enum {
    MUTATION_NONE = 0,
    MUTATION_ADD_EDGE,
    MUTATION_ADD_NODE,
    MUTATION_REMOVE_EDGE,
    MUTATION_REMOVE_NODE,
    MUTATION_TOGGLE_EDGE,
    MUTATION_RESIZE_NODE,
    MUTATION_CHANNELS,
    MUTATION_ACTIVATION,
    MUTATION_COUNT
};
extern const char *const mutation_names[MUTATION_COUNT];

typedef struct mutation_context {
    const mutation_config *rates;
    const genome_config *limits; // max_kernel resolved: not 0
    innovation_table *innovations;
    rng *random;
} mutation_context;

// What happened to a child.
typedef struct mutation_record {
    bool has_new_weights;
    uint32_t change;        // MUTATION_* drawn
    uint32_t failed_count;  // tries that came to nothing
    bool has_new_structure; // false: no try of the operator succeeded
} mutation_record;

// Changes *child in place (it may become another object; the old one is destroyed). A change that
// cuts the last path from input to output, breaks a limit or closes a cycle is a failed try and
// leaves no trace. weights and structure draw from streams of their own, so a rate of 0 changes
// nothing else. Errors: OUT_OF_HOST_MEMORY; the child is a
// valid genome still. [main]
hox_status mutate(genome **child, const mutation_context *context, rng weights, rng structure,
                  mutation_record *record, hox_error *error) HOX_MUST_CHECK;

// The operators, each on one try: *is_done false = nothing fits, or the draw did not; then the
// genome may be half changed and is thrown away.
typedef hox_status mutation_operator(genome *g, const mutation_context *context, bool *is_done,
                                     hox_error *error);
mutation_operator mutate_add_edge, mutate_add_node, mutate_remove_edge, mutate_remove_node,
    mutate_toggle_edge, mutate_resize_node, mutate_channels, mutate_activation;
hox_status mutate_weights(genome *g, const mutation_context *context, hox_error *error);

// Adds an edge with the geometry the rules give and a drawn kernel; *is_done false where it would
// be longer than max_kernel, twice there, or close a cycle.
hox_status mutate_connect(genome *g, const mutation_context *context, uint32_t from, uint32_t to,
                          double scale, bool is_enabled, bool *is_done,
                          hox_error *error) HOX_MUST_CHECK;
