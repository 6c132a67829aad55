#include "genome/mutate.h"

#include "genome/graph.h"

const hox_field mutation_fields[] = {
    HOX_RATE(mutation_config, weights, 0.80, "chance that a child's weights change"),
    HOX_RATE(mutation_config, weights_edge, 0.3,
             "then, chance of each edge (at least one changes)"),
    HOX_REAL(mutation_config, weights_step, 0.1, 0.0, 100.0,
             "standard deviation of the change, in the edge's own sigma"),
    HOX_RATE(mutation_config, weights_replace, 0.05,
             "chance that a changed edge is drawn anew instead"),
    HOX_RATE(mutation_config, add_edge, 0.12, "chance of a new edge"),
    HOX_RATE(mutation_config, add_node, 0.08, "chance of a node that splits an edge"),
    HOX_RATE(mutation_config, remove_edge, 0.05, "chance that an edge goes"),
    HOX_RATE(mutation_config, remove_node, 0.03, "chance that a node goes, with its edges"),
    HOX_RATE(mutation_config, toggle_edge, 0.02, "chance that an edge is disabled or enabled"),
    HOX_RATE(mutation_config, resize_node, 0.03, "chance that a node's map changes its size"),
    HOX_RATE(mutation_config, channels, 0.03,
             "chance of other channels, where genome.allowed_channels has a choice"),
    HOX_RATE(mutation_config, activation, 0.0, "chance that a node's activation changes"),
    HOX_REAL(mutation_config, add_edge_scale, 0.01, 0.0, 100.0,
             "standard deviation of a new edge's weights, in sigma"),
    HOX_BOOL(mutation_config, split_keeps_edge, 1,
             "a split leaves the old edge and starts as no change; false: disables it"),
    HOX_INT(mutation_config, tries, 20, 1, 1000, "tries of a drawn operator before it is given up"),
};
const uint32_t mutation_field_count = sizeof mutation_fields / sizeof *mutation_fields;

const char *const mutation_names[MUTATION_COUNT] = {"none",        "add_edge",    "add_node",
                                                    "remove_edge", "remove_node", "toggle_edge",
                                                    "resize_node", "channels",    "activation"};

static mutation_operator *const operators[MUTATION_COUNT] = {
    [MUTATION_ADD_EDGE] = mutate_add_edge,       [MUTATION_ADD_NODE] = mutate_add_node,
    [MUTATION_REMOVE_EDGE] = mutate_remove_edge, [MUTATION_REMOVE_NODE] = mutate_remove_node,
    [MUTATION_TOGGLE_EDGE] = mutate_toggle_edge, [MUTATION_RESIZE_NODE] = mutate_resize_node,
    [MUTATION_CHANNELS] = mutate_channels,       [MUTATION_ACTIVATION] = mutate_activation};

static uint32_t draw_operator(const mutation_context *context) {
    const mutation_config *c = context->rates;
    const double rates[MUTATION_COUNT] = {0.0,
                                          c->add_edge,
                                          c->add_node,
                                          c->remove_edge,
                                          c->remove_node,
                                          c->toggle_edge,
                                          c->resize_node,
                                          context->limits->allowed_channels.count > 1 ? c->channels
                                                                                      : 0.0,
                                          c->activation};
    double place = rng_uniform(context->random);
    for (uint32_t i = 1; i < MUTATION_COUNT; i++) {
        if (place < rates[i]) return i;
        place -= rates[i];
    }
    return MUTATION_NONE;
}

// One try on a copy: *changed is the new genome, or NULL where the try failed.
static hox_status try_once(const genome *g, uint32_t change, const mutation_context *context,
                           genome **changed, hox_error *error) {
    *changed = NULL;
    genome *copy = genome_copy(g, error);
    if (!copy) return HOX_OUT_OF_HOST_MEMORY;
    bool is_done = false, had_path = false, has_path = false;
    hox_status status = operators[change](copy, context, &is_done, error);
    if (status == HOX_OK && is_done)
        status = graph_has_path(g, GENOME_INPUT, GENOME_OUTPUT, &had_path, error);
    if (status == HOX_OK && is_done)
        status = graph_has_path(copy, GENOME_INPUT, GENOME_OUTPUT, &has_path, error);
    if (status == HOX_OK && is_done && (has_path || !had_path)) {
        genome_remove_lonely_nodes(copy);
        *changed = copy;
    } else {
        genome_destroy(copy);
    }
    return status;
}

static hox_status change_structure(genome **child, const mutation_context *context,
                                   mutation_record *record, hox_error *error) {
    record->change = draw_operator(context);
    if (record->change == MUTATION_NONE) return HOX_OK;
    for (int64_t i = 0; i < context->rates->tries; i++) {
        genome *changed;
        HOX_TRY(try_once(*child, record->change, context, &changed, error));
        if (changed) {
            genome_destroy(*child);
            *child = changed;
            record->has_new_structure = true;
            return HOX_OK;
        }
        record->failed_count++;
    }
    return HOX_OK;
}

hox_status mutate(genome **child, const mutation_context *context, rng weights, rng structure,
                  mutation_record *record, hox_error *error) {
    *record = (mutation_record){0};
    mutation_context own = *context;
    own.random = &weights;
    if ((*child)->edge_count > 0 && rng_chance(&weights, context->rates->weights)) {
        HOX_TRY(mutate_weights(*child, &own, error));
        record->has_new_weights = true;
    }
    own.random = &structure;
    return change_structure(child, &own, record, error);
}

hox_status mutate_connect(genome *g, const mutation_context *context, uint32_t from, uint32_t to,
                          double scale, bool is_enabled, bool *is_done, hox_error *error) {
    *is_done = false;
    const genome_node *source = genome_find_node(g, from), *target = genome_find_node(g, to);
    if (!source || !target || to == GENOME_INPUT || from == GENOME_OUTPUT) return HOX_OK;
    if (genome_find_edge(g, from, to)) return HOX_OK;
    const geometry shape = geometry_between(source->size, target->size, context->limits);
    if (geometry_largest_kernel(shape) > context->limits->max_kernel) return HOX_OK;
    if (is_enabled) {
        bool closes_cycle;
        HOX_TRY(graph_has_path(g, to, from, &closes_cycle, error));
        if (closes_cycle) return HOX_OK;
    }
    genome_edge edge = {.from = from, .to = to, .geometry = shape, .is_enabled = is_enabled};
    HOX_TRY(innovation_of_edge(context->innovations, from, to, &edge.innovation, error));
    edge.kernel = kernel_draw(source->size, target->size, shape, scale, context->random, error);
    if (!edge.kernel) return HOX_OUT_OF_HOST_MEMORY;
    HOX_TRY(genome_add_edge(g, edge, error));
    *is_done = true;
    return HOX_OK;
}
