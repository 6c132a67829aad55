// evolve.c - the part of a generation outside evaluation: asking for it and telling its fitness.
// Populations of genomes of about 40 edges, 3 x 3 kernels from 3 to 3 channels, on one core.
#include "require.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "config/field.h"
#include "evolution/evolution.h"
#include "genome/validate.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EDGES = 40, WARM_UP = 10, RUNS = 7, SEED = 1 };

static const struct {
    int64_t population_size;
    double target_ms;
} cases[] = {{1000, 100.0}, {10000, 1500.0}};

typedef struct settings {
    evolution_config evolution;
    genome_config limits;
} settings;

static const map_size map = {3, 8, 8}; // of every node, so that the rule same3 gives 3 x 3

static settings make_settings(int64_t population_size) {
    settings s = {0};
    arena memory = {0};
    problem_list problems = {0};
    hox_error error = HOX_ERROR_INIT;
    const field_reader reader = {.memory = &memory, .problems = &problems};
    const field_section sections[] = {
        {"/evolution", FIELD_TABLE(evolution_fields, evolution_field_count), &s.evolution, false},
        {"/mutation", FIELD_TABLE(mutation_fields, mutation_field_count), &s.evolution.mutation,
         false},
        {"/species", FIELD_TABLE(species_fields, species_field_count), &s.evolution.species, false},
        {"/distance", FIELD_TABLE(distance_fields, distance_field_count), &s.evolution.distance,
         false},
        {"/genome", FIELD_TABLE(genome_fields, genome_field_count), &s.limits, false}};
    succeed(field_set_defaults(sections, sizeof sections / sizeof *sections, &reader, &error),
            &error);
    arena_deinit(&memory);
    s.evolution.population_size = population_size;
    s.evolution.mutation.resize_node = 0.0;
    s.limits.max_edges = EDGES + 2;
    s.limits.max_kernel = 32;
    s.limits.output_size = (hox_int_list){3, {map.channels, map.height, map.width}};
    s.limits.same3 = 1;
    return s;
}

// ---- a population as of a long run ----

static void change(genome **g, const mutation_config *rates, const settings *s,
                   innovation_table *innovations, uint32_t turn) {
    hox_error error = HOX_ERROR_INIT;
    mutation_record record;
    const mutation_context context = {rates, &s->limits, innovations, NULL};
    succeed(mutate(g, &context, rng_stream(SEED, 0, turn, RNG_PURPOSE_WEIGHTS),
                   rng_stream(SEED, 0, turn, RNG_PURPOSE_STRUCTURE), &record, &error),
            &error);
}

// The ancestor grows to the size wanted; the others descend from it, with kernels of their own.
static void grow(population *p, const settings *s, innovation_table *innovations) {
    hox_error error = HOX_ERROR_INIT;
    mutation_config growth = s->evolution.mutation, drift = s->evolution.mutation;
    growth.add_edge = 0.7;
    growth.add_node = 0.3;
    growth.remove_edge = growth.remove_node = 0.0;
    drift.weights = drift.weights_edge = 1.0;
    genome **ancestor = &p->items[0].genome;
    uint32_t turn = 0;
    while ((*ancestor)->edge_count < EDGES)
        change(ancestor, &growth, s, innovations, turn++);
    for (size_t i = 0; i < p->count; i++) {
        genome **one = &p->items[i].genome;
        if (i > 0) {
            const uint64_t id = (*one)->id;
            genome_destroy(*one);
            require((*one = genome_copy(*ancestor, &error)) != NULL, error.message);
            (*one)->id = id;
        }
        for (int k = 0; k < 4; k++)
            change(one, &drift, s, innovations, turn++);
    }
}

static evolution *grown_evolution(const settings *s) {
    hox_error error = HOX_ERROR_INIT;
    evolution *e;
    evolution_state state = {.next_id = 1, .innovations = innovation_table_create(&error)};
    require(state.innovations != NULL, error.message);
    const reproduction how = {.config = &s->evolution,
                              .limits = &s->limits,
                              .innovations = state.innovations,
                              .seed = SEED,
                              .next_id = &state.next_id};
    succeed(reproduce_start(&how, map, &state.population, &error), &error);
    grow(&state.population, s, state.innovations);
    species_set_init(&state.species, &s->evolution.species);
    succeed(species_assign(&state.species, &state.population, &s->evolution, 0, &error), &error);
    succeed(evolution_create(&s->evolution, &s->limits, SEED, map, &e, &error), &error);
    evolution_restore(e, &state);
    return e;
}

// ---- one generation ----

// Keeps the genomes large, and has no ties.
static double fake_fitness(const genome *g) {
    return g->edges[0].kernel->values[0] + 0.2 * (double)g->edge_count +
           0.001 * (double)(g->id % 101);
}

