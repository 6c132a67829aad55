#include "listing.h"

#include "runtime/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// What nodes of equal name compute, and where its map lies while it is needed.
typedef struct listing_value {
    uint64_t size, place; // floats
    uint32_t last;        // event that reads it
    bool is_listed;
} value;

// A node is computed, or, for the node behind the last one, the output read out.
typedef struct listing_event {
    uint32_t genome, node;
    uint32_t stage; // of the first edge
} event;

enum { NOWHERE = UINT32_MAX };

typedef struct name {
    uint64_t hash[2];
    uint32_t row;    // maps with other rows lie otherwise
    uint32_t window; // genomes share only within one
    size_t node;     // of all genomes'
} name;

// Arrays that are needed only while the listing is made.
typedef struct planner {
    listing *list;
    name *names;
    size_t node_count; // of all genomes
    uint32_t *present; // values that have a map
    uint32_t present_count, stage_count;
    size_t edge_count; // of all genomes
} planner;

static value *value_of(const listing *l, uint32_t genome, uint32_t node) {
    return &l->values[l->ids[l->begin[genome] + node]];
}

// ---- names ----

static int by_name(const void *a, const void *b) {
    const name *left = a, *right = b;
    const uint64_t rows[][2] = {{left->hash[0], right->hash[0]},
                                {left->hash[1], right->hash[1]},
                                {left->row, right->row},
                                {left->window, right->window}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i][0] != rows[i][1]) return rows[i][0] < rows[i][1] ? -1 : 1;
    return 0;
}

static void give_names(planner *p, uint32_t window) {
    const listing *l = p->list;
    for (uint32_t g = 0; g < l->genome_count; g++) {
        const listing_genome *genome = &l->genomes[g];
        for (uint32_t i = 0; i < genome->program->node_count; i++) {
            name *n = &p->names[l->begin[g] + i];
            *n = (name){.row = genome->program->nodes[i].map.row,
                        .window = window > 0 ? g / window : 0,
                        .node = l->begin[g] + i};
            if (window > 0)
                memcpy(n->hash, genome->weights->node_value_hash + 2 * (size_t)i, sizeof n->hash);
            else
                n->hash[0] = n->node;
        }
    }
    qsort(p->names, p->node_count, sizeof *p->names, by_name);
}

// window: genomes in a row that share; 0 = nobody does.
static void name_values(planner *p, uint32_t window) {
    listing *l = p->list;
    give_names(p, window);
    l->value_count = 0;
    for (size_t i = 0; i < p->node_count; i++) {
        if (i == 0 || by_name(&p->names[i - 1], &p->names[i]) != 0)
            l->values[l->value_count++] = (value){0};
        l->ids[p->names[i].node] = l->value_count - 1;
    }
}

// ---- events ----

// Equal values read equal ones, so what a listed node reads is listed as well.
static void list_genome(listing *l, uint32_t genome) {
    const tile_program *program = l->genomes[genome].program;
    for (uint32_t i = 1; i < program->node_count; i++) {
        const tile_node *node = &program->nodes[i];
        value *v = value_of(l, genome, i);
        if (v->is_listed) continue;
        *v = (value){.size = node->size, .last = l->event_count, .is_listed = true};
        for (uint32_t e = node->edge_begin; e < node->edge_end; e++)
            value_of(l, genome, program->edges[e].source)->last = l->event_count;
        l->events[l->event_count++] = (event){.genome = genome, .node = i};
    }
    value_of(l, genome, program->node_count - 1)->last = l->event_count;
    l->events[l->event_count++] = (event){.genome = genome, .node = program->node_count};
}

// ---- places ----

static void drop_unread(planner *p, uint32_t now) {
    for (uint32_t i = p->present_count; i-- > 0;)
        if (p->list->values[p->present[i]].last < now)
            p->present[i] = p->present[--p->present_count];
}

// The lowest place that no map there overlaps, and that lies in one kind of memory.
static uint64_t find_place(const planner *p, uint64_t size) {
    const uint64_t shared = p->list->shared;
    uint64_t place = size <= shared ? 0 : shared;
    for (uint32_t i = 0; i < p->present_count;) {
        const value *v = &p->list->values[p->present[i]];
        const bool overlaps = v->place < place + size && place < v->place + v->size;
        if (overlaps) place = v->place + v->size;
        if (place < shared && place + size > shared) place = shared;
        i = overlaps ? 0 : i + 1; // a new place is held against all again
    }
    return place;
}

