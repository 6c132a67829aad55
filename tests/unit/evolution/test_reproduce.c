// test_reproduce.c - the first generation, and the next: who is whose child.
#include "evolution/reproduce.h"

#include "evolution_fixture.h"
#include "genome/validate.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(reproduce, starts_with_one_edge_and_a_draw_of_its_own_each) {
    settings s = default_settings(8);
    s.limits.output_size = (hox_int_list){3, {2, 3, 1}};
    s.limits.output_activation = HOX_ACTIVATION_TANH;
    s.limits.output_readout = HOX_READOUT_MEAN;
    evolution *e = evolve_with(&s, 5);
    const population *p = ask(e);
    cr_assert_eq(p->count, 8);
    for (size_t i = 0; i < 8; i++) {
        const genome *g = p->items[i].genome;
        cr_expect_eq(genome_validate(g, 32, NULL), HOX_OK);
        cr_expect(g->id == i + 1 && g->parent_id == 0);
        cr_expect(!p->items[i].is_elite && !p->items[i].has_fitness);
        cr_assert(g->node_count == 2 && g->edge_count == 1);
        cr_expect(map_size_equals(g->nodes[0].size, SIZE(1, 4, 4)));
        cr_expect(map_size_equals(g->nodes[1].size, SIZE(2, 3, 1)));
        cr_expect(g->nodes[1].activation == HOX_ACTIVATION_TANH && g->readout == HOX_READOUT_MEAN);
        cr_expect(g->edges[0].is_enabled && g->edges[0].innovation == 1);
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(memcmp(g->edges[0].kernel->values,
                                 p->items[k].genome->edges[0].kernel->values, 8 * sizeof(float)),
                          0, "%zu and %zu", i, k);
    }
    evolution_destroy(e);
}

Test(reproduce, start_kernels_have_the_deviation_of_their_shape) {
    const settings s = default_settings(200);
    evolution *e = evolve_with(&s, 6);
    const population *p = ask(e);
    double square = 0.0;
    for (size_t i = 0; i < p->count; i++) {
        const float *values = p->items[i].genome->edges[0].kernel->values;
        for (int k = 0; k < 48; k++) // 3 x 1 x 4 x 4, then the bias
            square += (double)values[k] * values[k];
        cr_expect(values[48] == 0.0F && values[49] == 0.0F && values[50] == 0.0F);
    }
    // sigma^2 = 2 / 16
    cr_expect(fabs(square / 9600.0 / 0.125 - 1.0) < 5.0 * sqrt(2.0 / 9600.0), "%g", square / 9600);
    evolution_destroy(e);
}

Test(reproduce, what_a_slot_starts_with_does_not_depend_on_the_others) {
    const settings small = default_settings(3), large = default_settings(9);
    evolution *a = evolve_with(&small, 7), *b = evolve_with(&large, 7);
    const population *p = ask(a), *q = ask(b);
    for (size_t i = 0; i < 3; i++)
        cr_expect(genome_is_same(p->items[i].genome, q->items[i].genome));
    evolution_destroy(a);
    evolution_destroy(b);
}

static hox_status start_on(const settings *s, map_size input, hox_error *error) {
    evolution *e;
    const population *p;
    cr_assert_eq(evolution_create(&s->evolution, &s->mutation, &s->limits, 1, input, &e, error),
                 HOX_OK);
    const hox_status status = evolution_ask(e, &p, error);
    evolution_destroy(e);
    return status;
}

// max_kernel 0: the larger of 32 and the image side.
Test(reproduce, needs_an_edge_over_the_whole_image) {
    settings s = default_settings(2);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(start_on(&s, SIZE(1, 40, 5), &error), HOX_OK);
    cr_expect_eq(start_on(&s, SIZE(1, 5, 40), &error), HOX_OK);
    s.limits.max_kernel = 40;
    cr_expect_eq(start_on(&s, SIZE(1, 40, 40), &error), HOX_OK);
    s.limits.max_kernel = 39;
    cr_expect_eq(start_on(&s, SIZE(1, 40, 5), &error), HOX_BAD_OPTION);
    cr_expect(strstr(error.message, "max_kernel") && strstr(error.message, "40"), "%s",
              error.message);
}

// ---- the next generation ----

typedef struct nursery {
    settings s;
    innovation_table *innovations;
    uint64_t next_id;
    reproduction how;
    population parents;
} nursery;

