#include "share.h"

#include "runtime/memory.h"

#include <stdlib.h>
#include <string.h>

enum { NEVER = UINT32_MAX };

// What nodes of equal name compute, and its map while it is kept.
typedef struct value {
    uint64_t hash[2];
    uint32_t margin_h, margin_w; // part of the name: maps with another margin lie otherwise
    uint32_t next_job;           // that has it, after the current one; NEVER
    uint32_t until;              // the last node of the current job that reads it; NEVER = none
    size_t place, size;          // floats in the memory; size 0 = it is not there
} value;

// All arrays lie in the plan's block.
typedef struct planner {
    share_plan *plan;
    value *values;
    uint32_t value_count;
    uint32_t *table;   // value + 1 by hash, open addressing; at most half full
    size_t table_size; // a power of two
    uint32_t *present; // values that are there
    size_t present_count;
    uint32_t *ids;      // per node of all jobs: its value
    uint32_t *next_use; // likewise: the next job that has it
    size_t *begin;      // per job: its first node in those
    uint8_t *is_needed; // per node of the current job
    float *memory;
    size_t size; // floats
} planner;

static const cpu_program *program_of(const planner *p, uint32_t job) {
    return p->plan->jobs[job].job->runner->program;
}

static value *value_of(const planner *p, uint32_t job, uint32_t node) {
    return &p->values[p->ids[p->begin[job] + node]];
}

// ---- names ----

static uint32_t find_value(planner *p, const cpu_node *node, const uint64_t hash[2]) {
    size_t slot = (size_t)hash[0] & (p->table_size - 1);
    for (; p->table[slot] != 0; slot = (slot + 1) & (p->table_size - 1)) {
        const value *v = &p->values[p->table[slot] - 1];
        if (v->hash[0] == hash[0] && v->hash[1] == hash[1] && v->margin_h == node->margin_h &&
            v->margin_w == node->margin_w)
            return p->table[slot] - 1;
    }
    p->values[p->value_count] = (value){.hash = {hash[0], hash[1]},
                                        .margin_h = node->margin_h,
                                        .margin_w = node->margin_w,
                                        .next_job = NEVER};
    p->table[slot] = ++p->value_count;
    return p->value_count - 1;
}

static void name_values(planner *p) {
    for (uint32_t j = 0; j < p->plan->job_count; j++) {
        const uint64_t *hashes = p->plan->jobs[j].job->weights->node_value_hash;
        const cpu_program *program = program_of(p, j);
        for (uint32_t i = 0; i < program->node_count; i++)
            p->ids[p->begin[j] + i] = find_value(p, &program->nodes[i], hashes + 2 * (size_t)i);
    }
    for (uint32_t j = p->plan->job_count; j-- > 0;) {
        const uint32_t node_count = program_of(p, j)->node_count;
        for (uint32_t i = 0; i < node_count; i++)
            p->next_use[p->begin[j] + i] = value_of(p, j, i)->next_job;
        for (uint32_t i = 0; i < node_count; i++)
            value_of(p, j, i)->next_job = j;
    }
}

// ---- places ----

static void remove_present(planner *p, size_t index) {
    p->values[p->present[index]].size = 0;
    p->present[index] = p->present[--p->present_count];
}

// The lowest place that no map there overlaps; SIZE_MAX where there is none.
static size_t find_place(const planner *p, size_t size) {
    size_t place = 0;
    for (size_t i = 0; i < p->present_count;) {
        const value *v = &p->values[p->present[i]];
        const int overlaps = v->place < place + size && place < v->place + v->size;
        if (overlaps) place = v->place + v->size;
        i = overlaps ? 0 : i + 1; // a new place is held against all again
    }
    return place + size <= p->size ? place : SIZE_MAX;
}

