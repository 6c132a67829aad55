// test_evolution.c - ask and tell over whole runs with a toy for a fitness.
#include "evolution/evolution.h"

#include "evolution_fixture.h"
#include "genome/validate.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

Test(evolution, gives_the_same_generation_until_it_is_told) {
    const settings s = default_settings(6);
    evolution *e = evolve_with(&s, 1);
    cr_expect_null(evolution_champion(e));
    const population *p = ask(e);
    const genome *first = p->items[0].genome;
    cr_expect_eq(evolution_generation(e), 0);
    cr_expect_null(evolution_champion(e));
    cr_expect_eq(ask(e)->items[0].genome, first);
    cr_expect_eq(evolution_generation(e), 0);
    tell_toy(e, p);
    cr_expect_eq(evolution_generation(e), 0);
    p = ask(e);
    cr_expect_eq(evolution_generation(e), 1);
    cr_expect_eq(p->items[1].genome->id, 7);
    cr_expect_eq(ask(e)->items[1].genome->id, 7);
    cr_expect_eq(evolution_generation(e), 1);
    evolution_destroy(e);
    evolution_destroy(NULL);
}

Test(evolution, configurations_are_copied) {
    settings s = default_settings(3);
    evolution *e = evolve_with(&s, 1);
    s = (settings){0};
    tell_toy(e, ask(e));
    cr_expect_eq(ask(e)->count, 3);
    evolution_destroy(e);
}

static void expect_champion_first(const population *p, const genome *champion, uint64_t id) {
    cr_assert(p->items[0].is_elite);
    cr_assert_eq(p->items[0].genome->id, id);
    cr_assert(genome_is_same(p->items[0].genome, champion));
    for (size_t i = 1; i < p->count; i++)
        cr_assert_not(p->items[i].is_elite);
}

Test(evolution, the_best_never_falls_and_its_genome_stays) {
    const settings s = default_settings(20);
    evolution *e = evolve_with(&s, 2);
    double first = 0.0, best = -INFINITY;
    for (uint32_t generation = 0; generation < 30; generation++) {
        const population *p = ask(e);
        const double told = tell_toy(e, p);
        cr_assert_geq(told, best, "generation %u: %g after %g", generation, told, best);
        best = told;
        if (generation == 0) first = best;
        const individual *champion = evolution_champion(e);
        cr_assert(champion->has_fitness && champion->fitness == best);
        genome *kept = genome_copy(champion->genome, NULL);
        const uint64_t id = kept->id;
        expect_champion_first(ask(e), kept, id);
        genome_destroy(kept);
    }
    cr_expect_gt(best, first, "30 generations bring nothing");
    evolution_destroy(e);
}

Test(evolution, the_champion_is_the_fittest_then_the_smallest_then_the_oldest) {
    const settings s = default_settings(5);
    evolution *e = evolve_with(&s, 3);
    const population *p = ask(e);
    evolution_tell(e, (const double[]){0.5, 0.7, INFINITY, 0.7, NAN});
    cr_expect_eq(evolution_champion(e), &p->items[1]);
    cr_expect(!p->items[2].has_fitness && !p->items[4].has_fitness, "an infinite one is none");
    cr_expect(p->items[3].has_fitness && p->items[3].fitness == 0.7);
    cr_expect_eq(ask(e)->items[0].genome->id, 2);
    evolution_destroy(e);
}

Test(evolution, goes_on_where_nobody_has_a_fitness) {
    const settings s = default_settings(7);
    const double nobody[7] = {NAN, NAN, INFINITY, -INFINITY, NAN, NAN, NAN};
    evolution *e = evolve_with(&s, 4);
    for (uint32_t generation = 0; generation < 5; generation++) {
        const population *p = ask(e);
        cr_assert_eq(p->count, 7);
        // Equal but for genes and ids: the first one has the fewest and the lowest.
        cr_expect_eq(p->items[0].genome->id, 1);
        evolution_tell(e, nobody);
        cr_expect_not(evolution_champion(e)->has_fitness);
        cr_expect_eq(evolution_champion(e)->genome->id, 1);
    }
    evolution_destroy(e);
}

