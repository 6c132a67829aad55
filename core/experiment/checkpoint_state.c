#include "experiment/checkpoint_state.h"

#include "base/array.h"
#include "genome/validate.h"
#include "io/json_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- writing: kernels by number ----

typedef struct pool_slot {
    const kernel *kernel;
    size_t number;
} pool_slot;

// Numbers kernels by identity, so that what is shared stays shared.
typedef struct kernel_pool {
    pool_slot *slots; // open addressing
    size_t slot_count, count;
    json_t *shapes; // [[Cout, Cin, kh, kw], ...]
    kernel_values *values;
} kernel_pool;

static size_t slot_of(const kernel_pool *pool, const kernel *k) {
    size_t slot = (size_t)(((uintptr_t)k >> 4) * 0x9E3779B97F4A7C15u) & (pool->slot_count - 1);
    while (pool->slots[slot].kernel && pool->slots[slot].kernel != k)
        slot = (slot + 1) & (pool->slot_count - 1);
    return slot;
}

static bool pool_grow(kernel_pool *pool) {
    const pool_slot *old = pool->slots;
    const size_t old_count = pool->slot_count;
    pool->slot_count = old_count ? old_count * 2 : 1024;
    pool->slots = calloc(pool->slot_count, sizeof *pool->slots);
    for (size_t i = 0; pool->slots && i < old_count; i++)
        if (old[i].kernel) pool->slots[slot_of(pool, old[i].kernel)] = old[i];
    free((void *)old);
    return pool->slots != NULL;
}

static bool pool_add_values(kernel_pool *pool, const kernel *k) {
    kernel_values *v = pool->values;
    const size_t count = kernel_value_count(k);
    float *values = array_grow(v->values, &v->capacity, v->count + count, sizeof *values, NULL);
    if (!values) return false;
    v->values = values;
    memcpy(values + v->count, k->values, count * sizeof *values);
    v->count += count;
    return json_array_append_new(pool->shapes,
                                 json_pack("[I,I,I,I]", (json_int_t)k->target_channels,
                                           (json_int_t)k->source_channels, (json_int_t)k->height,
                                           (json_int_t)k->width)) == 0;
}

// NULL without memory.
static json_t *pool_number(kernel_pool *pool, const kernel *k) {
    if ((pool->count + 1) * 2 > pool->slot_count && !pool_grow(pool)) return NULL;
    pool_slot *slot = &pool->slots[slot_of(pool, k)];
    if (!slot->kernel) {
        if (!pool_add_values(pool, k)) return NULL;
        *slot = (pool_slot){k, pool->count++};
    }
    return json_integer((json_int_t)slot->number);
}

static json_t *print_genome(kernel_pool *pool, const genome *g) {
    if (!g) return json_null();
    json_t *nodes = json_array(), *edges = json_array();
    for (size_t i = 0; i < g->node_count; i++) {
        const genome_node *n = &g->nodes[i];
        json_array_append_new(nodes,
                              json_pack("[I,I,I,I,I]", (json_int_t)n->id, (json_int_t)n->activation,
                                        (json_int_t)n->size.channels, (json_int_t)n->size.height,
                                        (json_int_t)n->size.width));
    }
    int failed = 0;
    for (size_t i = 0; i < g->edge_count; i++) {
        const genome_edge *e = &g->edges[i];
        const axis_geometry r = e->geometry.rows, c = e->geometry.columns;
        failed |= json_array_append_new(
            edges,
            json_pack("[I,I,I,b,I,I,I,I,I,I,o]", (json_int_t)e->innovation, (json_int_t)e->from,
                      (json_int_t)e->to, e->is_enabled, (json_int_t)r.kernel, (json_int_t)r.stride,
                      (json_int_t)r.padding, (json_int_t)c.kernel, (json_int_t)c.stride,
                      (json_int_t)c.padding, pool_number(pool, e->kernel)));
    }
    if (failed) {
        json_decref(nodes);
        json_decref(edges);
        return NULL;
    }
    return json_pack("{s:I, s:[I,I], s:I, s:o, s:o}", "id", (json_int_t)g->id, "parents",
                     (json_int_t)g->parent_ids[0], (json_int_t)g->parent_ids[1], "readout",
                     (json_int_t)g->readout, "nodes", nodes, "edges", edges);
}