// Weights of each edge of a node, in shared memory for the time of that edge where they fit.
static void place_weights(planner *p, event *e) {
    listing *l = p->list;
    const tile_program *program = l->genomes[e->genome].program;
    const tile_node *node = &program->nodes[e->node];
    e->stage = p->stage_count;
    for (uint32_t i = node->edge_begin; i < node->edge_end; i++) {
        uint64_t bias;
        const uint64_t size =
            tile_program_pack(program, node, &program->edges[i], NULL, NULL, &bias);
        const uint64_t place = find_place(p, size);
        l->stages[p->stage_count++] =
            place + size <= l->shared && place < NOWHERE ? (uint32_t)place : NOWHERE;
    }
}

static void place_all(planner *p) {
    listing *l = p->list;
    l->memory = p->present_count = p->stage_count = 0;
    for (uint32_t i = 0; i < l->event_count; i++) {
        event *e = &l->events[i];
        if (e->node == l->genomes[e->genome].program->node_count) continue;
        value *v = value_of(l, e->genome, e->node);
        drop_unread(p, i);
        v->place = find_place(p, v->size);
        p->present[p->present_count++] = (uint32_t)(v - l->values);
        if (v->place + v->size > l->memory) l->memory = v->place + v->size;
        place_weights(p, e);
    }
}

// ---- all of it ----

static void plan(planner *p, uint32_t window) {
    listing *l = p->list;
    name_values(p, window);
    l->event_count = 0;
    for (uint32_t g = 0; g < l->genome_count; g++)
        list_genome(l, g);
    place_all(p);
}

static int by_beginning(const void *a, const void *b) {
    const listing_genome *left = a, *right = b;
    const uint32_t left_count = left->program->node_count, right_count = right->program->node_count;
    const uint32_t count = left_count < right_count ? left_count : right_count;
    const int order = memcmp(left->weights->node_value_hash, right->weights->node_value_hash,
                             (size_t)count * 2 * sizeof(uint64_t));
    if (order != 0) return order;
    if (left_count != right_count) return left_count < right_count ? -1 : 1;
    return left->job < right->job ? -1 : 1;
}

// Hands out pieces of a block, or adds them up where there is none yet.
static void *carve(char *block, size_t *used, size_t count, size_t item_size) {
    void *piece = block ? block + *used : NULL;
    *used = size_plus(*used, size_plus(size_times(count, item_size), 15) & ~(size_t)15);
    return piece;
}

static size_t lay_out(planner *p, char *block, uint32_t genome_count) {
    size_t used = 0;
    listing *l = carve(block, &used, 1, sizeof *l);
    value *values = carve(block, &used, p->node_count, sizeof *values);
    uint32_t *ids = carve(block, &used, p->node_count, sizeof *ids);
    size_t *begin = carve(block, &used, genome_count, sizeof *begin);
    event *events = carve(block, &used, p->node_count + genome_count, sizeof *events);
    uint32_t *stages = carve(block, &used, p->edge_count, sizeof *stages);
    p->names = carve(block, &used, p->node_count, sizeof *p->names);
    p->present = carve(block, &used, p->node_count, sizeof *p->present);
    if (l)
        *l = (listing){
            .values = values, .ids = ids, .begin = begin, .events = events, .stages = stages};
    p->list = l;
    return used;
}

static hox_status make_planner(planner *p, const hox_host *host, const listing_genome *genomes,
                               uint32_t count, hox_error *error) {
    void *block;
    *p = (planner){0};
    for (uint32_t g = 0; g < count; g++) {
        p->node_count += genomes[g].program->node_count;
        p->edge_count += genomes[g].program->edge_count;
    }
    const size_t bytes = lay_out(p, NULL, count);
    HOX_TRY(block_take(host, bytes, &block, error));
    lay_out(p, block, count);
    listing *l = p->list;
    l->host = host;
    l->bytes = bytes;
    l->genomes = genomes;
    l->genome_count = count;
    size_t begin = 0;
    for (uint32_t g = 0; g < count; g++) {
        l->begin[g] = begin;
        begin += genomes[g].program->node_count;
    }
    return HOX_OK;
}

hox_status listing_make(const hox_host *host, listing_genome *genomes, uint32_t genome_count,
                        uint64_t shared, uint64_t memory, listing **made, hox_error *error) {
    planner p;
    *made = NULL;
    qsort(genomes, genome_count, sizeof *genomes, by_beginning);
    HOX_TRY(make_planner(&p, host, genomes, genome_count, error));
    p.list->shared = shared;
    uint32_t window = genome_count;
    plan(&p, window);
    while (p.list->memory > memory && window > 0)
        plan(&p, window /= 2);
    *made = p.list;
    return HOX_OK;
}