// Lets go of the map that is needed last, those of the current job excepted. 0 = there is none.
static int let_go(planner *p) {
    size_t last = p->present_count;
    for (size_t i = 0; i < p->present_count; i++) {
        const value *v = &p->values[p->present[i]];
        if (v->until != NEVER) continue;
        if (last == p->present_count || v->next_job > p->values[p->present[last]].next_job)
            last = i;
    }
    if (last == p->present_count) return 0;
    remove_present(p, last);
    return 1;
}

static int place_value(planner *p, value *v, size_t size) {
    size_t place;
    while ((place = find_place(p, size)) == SIZE_MAX)
        if (!let_go(p)) return 0;
    v->place = place;
    v->size = size;
    p->present[p->present_count++] = (uint32_t)(v - p->values);
    return 1;
}

// ---- one genome ----

// Marks the nodes that are computed or read, and how long their maps are held.
static void mark_needed(planner *p, uint32_t j) {
    const cpu_program *program = program_of(p, j);
    for (uint32_t i = 0; i < program->node_count; i++) {
        p->is_needed[i] = i + 1 == program->node_count;
        value_of(p, j, i)->next_job = p->next_use[p->begin[j] + i];
        value_of(p, j, i)->until = NEVER;
    }
    for (uint32_t i = program->node_count; i-- > 0;) {
        value *v = value_of(p, j, i);
        if (!p->is_needed[i]) continue;
        if (v->until == NEVER || v->until < program->last_use[i]) v->until = program->last_use[i];
        const cpu_node *node = &program->nodes[i];
        for (uint32_t e = 0; e < node->edge_count && v->size == 0; e++)
            p->is_needed[node->edges[e].source] = 1;
    }
}

// What no later node or job reads goes. node NEVER: the job has ended.
static void drop_unread(planner *p, uint32_t node) {
    for (size_t i = p->present_count; i-- > 0;) {
        value *v = &p->values[p->present[i]];
        if (v->until != NEVER && v->until <= node) v->until = NEVER;
        if (v->until == NEVER && v->next_job == NEVER) remove_present(p, i);
    }
}

static void add_step(planner *p, uint32_t j, uint32_t node, float *target) {
    const share_job *job = &p->plan->jobs[j];
    p->plan->steps[p->plan->step_count++] = (share_step){.node = &program_of(p, j)->nodes[node],
                                                         .weights = job->job->weights->values,
                                                         .maps = job->maps,
                                                         .target = target};
}

// 0 = the memory is too cut up.
static int plan_shared(planner *p, uint32_t j) {
    const cpu_program *program = program_of(p, j);
    mark_needed(p, j);
    for (uint32_t i = cpu_program_copies_input(program) ? 0 : 1; i < program->node_count; i++) {
        value *v = value_of(p, j, i);
        if (!p->is_needed[i]) continue;
        if (v->size == 0) {
            if (!place_value(p, v, program->nodes[i].size)) return 0;
            add_step(p, j, i, p->memory + v->place);
        }
        p->plan->jobs[j].maps[i] = p->memory + v->place;
        if (i + 1 < program->node_count) drop_unread(p, i);
    }
    drop_unread(p, NEVER - 1);
    return 1;
}

// As if there were no other genome.
static void plan_alone(planner *p, uint32_t j) {
    const cpu_program *program = program_of(p, j);
    while (p->present_count > 0)
        remove_present(p, p->present_count - 1);
    for (uint32_t i = cpu_program_copies_input(program) ? 0 : 1; i < program->node_count; i++) {
        float *map = p->memory + program->places[i];
        add_step(p, j, i, map);
        p->plan->jobs[j].maps[i] = map;
    }
}

static void plan_jobs(planner *p) {
    for (uint32_t j = 0; j < p->plan->job_count; j++) {
        const size_t step_count = p->plan->step_count;
        if (!plan_shared(p, j)) {
            p->plan->step_count = step_count;
            plan_alone(p, j);
        }
        p->plan->jobs[j].step_end = p->plan->step_count;
    }
}

// ---- all of it ----