static json_t *print_individual(kernel_pool *pool, const individual *one) {
    return json_pack("{s:o, s:o, s:I, s:b, s:b, s:b, s:[b,I,I,b]}", "genome",
                     print_genome(pool, one->genome), "fitness",
                     one->has_fitness ? json_real(one->fitness) : json_null(), "species",
                     (json_int_t)one->species_id, "elite", one->is_elite, "crossover",
                     one->is_crossover, "parent", one->is_parent, "birth",
                     one->birth.has_new_weights, (json_int_t)one->birth.change,
                     (json_int_t)one->birth.failed_count, one->birth.has_new_structure);
}

static json_t *print_species(kernel_pool *pool, const species *one) {
    return json_pack("{s:I, s:I, s:o, s:I, s:o}", "id", (json_int_t)one->id, "members",
                     (json_int_t)one->member_count, "best",
                     one->has_best ? json_real(one->best_fitness) : json_null(), "improved",
                     (json_int_t)one->improved_generation, "representative",
                     print_genome(pool, one->representative));
}

static json_t *print_innovations(const innovation_table *table) {
    json_t *list = json_array();
    for (size_t i = 0; i < innovation_count(table); i++) {
        const innovation_key k = innovation_key_at(table, i);
        json_array_append_new(
            list, json_pack("[I,I,I,I,I,I,I]", (json_int_t)k.kind, (json_int_t)k.first,
                            (json_int_t)k.second, (json_int_t)k.size.channels,
                            (json_int_t)k.size.height, (json_int_t)k.size.width, (json_int_t)k.n));
    }
    return list;
}

static json_t *print_lineage(const lineage *l) {
    json_t *list = json_array();
    for (size_t i = 0; i < LINEAGE_COUNT; i++)
        json_array_append_new(list, json_pack("[I,I,I]", (json_int_t)l->rows[i].children,
                                              (json_int_t)l->rows[i].survived,
                                              (json_int_t)l->rows[i].best));
    return list;
}

static json_t *print_evolution(kernel_pool *pool, const evolution_state *s) {
    json_t *people = json_array(), *species_list = json_array();
    int failed = 0;
    for (size_t i = 0; i < s->population.count; i++)
        failed |= json_array_append_new(people, print_individual(pool, &s->population.items[i]));
    for (size_t i = 0; i < s->species.count; i++)
        failed |= json_array_append_new(species_list, print_species(pool, &s->species.items[i]));
    json_t *json =
        json_pack("{s:I, s:b, s:I, s:o, s:I, s:f, s:o, s:o, s:o, s:o}", "generation",
                  (json_int_t)s->generation, "told", s->is_told, "next_id", (json_int_t)s->next_id,
                  "best", s->has_best ? json_real(s->best_fitness) : json_null(), "next_species",
                  (json_int_t)s->species.next_id, "threshold", s->species.threshold, "species",
                  species_list, "innovations", print_innovations(s->innovations), "lineage",
                  print_lineage(&s->lineage), "population", people);
    if (json && !failed) return json;
    json_decref(json);
    return NULL;
}

static json_t *print_facts(const hox_genome_facts *f) {
    return json_pack("[I,I,I,I,I,I,I]", (json_int_t)f->node_count, (json_int_t)f->edge_count,
                     (json_int_t)f->enabled_edge_count, (json_int_t)f->executed_node_count,
                     (json_int_t)f->executed_edge_count, (json_int_t)f->weight_count,
                     (json_int_t)f->flops_per_sample);
}

static json_t *print_run(kernel_pool *pool, const run_state *run) {
    const run_result *r = &run->result;
    return json_pack(
        "{s:o, s:I, s:I, s:I, s:o, s:[o,o], s:[o,o], s:o, s:o, s:I, s:I, s:I, s:I}", "seed",
        json_sprintf("%llu", (unsigned long long)run->seed), "generations",
        (json_int_t)r->generation_count, "champion_id", (json_int_t)r->champion_id,
        "champion_generation", (json_int_t)r->champion_generation, "champion_facts",
        print_facts(&r->champion_facts), "champion_fitness",
        json_value_real(r->fitness[SPLIT_SELECT]), json_value_real(r->fitness[SPLIT_MONITOR]),
        "champion_balanced_accuracy", json_value_real(r->balanced_accuracy[SPLIT_SELECT]),
        json_value_real(r->balanced_accuracy[SPLIT_MONITOR]), "champion_monitor",
        json_value_real(run->champion_monitor), "champion", print_genome(pool, run->champion),
        "evaluations", (json_int_t)run->evaluation_count, "improved",
        (json_int_t)run->improved_generation, "metrics_lines", (json_int_t)run->metrics_lines,
        "genomes_lines", (json_int_t)run->genomes_lines);
}