void listing_free(listing *l) {
    if (l) block_return(l->host, l, l->bytes);
}

hox_status listing_measure(const hox_host *host, const tile_program *program, uint64_t shared,
                           uint64_t *memory, hox_error *error) {
    const listing_genome genome = {.program = program};
    planner p;
    HOX_TRY(make_planner(&p, host, &genome, 1, error));
    p.list->shared = shared;
    plan(&p, 0);
    *memory = p.list->memory;
    listing_free(p.list);
    return HOX_OK;
}

// ---- steps ----

static cuda_map find_map(const listing *l, uint32_t genome, uint32_t node) {
    cuda_map map = l->genomes[genome].program->nodes[node].map;
    const uint64_t place = value_of(l, genome, node)->place;
    const bool is_shared = place < l->shared;
    map.space = node == 0 ? CUDA_IN_SAMPLES : is_shared ? CUDA_IN_SHARED : CUDA_IN_SCRATCH;
    map.place = node == 0 ? 0 : is_shared ? place : place - l->shared;
    return map;
}

// What the activation makes of values below 0, where that is all it does; 1 for a curve.
static float slope_of(uint32_t activation) {
    if (activation == HOX_ACTIVATION_RELU) return 0;
    return activation == HOX_ACTIVATION_LEAKY_RELU ? 0.01F : 1;
}

static cuda_step edge_step(const listing *l, const event *at, uint32_t e) {
    const tile_program *p = l->genomes[at->genome].program;
    const tile_node *node = &p->nodes[at->node];
    const tile_edge *edge = &p->edges[e];
    return (cuda_step){.kind = edge->kind,
                       .source = find_map(l, at->genome, edge->source),
                       .target = find_map(l, at->genome, at->node),
                       .taps_row = edge->taps_row,
                       .halvings = edge->halvings,
                       .kernel_h = edge->kernel_h,
                       .kernel_w = edge->kernel_w,
                       .stride_h = edge->stride_h,
                       .stride_w = edge->stride_w,
                       .padding_h = edge->padding_h,
                       .padding_w = edge->padding_w,
                       .is_first = e == node->edge_begin,
                       .slope = e + 1 == node->edge_end ? slope_of(node->activation) : 1};
}

// Steps and weights as they are written.
typedef struct tape {
    cuda_step *steps;
    float *weights;
    uint32_t step_count;
    uint64_t weight_floats;
} tape;

// Other threads than in the edge before have the target's values.
static bool is_dealt_anew(const tile_edge *edge) {
    return edge->kind != edge[-1].kind || edge->halvings != edge[-1].halvings;
}

static void write_node(const listing *l, const event *at, tape *t) {
    const listing_genome *genome = &l->genomes[at->genome];
    const tile_node *node = &genome->program->nodes[at->node];
    for (uint32_t e = node->edge_begin; e < node->edge_end; e++) {
        cuda_step step = edge_step(l, at, e);
        const uint32_t stage = l->stages[at->stage + e - node->edge_begin];
        step.weights = t->weight_floats;
        const uint64_t size =
            tile_program_pack(genome->program, node, &genome->program->edges[e],
                              genome->weights->values, t->weights + t->weight_floats, &step.bias);
        t->weight_floats += size;
        if (stage != NOWHERE) {
            step.stage = stage;
            step.stage_size = (uint32_t)size;
        }
        step.waits =
            e == node->edge_begin || stage != NOWHERE || is_dealt_anew(&genome->program->edges[e]);
        t->steps[t->step_count++] = step;
    }
    if (node->activation <= HOX_ACTIVATION_LEAKY_RELU) return;
    t->steps[t->step_count++] = (cuda_step){.kind = CUDA_STEP_ACTIVATE,
                                            .waits = 1,
                                            .function = node->activation,
                                            .target = find_map(l, at->genome, at->node)};
}

void listing_write(const listing *l, cuda_step *steps, uint32_t *step_count, float *weights,
                   uint64_t *weight_floats) {
    tape t = {.steps = steps, .weights = weights};
    for (uint32_t i = 0; i < l->event_count; i++) {
        const event *at = &l->events[i];
        const tile_program *program = l->genomes[at->genome].program;
        if (at->node < program->node_count)
            write_node(l, at, &t);
        else
            t.steps[t.step_count++] =
                (cuda_step){.kind = CUDA_STEP_READ_OUT,
                            .waits = 1,
                            .function = program->readout,
                            .job = at->genome,
                            .source = find_map(l, at->genome, program->node_count - 1)};
    }
    *step_count = t.step_count;
    *weight_floats = t.weight_floats;
}