// Genomes with the same first nodes become neighbours.
static int by_beginning(const void *a, const void *b) {
    const share_job *left = a, *right = b;
    const uint32_t left_count = left->job->runner->program->node_count,
                   right_count = right->job->runner->program->node_count;
    const uint32_t count = left_count < right_count ? left_count : right_count;
    const int order =
        memcmp(left->job->weights->node_value_hash, right->job->weights->node_value_hash,
               (size_t)count * 2 * sizeof(uint64_t));
    if (order != 0) return order;
    return left_count < right_count ? -1 : left_count > right_count;
}

// Hands out pieces of a block, or adds them up where there is none yet.
static void *carve(char *block, size_t *used, size_t count, size_t item_size) {
    void *piece = block ? block + *used : NULL;
    *used = size_plus(*used, size_plus(size_times(count, item_size), 15) & ~(size_t)15);
    return piece;
}

static size_t lay_out(planner *p, char *block, uint32_t job_count, size_t node_count,
                      uint32_t most_nodes, const float ***maps) {
    size_t used = 0;
    share_plan *plan = carve(block, &used, 1, sizeof *plan);
    share_job *jobs = carve(block, &used, job_count, sizeof *jobs);
    share_step *steps = carve(block, &used, node_count, sizeof *steps);
    *maps = carve(block, &used, node_count, sizeof **maps);
    p->values = carve(block, &used, node_count, sizeof *p->values);
    p->table = carve(block, &used, p->table_size, sizeof *p->table);
    p->present = carve(block, &used, node_count, sizeof *p->present);
    p->ids = carve(block, &used, node_count, sizeof *p->ids);
    p->next_use = carve(block, &used, node_count, sizeof *p->next_use);
    p->begin = carve(block, &used, job_count, sizeof *p->begin);
    p->is_needed = carve(block, &used, most_nodes, 1);
    if (plan) *plan = (share_plan){.jobs = jobs, .job_count = job_count, .steps = steps};
    p->plan = plan;
    return used;
}

static void count_nodes(hox_job *const *jobs, uint32_t job_count, size_t *all, uint32_t *most) {
    *all = *most = 0;
    for (uint32_t j = 0; j < job_count; j++) {
        const uint32_t count = jobs[j]->runner->program->node_count;
        *all += count;
        if (count > *most) *most = count;
    }
}

hox_status share_plan_make(const hox_host *host, hox_job *const *jobs, uint32_t job_count,
                           float *memory, size_t size, share_plan **plan, hox_error *error) {
    *plan = NULL;
    planner p = {.memory = memory, .size = size, .table_size = 16};
    size_t node_count;
    uint32_t most_nodes;
    const float **maps;
    count_nodes(jobs, job_count, &node_count, &most_nodes);
    while (p.table_size < 2 * node_count)
        p.table_size *= 2;
    const size_t bytes = lay_out(&p, NULL, job_count, node_count, most_nodes, &maps);
    void *block;
    HOX_TRY(block_take(host, bytes, &block, error));
    lay_out(&p, block, job_count, node_count, most_nodes, &maps);
    p.plan->host = host;
    p.plan->bytes = bytes;
    memset(p.table, 0, p.table_size * sizeof *p.table);
    for (uint32_t j = 0; j < job_count; j++)
        p.plan->jobs[j] = (share_job){.job = jobs[j]};
    qsort(p.plan->jobs, job_count, sizeof *p.plan->jobs, by_beginning);
    size_t begin = 0;
    for (uint32_t j = 0; j < job_count; j++) {
        p.begin[j] = begin;
        p.plan->jobs[j].maps = maps + begin;
        begin += program_of(&p, j)->node_count;
    }
    name_values(&p);
    plan_jobs(&p);
    *plan = p.plan;
    return HOX_OK;
}

void share_plan_free(share_plan *plan) {
    if (plan) block_return(plan->host, plan, plan->bytes);
}