json_t *checkpoint_state_print(const run_state *run, const evolution_state *evolved,
                               kernel_values *values, hox_error *error) {
    *values = (kernel_values){0};
    kernel_pool pool = {.shapes = json_array(), .values = values};
    json_t *json = json_pack("{s:o, s:o}", "run", print_run(&pool, run), "evolution",
                             print_evolution(&pool, evolved));
    if (json) json_object_set(json, "kernels", pool.shapes);
    json_decref(pool.shapes);
    free(pool.slots);
    if (json) return json;
    free(values->values);
    *values = (kernel_values){0};
    hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory");
    return NULL;
}

// ---- reading. The file's checksum was right, so what is wrong here is a bug or a forgery: one
// message does. ----

static hox_status wrong(const char *what, hox_error *error) {
    return hox_error_set(error, HOX_CORRUPT, "its %s cannot be read", what);
}

// Fills numbers from an array of count integers from 0 or truths.
static bool read_numbers(const json_t *list, size_t count, uint64_t *numbers) {
    if (json_array_size(list) != count) return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_boolean(value) && (!json_is_integer(value) || json_integer_value(value) < 0))
            return false;
        numbers[i] =
            json_is_boolean(value) ? json_is_true(value) : (uint64_t)json_integer_value(value);
    }
    return true;
}

static bool read_member(const json_t *object, const char *key, uint64_t *number) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *number = (uint64_t)json_integer_value(value);
    return true;
}

static double real_or(const json_t *value, double fallback) {
    return json_is_number(value) ? json_number_value(value) : fallback;
}

typedef struct kernel_shelf {
    kernel **items;
    size_t count;
} kernel_shelf;

static void shelf_deinit(kernel_shelf *shelf) {
    for (size_t i = 0; i < shelf->count; i++)
        kernel_release(shelf->items[i]);
    free(shelf->items);
}

static hox_status shelf_init(kernel_shelf *shelf, const json_t *shapes, const float *values,
                             size_t value_count, hox_error *error) {
    *shelf =
        (kernel_shelf){.items = array_create(json_array_size(shapes), sizeof *shelf->items, error)};
    if (!shelf->items) return HOX_OUT_OF_HOST_MEMORY;
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(shapes); i++) {
        uint64_t n[4];
        if (!read_numbers(json_array_get(shapes, i), 4, n)) return wrong("kernels", error);
        const double size =
            (double)n[0] * (double)n[1] * (double)n[2] * (double)n[3] + (double)n[0];
        if (!(size <= (double)(value_count - at))) return wrong("kernels", error);
        const map_size source = {(uint32_t)n[1], 1, 1}, target = {(uint32_t)n[0], 1, 1};
        const geometry g = {{(uint32_t)n[2], 1, 0}, {(uint32_t)n[3], 1, 0}};
        kernel *k = kernel_create(source, target, g, error);
        if (!k) return HOX_OUT_OF_HOST_MEMORY;
        shelf->items[shelf->count++] = k;
        memcpy(k->values, values + at, kernel_value_count(k) * sizeof *values);
        at += kernel_value_count(k);
    }
    return at == value_count ? HOX_OK : wrong("kernels", error);
}

static hox_status read_node(genome *g, const json_t *json, hox_error *error) {
    uint64_t n[5];
    if (!read_numbers(json, 5, n)) return wrong("genomes", error);
    return genome_add_node(g,
                           (genome_node){.id = (uint32_t)n[0],
                                         .activation = (uint32_t)n[1],
                                         .size = {(uint32_t)n[2], (uint32_t)n[3], (uint32_t)n[4]}},
                           error);
}

static hox_status read_edge(genome *g, const json_t *json, const kernel_shelf *shelf,
                            hox_error *error) {
    uint64_t n[11];
    if (!read_numbers(json, 11, n) || n[10] >= shelf->count) return wrong("genomes", error);
    return genome_add_edge(
        g,
        (genome_edge){.innovation = n[0],
                      .from = (uint32_t)n[1],
                      .to = (uint32_t)n[2],
                      .is_enabled = n[3] != 0,
                      .geometry = {{(uint32_t)n[4], (uint32_t)n[5], (uint32_t)n[6]},
                                   {(uint32_t)n[7], (uint32_t)n[8], (uint32_t)n[9]}},
                      .kernel = kernel_retain(shelf->items[n[10]])},
        error);
}

