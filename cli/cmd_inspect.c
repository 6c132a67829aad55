// cmd_inspect.c - hox inspect: the structure of a genome, or of a run's champion, and what of it
// runs; or the run's memory.
#include "command.h"
#include "memory_timeline.h"
#include "opening.h"
#include "result.h"

#include "base/array.h"
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct inspection {
    const genome *genome;
    plan plan;
    bool *node_runs, *edge_runs; // per node and edge of the genome
} inspection;

static hox_status inspection_init(inspection *i, const genome *g, hox_error *error) {
    *i = (inspection){.genome = g,
                      .node_runs = array_create(g->node_count, sizeof(bool), error),
                      .edge_runs = array_create(g->edge_count, sizeof(bool), error)};
    if (!i->node_runs || !i->edge_runs) return HOX_OUT_OF_HOST_MEMORY;
    HOX_TRY(plan_init(&i->plan, g, error));
    for (uint32_t k = 0; k < i->plan.view.node_count; k++)
        i->node_runs[i->plan.node_index[k]] = true;
    for (uint32_t k = 0; k < i->plan.view.edge_count; k++)
        i->edge_runs[i->plan.edge_index[k]] = true;
    return HOX_OK;
}

static void inspection_deinit(inspection *i) {
    plan_deinit(&i->plan);
    free(i->node_runs);
    free(i->edge_runs);
}

// ---- for people ----

static const char *yes_no(bool is_so) {
    return is_so ? "yes" : "no";
}

static void print_nodes(const inspection *i) {
    puts("node        size          activation  runs");
    for (size_t k = 0; k < i->genome->node_count; k++) {
        const genome_node *n = &i->genome->nodes[k];
        char size[40];
        snprintf(size, sizeof size, "%u x %u x %u", n->size.channels, n->size.height,
                 n->size.width);
        printf("%-10u  %-12s  %-10s  %s\n", n->id, size, activation_names[n->activation],
               yes_no(i->node_runs[k]));
    }
}

static void print_edges(const inspection *i) {
    puts("edge        from -> to      kernel   stride  padding  weights  enabled  runs");
    for (size_t k = 0; k < i->genome->edge_count; k++) {
        const genome_edge *e = &i->genome->edges[k];
        const geometry g = e->geometry;
        char ends[40], sides[24], stride[24], padding[24];
        snprintf(ends, sizeof ends, "%u -> %u", e->from, e->to);
        snprintf(sides, sizeof sides, "%u x %u", g.rows.kernel, g.columns.kernel);
        snprintf(stride, sizeof stride, "%u x %u", g.rows.stride, g.columns.stride);
        snprintf(padding, sizeof padding, "%u x %u", g.rows.padding, g.columns.padding);
        printf("%-10llu  %-14s  %-7s  %-6s  %-7s  %-7llu  %-7s  %s\n",
               (unsigned long long)e->innovation, ends, sides, stride, padding,
               (unsigned long long)kernel_value_count(e->kernel), yes_no(e->is_enabled),
               yes_no(i->edge_runs[k]));
    }
}

static void print_text(const inspection *i, const opening *o) {
    const genome *g = i->genome;
    const hox_plan *p = &i->plan.view;
    printf("%s\n", o->genome_path);
    if (*o->run_path) printf("of the run %s\n", o->run_path);
    printf("genome %llu, child of %llu and %llu, readout %s\n", (unsigned long long)g->id,
           (unsigned long long)g->parent_ids[0], (unsigned long long)g->parent_ids[1],
           readout_names[g->readout]);
    printf("nodes: %zu, %u run; edges: %zu, %zu enabled, %u run\n", g->node_count, p->node_count,
           g->edge_count, genome_enabled_edge_count(g), p->edge_count);
    if (!i->plan.has_path) puts("no path leads from input to output: its logit is always 0");
    printf("weights: %llu, %llu run; %.3f MFLOP and %llu bytes an image\n\n",
           (unsigned long long)genome_weight_count(g), (unsigned long long)p->weight_count,
           (double)p->flops_per_sample * 1e-6, (unsigned long long)p->bytes_per_sample);
    print_nodes(i);
    puts("");
    print_edges(i);
}

// ---- for programs ----

static json_t *nodes_json(const inspection *i) {
    json_t *list = json_array();
    for (size_t k = 0; k < i->genome->node_count; k++) {
        const genome_node *n = &i->genome->nodes[k];
        json_array_append_new(list, json_pack("{s:I, s:[I,I,I], s:s, s:b}", "id", (json_int_t)n->id,
                                              "size", (json_int_t)n->size.channels,
                                              (json_int_t)n->size.height, (json_int_t)n->size.width,
                                              "activation", activation_names[n->activation],
                                              "executed", i->node_runs[k]));
    }
    return list;
}

static json_t *edges_json(const inspection *i) {
    json_t *list = json_array();
    for (size_t k = 0; k < i->genome->edge_count; k++) {
        const genome_edge *e = &i->genome->edges[k];
        const geometry g = e->geometry;
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:I, s:[I,I], s:[I,I], s:[I,I], s:I, s:b, s:b}",
                            "innovation", (json_int_t)e->innovation, "from", (json_int_t)e->from,
                            "to", (json_int_t)e->to, "kernel", (json_int_t)g.rows.kernel,
                            (json_int_t)g.columns.kernel, "stride", (json_int_t)g.rows.stride,
                            (json_int_t)g.columns.stride, "padding", (json_int_t)g.rows.padding,
                            (json_int_t)g.columns.padding, "weights",
                            (json_int_t)kernel_value_count(e->kernel), "enabled", e->is_enabled,
                            "executed", i->edge_runs[k]));
    }
    return list;
}

static json_t *inspection_json(const inspection *i, const opening *o) {
    const hox_plan *p = &i->plan.view;
    return json_pack(
        "{s:s, s:s?, s:I, s:[I,I], s:s, s:b, s:I, s:I, s:I, s:I, s:o, s:o}", "file", o->genome_path,
        "run", *o->run_path ? o->run_path : NULL, "id", (json_int_t)i->genome->id, "parents",
        (json_int_t)i->genome->parent_ids[0], (json_int_t)i->genome->parent_ids[1], "readout",
        readout_names[i->genome->readout], "has_path", i->plan.has_path, "weights",
        (json_int_t)genome_weight_count(i->genome), "executed_weights", (json_int_t)p->weight_count,
        "flops", (json_int_t)p->flops_per_sample, "bytes_per_sample",
        (json_int_t)p->bytes_per_sample, "nodes", nodes_json(i), "edges", edges_json(i));
}

// ---- the command ----

int cmd_inspect(const command_line *line, terminal *t) {
    opening o;
    if (command_line_has(line, "memory"))
        return memory_timeline_print(line->words.items[0], command_line_has(line, "json"), t);
    int code = opening_open(&o, line->words.items[0], t);
    if (code != EXIT_OK) return code;
    inspection i;
    hox_error error = HOX_ERROR_INIT;
    const hox_status status = inspection_init(&i, o.genome, &error);
    code = command_exit_code(status, false);
    if (status != HOX_OK)
        terminal_error(t, "%s", error.message);
    else if (command_line_has(line, "json"))
        code = result_print(inspection_json(&i, &o));
    else
        print_text(&i, &o);
    inspection_deinit(&i);
    opening_close(&o);
    return code;
}