// The individual in slot i is as fit as i; ids from 1.
static void nursery_init(nursery *n, int64_t size) {
    *n = (nursery){.s = default_settings(size), .next_id = 1};
    n->innovations = innovation_table_create(NULL);
    n->how = (reproduction){&n->s.evolution, &n->s.mutation, &n->s.limits, n->innovations, 11, 0,
                            &n->next_id};
    n->s.limits.max_kernel = 32;
    cr_assert_eq(reproduce_start(&n->how, SIZE(1, 4, 4), &n->parents, NULL), HOX_OK);
    for (size_t i = 0; i < n->parents.count; i++) {
        n->parents.items[i].has_fitness = true;
        n->parents.items[i].fitness = (double)i;
    }
    n->how.generation = 1;
}

static void nursery_deinit(nursery *n) {
    population_deinit(&n->parents);
    innovation_table_destroy(n->innovations);
}

Test(reproduce, parents_are_drawn_evenly_from_the_fittest_share) {
    nursery n;
    population children;
    nursery_init(&n, 1000);
    n.s.evolution.survival = 0.01; // ids 991 .. 1000
    cr_assert_eq(reproduce_next(&n.how, &n.parents, &children, NULL), HOX_OK);
    cr_assert_eq(children.count, 1000);
    int counts[1001] = {0};
    for (size_t i = 1; i < 1000; i++)
        counts[children.items[i].genome->parent_id]++;
    for (size_t id = 0; id <= 1000; id++)
        if (id <= 990)
            cr_expect_eq(counts[id], 0, "%zu", id);
        else
            cr_expect(abs(counts[id] - 100) < 5 * sqrt(90.0), "%zu: %d", id, counts[id]);
    population_deinit(&children);
    nursery_deinit(&n);
}

Test(reproduce, the_champion_stays_as_it_is) {
    nursery n;
    population children;
    nursery_init(&n, 5);
    n.parents.items[2].fitness = 100.0;
    const genome *champion = n.parents.items[2].genome;
    cr_assert_eq(reproduce_next(&n.how, &n.parents, &children, NULL), HOX_OK);
    const individual *elite = &children.items[0];
    cr_expect(elite->is_elite && !elite->birth.has_new_weights && !elite->birth.change);
    cr_expect(elite->genome->id == champion->id && elite->genome->parent_id == champion->parent_id);
    cr_expect(genome_is_same(elite->genome, champion));
    for (size_t i = 1; i < 5; i++)
        cr_expect(!children.items[i].is_elite && children.items[i].genome->id == 5 + i);
    cr_expect_eq(n.next_id, 10);
    population_deinit(&children);
    nursery_deinit(&n);
}

Test(reproduce, the_record_says_what_happened) {
    nursery n;
    population children;
    nursery_init(&n, 400);
    n.s.mutation.weights = 0.5;
    cr_assert_eq(reproduce_next(&n.how, &n.parents, &children, NULL), HOX_OK);
    int same_count = 0;
    for (size_t i = 1; i < 400; i++) {
        const individual *child = &children.items[i];
        const genome *parent = n.parents.items[child->genome->parent_id - 1].genome;
        const bool is_same = !child->birth.has_new_weights && !child->birth.has_new_structure;
        cr_expect_eq(genome_is_same(child->genome, parent), is_same, "slot %zu", i);
        same_count += is_same;
    }
    cr_expect(same_count > 50 && same_count < 250, "%d", same_count);
    population_deinit(&children);
    nursery_deinit(&n);
}

Test(reproduce, a_slot_does_not_depend_on_the_slots_before_it) {
    nursery n;
    population few, many;
    nursery_init(&n, 50);
    cr_assert_eq(reproduce_next(&n.how, &n.parents, &many, NULL), HOX_OK);
    n.s.evolution.population_size = 20;
    cr_assert_eq(reproduce_next(&n.how, &n.parents, &few, NULL), HOX_OK);
    for (size_t i = 0; i < 20; i++) {
        cr_expect(genome_is_same(few.items[i].genome, many.items[i].genome), "slot %zu", i);
        cr_expect_eq(few.items[i].genome->parent_id, many.items[i].genome->parent_id);
    }
    population_deinit(&few);
    population_deinit(&many);
    nursery_deinit(&n);
}