static hox_status fill_genome(genome *g, const json_t *json, const kernel_shelf *shelf,
                              hox_error *error) {
    uint64_t readout;
    if (!read_member(json, "id", &g->id) || !read_member(json, "readout", &readout) ||
        !read_numbers(json_object_get(json, "parents"), 2, g->parent_ids))
        return wrong("genomes", error);
    g->readout = (uint32_t)readout;
    const json_t *nodes = json_object_get(json, "nodes"), *edges = json_object_get(json, "edges");
    for (size_t i = 0; i < json_array_size(nodes); i++)
        HOX_TRY(read_node(g, json_array_get(nodes, i), error));
    for (size_t i = 0; i < json_array_size(edges); i++)
        HOX_TRY(read_edge(g, json_array_get(edges, i), shelf, error));
    return genome_validate(g, 0, error);
}

static hox_status read_genome(const json_t *json, const kernel_shelf *shelf, genome **out,
                              hox_error *error) {
    *out = genome_create(0, error);
    if (!*out) return HOX_OUT_OF_HOST_MEMORY;
    const hox_status status = fill_genome(*out, json, shelf, error);
    if (status == HOX_OK) return HOX_OK;
    genome_destroy(*out);
    *out = NULL;
    return status;
}

static hox_status read_individual(individual *one, const json_t *json, const kernel_shelf *shelf,
                                  hox_error *error) {
    uint64_t species_id, birth[4];
    const json_t *fitness = json_object_get(json, "fitness");
    if (!read_member(json, "species", &species_id) ||
        !read_numbers(json_object_get(json, "birth"), 4, birth) || birth[1] >= MUTATION_COUNT)
        return wrong("population", error);
    one->species_id = (uint32_t)species_id;
    one->has_fitness = json_is_number(fitness);
    one->fitness = real_or(fitness, 0.0);
    one->is_elite = json_is_true(json_object_get(json, "elite"));
    one->is_crossover = json_is_true(json_object_get(json, "crossover"));
    one->is_parent = json_is_true(json_object_get(json, "parent"));
    one->birth = (mutation_record){.has_new_weights = birth[0] != 0,
                                   .change = (uint32_t)birth[1],
                                   .failed_count = (uint32_t)birth[2],
                                   .has_new_structure = birth[3] != 0};
    return read_genome(json_object_get(json, "genome"), shelf, &one->genome, error);
}

static hox_status read_population(population *p, const json_t *list, const kernel_shelf *shelf,
                                  hox_error *error) {
    if (json_array_size(list) == 0) return wrong("population", error);
    HOX_TRY(population_init(p, json_array_size(list), error));
    for (size_t i = 0; i < p->count; i++)
        HOX_TRY(read_individual(&p->items[i], json_array_get(list, i), shelf, error));
    return HOX_OK;
}

static hox_status read_species(species_set *set, const json_t *list, const kernel_shelf *shelf,
                               hox_error *error) {
    const size_t count = json_array_size(list);
    set->items = array_create(count, sizeof *set->items, error);
    if (!set->items) return HOX_OUT_OF_HOST_MEMORY;
    set->capacity = count ? count : 1;
    for (size_t i = 0; i < count; i++) {
        const json_t *json = json_array_get(list, i), *best = json_object_get(json, "best");
        uint64_t id, members, improved;
        if (!read_member(json, "id", &id) || !read_member(json, "members", &members) ||
            !read_member(json, "improved", &improved))
            return wrong("species", error);
        species *one = &set->items[set->count];
        *one = (species){.id = (uint32_t)id,
                         .member_count = members,
                         .has_best = json_is_number(best),
                         .best_fitness = real_or(best, 0.0),
                         .improved_generation = (uint32_t)improved};
        HOX_TRY(read_genome(json_object_get(json, "representative"), shelf, &one->representative,
                            error));
        set->count++;
    }
    return HOX_OK;
}

static hox_status read_innovations(evolution_state *s, const json_t *list, hox_error *error) {
    s->innovations = innovation_table_create(error);
    if (!s->innovations) return HOX_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < json_array_size(list); i++) {
        uint64_t n[7];
        if (!read_numbers(json_array_get(list, i), 7, n)) return wrong("innovations", error);
        const innovation_key key = {.kind = (uint32_t)n[0],
                                    .first = n[1],
                                    .second = (uint32_t)n[2],
                                    .size = {(uint32_t)n[3], (uint32_t)n[4], (uint32_t)n[5]},
                                    .n = (uint32_t)n[6]};
        HOX_TRY(innovation_replay(s->innovations, key, error));
    }
    return HOX_OK;
}