// ms for ask and tell together.
static double time_generation(evolution *e, double *fitness) {
    hox_error error = HOX_ERROR_INIT;
    const population *p;
    const uint64_t asked = clock_ns();
    succeed(evolution_ask(e, &p, &error), &error);
    double seconds = clock_seconds_since(asked);
    for (size_t i = 0; i < p->count; i++)
        fitness[i] = fake_fitness(p->items[i].genome);
    const uint64_t told = clock_ns();
    evolution_tell(e, fitness);
    seconds += clock_seconds_since(told);
    return seconds * 1e3;
}

static int compare_doubles(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

// ---- what is in memory ----

typedef struct census {
    double edges;          // mean of a genome
    double kernel_mib;     // each kernel once
    double kernel_use;     // genomes that share one, mean
    uint64_t genome_bytes; // nodes, edges and genomes themselves
} census;

static int compare_kernels(const void *a, const void *b) {
    const kernel *left = *(kernel *const *)a, *right = *(kernel *const *)b;
    return left < right ? -1 : left > right;
}

static census take_census(const population *p) {
    census c = {0};
    size_t edge_count = 0, used = 0, distinct = 0, bytes = 0;
    for (size_t i = 0; i < p->count; i++)
        edge_count += p->items[i].genome->edge_count;
    const kernel **all = calloc(edge_count, sizeof *all);
    require(all != NULL, "out of memory");
    for (size_t i = 0; i < p->count; i++) {
        const genome *g = p->items[i].genome;
        c.genome_bytes +=
            sizeof *g + g->node_count * sizeof *g->nodes + g->edge_count * sizeof *g->edges;
        for (size_t k = 0; k < g->edge_count; k++)
            all[used++] = g->edges[k].kernel;
    }
    qsort(all, used, sizeof *all, compare_kernels);
    for (size_t i = 0; i < used; i++) {
        if (i > 0 && all[i] == all[i - 1]) continue;
        distinct++;
        bytes += sizeof **all + kernel_value_count(all[i]) * sizeof(float);
    }
    free(all);
    c.edges = (double)edge_count / (double)p->count;
    c.kernel_mib = (double)bytes / 0x1p20;
    c.kernel_use = (double)edge_count / (double)distinct;
    return c;
}

// Without what was freed.
static double resident_mib(void) {
    malloc_trim(0);
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long size = 0, resident = 0;
    if (!file || fscanf(file, "%lu %lu", &size, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 0x1p20;
}

static void check(const population *p, const settings *s) {
    require(p->count == (size_t)s->evolution.population_size, "the population has another size");
    for (size_t i = 0; i < p->count; i += 97) {
        hox_error error = HOX_ERROR_INIT;
        const genome *g = p->items[i].genome;
        succeed(genome_validate(g, (uint32_t)s->limits.max_kernel, &error), &error);
        require(g->edge_count <= (size_t)s->limits.max_edges, "a genome is too large");
        require(kernel_value_count(g->edges[0].kernel) == 84, "a kernel is not 3 x 3 x 3 x 3");
    }
}

static void run_case(size_t index) {
    const settings s = make_settings(cases[index].population_size);
    const double resident_before = resident_mib();
    double *fitness = calloc((size_t)s.evolution.population_size, sizeof *fitness), times[RUNS];
    require(fitness != NULL, "out of memory");
    evolution *e = grown_evolution(&s);
    const population *p = &evolution_state_of(e)->population;
    for (int i = 0; i < WARM_UP; i++) {
        time_generation(e, fitness);
        check(p, &s);
    }
    for (int i = 0; i < RUNS; i++)
        times[i] = time_generation(e, fitness);
    check(p, &s);
    qsort(times, RUNS, sizeof *times, compare_doubles);
    const census c = take_census(p);
    require(c.edges > 0.9 * EDGES && c.edges < 1.1 * EDGES, "the genomes have another size");
    printf("%10lld %6.1f %8zu %9.1f %8.1f %8.1f %8.0f %10.1f %12.1f %8.1f %9.1f\n",
           (long long)s.evolution.population_size, c.edges, evolution_state_of(e)->species.count,
           times[RUNS / 2], times[0], times[RUNS - 1], cases[index].target_ms,
           resident_mib() - resident_before, c.kernel_mib, c.kernel_use,
           (double)c.genome_bytes / 0x1p20);
    evolution_destroy(e);
    free(fitness);
}

static void print_cpu(void) {
    char line[256], *name = NULL;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && (name = strchr(line, ':'))) break;
    if (name) name[strcspn(name, "\n")] = '\0';
    printf("CPU: %s; %s\n", name ? name + 2 : "unknown", cpu_instruction_set());
    if (file) fclose(file);
}

int main(void) {
    print_cpu();
    printf("ask and tell, median, least and most of %d generations; sharing = genomes that use one "
           "kernel\n",
           RUNS);
    printf("population  edges  species median/ms    least     most   target resident/MiB "
           "kernels/MiB  sharing rest/MiB\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_case(i);
    return 0;
}