static void run_size(int64_t size) {
    const settings s = default_settings(size);
    evolution *e = evolve_with(&s, 5);
    uint64_t next_id = 1;
    double best = -INFINITY;
    for (uint32_t generation = 0; generation < 8; generation++) {
        const population *p = ask(e);
        cr_assert_eq(p->count, (size_t)size);
        for (size_t i = 0; i < p->count; i++) {
            const genome *g = p->items[i].genome;
            cr_assert_eq(genome_validate(g, 32, NULL), HOX_OK);
            if (!p->items[i].is_elite) cr_assert_eq(g->id, next_id++, "ids rise, slot by slot");
        }
        const double told = tell_toy(e, p);
        cr_assert_geq(told, best);
        best = told;
    }
    cr_expect_eq(next_id, 1 + (uint64_t)size + 7 * ((uint64_t)size - 1));
    evolution_destroy(e);
}

Test(evolution, runs_in_any_size) {
    run_size(1);
    run_size(2);
    run_size(3);
    run_size(7);
}

static bool is_same_population(const population *p, const population *q) {
    for (size_t i = 0; i < p->count; i++) {
        const individual *a = &p->items[i], *b = &q->items[i];
        if (a->genome->id != b->genome->id || a->genome->parent_id != b->genome->parent_id ||
            a->is_elite != b->is_elite || a->birth.change != b->birth.change ||
            a->birth.failed_count != b->birth.failed_count ||
            a->birth.has_new_weights != b->birth.has_new_weights ||
            a->birth.has_new_structure != b->birth.has_new_structure ||
            !genome_is_same(a->genome, b->genome))
            return false;
    }
    return p->count == q->count;
}

Test(evolution, the_same_seed_is_the_same_run) {
    settings s = default_settings(15);
    s.mutation.add_edge = s.mutation.add_node = 0.3;
    evolution *a = evolve_with(&s, 6), *b = evolve_with(&s, 6);
    evolution *others[] = {evolve_with(&s, 7), evolve_with(&s, 6 + (UINT64_C(1) << 32))};
    for (uint32_t generation = 0; generation < 12; generation++) {
        const population *p = ask(a), *q = ask(b);
        cr_assert(is_same_population(p, q), "generation %u", generation);
        for (int i = 0; i < 2; i++) {
            const population *other = ask(others[i]);
            cr_assert_not(genome_is_same(p->items[3].genome, other->items[3].genome));
            tell_toy(others[i], other);
        }
        tell_toy(a, p);
        tell_toy(b, q);
    }
    for (int i = 0; i < 2; i++)
        evolution_destroy(others[i]);
    evolution_destroy(a);
    evolution_destroy(b);
}

enum { MOST_NODES = 400, MOST_EDGES = 4000 };

// What the numbers of a run stood for when they were first seen; 0 = not seen.
typedef struct meanings {
    map_size sizes[MOST_NODES];
    struct {
        uint32_t from, to;
    } ends[MOST_EDGES];
    uint64_t numbers[MOST_NODES][MOST_NODES]; // innovation by from and to
} meanings;

static void check_nodes(const genome *g, meanings *m) {
    for (size_t i = 0; i < g->node_count; i++) {
        const genome_node *node = &g->nodes[i];
        cr_assert_lt(node->id, MOST_NODES);
        if (!m->sizes[node->id].channels) m->sizes[node->id] = node->size;
        cr_assert(map_size_equals(m->sizes[node->id], node->size));
    }
}

static void check_edges(const genome *g, meanings *m) {
    for (size_t i = 0; i < g->edge_count; i++) {
        const genome_edge *edge = &g->edges[i];
        cr_assert_lt(edge->innovation, MOST_EDGES);
        uint64_t *number = &m->numbers[edge->from][edge->to];
        if (!*number) {
            *number = edge->innovation;
            cr_assert_eq(m->ends[*number].to, 0, "%u -> %u has the number of another edge",
                         edge->from, edge->to);
            m->ends[*number].from = edge->from;
            m->ends[*number].to = edge->to;
        }
        cr_assert_eq(*number, edge->innovation, "%u -> %u has two numbers", edge->from, edge->to);
    }
}

Test(evolution, numbers_mean_the_same_in_all_genomes_of_a_run) {
    settings s = default_settings(30);
    s.mutation.add_edge = s.mutation.add_node = s.mutation.resize_node = 0.25;
    evolution *e = evolve_with(&s, 8);
    meanings *m = calloc(1, sizeof *m);
    size_t most_edges = 0;
    for (uint32_t generation = 0; generation < 15; generation++) {
        const population *p = ask(e);
        for (size_t i = 0; i < p->count; i++) {
            const genome *g = p->items[i].genome;
            check_nodes(g, m);
            check_edges(g, m);
            if (g->edge_count > most_edges) most_edges = g->edge_count;
        }
        tell_toy(e, p);
    }
    cr_expect_gt(most_edges, 3, "nothing grew");
    free(m);
    evolution_destroy(e);
}