static hox_status read_lineage(lineage *l, const json_t *list, hox_error *error) {
    if (json_array_size(list) != LINEAGE_COUNT) return wrong("lineage", error);
    for (size_t i = 0; i < LINEAGE_COUNT; i++) {
        uint64_t n[3];
        if (!read_numbers(json_array_get(list, i), 3, n)) return wrong("lineage", error);
        l->rows[i] = (lineage_row){n[0], n[1], n[2]};
    }
    return HOX_OK;
}

static hox_status read_evolution(evolution_state *s, const json_t *json, const kernel_shelf *shelf,
                                 hox_error *error) {
    uint64_t generation, next_species;
    const json_t *best = json_object_get(json, "best");
    if (!read_member(json, "generation", &generation) ||
        !read_member(json, "next_id", &s->next_id) ||
        !read_member(json, "next_species", &next_species))
        return wrong("counters", error);
    s->generation = (uint32_t)generation;
    s->is_told = json_is_true(json_object_get(json, "told"));
    s->has_best = json_is_number(best);
    s->best_fitness = real_or(best, 0.0);
    s->species.next_id = (uint32_t)next_species;
    s->species.threshold = real_or(json_object_get(json, "threshold"), 0.0);
    HOX_TRY(read_innovations(s, json_object_get(json, "innovations"), error));
    HOX_TRY(read_lineage(&s->lineage, json_object_get(json, "lineage"), error));
    HOX_TRY(read_species(&s->species, json_object_get(json, "species"), shelf, error));
    return read_population(&s->population, json_object_get(json, "population"), shelf, error);
}

static hox_status read_run(run_state *run, const json_t *json, const kernel_shelf *shelf,
                           hox_error *error) {
    run_result *r = &run->result;
    uint64_t generations, champion_generation, improved, facts[7];
    if (!read_member(json, "generations", &generations) ||
        !read_member(json, "champion_id", &r->champion_id) ||
        !read_member(json, "champion_generation", &champion_generation) ||
        !read_member(json, "evaluations", &run->evaluation_count) ||
        !read_member(json, "improved", &improved) ||
        !read_numbers(json_object_get(json, "champion_facts"), 7, facts) ||
        !read_member(json, "metrics_lines", &run->metrics_lines) ||
        !read_member(json, "genomes_lines", &run->genomes_lines))
        return wrong("counters", error);
    const char *seed = json_string_value(json_object_get(json, "seed"));
    if (!seed) return wrong("seed", error);
    run->seed = strtoull(seed, NULL, 10);
    const json_t *fitness = json_object_get(json, "champion_fitness");
    const json_t *accuracy = json_object_get(json, "champion_balanced_accuracy");
    r->generation_count = (uint32_t)generations;
    r->champion_generation = (uint32_t)champion_generation;
    r->champion_facts = (hox_genome_facts){.struct_size = sizeof(hox_genome_facts),
                                           .node_count = (uint32_t)facts[0],
                                           .edge_count = (uint32_t)facts[1],
                                           .enabled_edge_count = (uint32_t)facts[2],
                                           .executed_node_count = (uint32_t)facts[3],
                                           .executed_edge_count = (uint32_t)facts[4],
                                           .weight_count = facts[5],
                                           .flops_per_sample = facts[6]};
    for (size_t i = 0; i < 2; i++) {
        r->fitness[SPLIT_SELECT + i] = real_or(json_array_get(fitness, i), NAN);
        r->balanced_accuracy[SPLIT_SELECT + i] = real_or(json_array_get(accuracy, i), NAN);
    }
    run->champion_monitor = real_or(json_object_get(json, "champion_monitor"), -INFINITY);
    run->improved_generation = (uint32_t)improved;
    const json_t *champion = json_object_get(json, "champion");
    if (json_is_null(champion)) return HOX_OK;
    return read_genome(champion, shelf, &run->champion, error);
}

hox_status checkpoint_state_read(const json_t *json, const float *values, size_t value_count,
                                 run_state *run, evolution_state *evolved, hox_error *error) {
    *run = (run_state){0};
    *evolved = (evolution_state){0};
    kernel_shelf shelf;
    hox_status status =
        shelf_init(&shelf, json_object_get(json, "kernels"), values, value_count, error);
    if (status == HOX_OK) status = read_run(run, json_object_get(json, "run"), &shelf, error);
    if (status == HOX_OK)
        status = read_evolution(evolved, json_object_get(json, "evolution"), &shelf, error);
    shelf_deinit(&shelf);
    if (status == HOX_OK) return HOX_OK;
    genome_destroy(run->champion);
    *run = (run_state){0};
    evolution_state_deinit(evolved);
    return status;
}
