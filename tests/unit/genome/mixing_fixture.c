// mixing_fixture.c - see mixing_fixture.h.
#include "mixing_fixture.h"

#include "genome/crossover.h"
#include "genome/distance.h"
#include "genome/validate.h"
#include "mutation_fixture.h"
#include "random.h"
#include "soundness_fixture.h"

#include <criterion/criterion.h>

enum { POOL = 12 };

typedef struct mixing {
    mutation_fixture f;
    test_random random;
    meanings *m;
    genome *pool[POOL];
    uint32_t crossing_count, mixed_count;
} mixing;

static void draw_limits(mixing *x) {
    static const int64_t nodes[] = {3, 6, 20, 64}, edges[] = {3, 8, 30, 256}, sides[] = {8, 12, 32};
    static const hox_int_list channels[] = {{1, {2}}, {3, {1, 2, 3}}};
    genome_config *l = &x->f.limits;
    l->max_nodes = nodes[random_below(&x->random, 4)];
    l->max_edges = edges[random_below(&x->random, 4)];
    l->max_kernel = sides[random_below(&x->random, 3)];
    l->allowed_channels = channels[random_below(&x->random, 2)];
    l->same3 = (int32_t)random_below(&x->random, 2);
    l->stride2 = (int32_t)random_below(&x->random, 2);
    l->output_size = (hox_int_list){3, {1 + random_below(&x->random, 3), 1, 1}};
}

static void draw_rates(mixing *x) {
    x->f.rates.weights = 0.3;
    for (uint32_t i = 1; i < MUTATION_COUNT; i++)
        *rate_of(&x->f, i) = random_below(&x->random, 10) / 80.0;
    x->f.rates.add_edge = 0.2;
    x->f.rates.add_node = x->f.rates.toggle_edge = 0.15;
    x->f.rates.split_keeps_edge = (int32_t)random_below(&x->random, 2);
}

static void mixing_init(mixing *x, uint64_t seed) {
    *x = (mixing){.random = {seed}, .m = meanings_create()};
    mutation_init(&x->f, seed);
    draw_limits(x);
    draw_rates(x);
    const map_size input =
        SIZE(1 + random_below(&x->random, 2), 4 + random_below(&x->random, 5), 4);
    for (int i = 0; i < POOL; i++)
        x->pool[i] = start_genome(&x->f, input);
}

static void mixing_deinit(mixing *x) {
    for (int i = 0; i < POOL; i++)
        genome_destroy(x->pool[i]);
    meanings_destroy(x->m);
    mutation_deinit(&x->f);
}

static const genome_edge *gene_of(const genome *g, uint64_t innovation) {
    for (size_t i = 0; i < g->edge_count; i++)
        if (g->edges[i].innovation == innovation) return &g->edges[i];
    return NULL;
}

static bool has_flags_of(const genome *child, const genome *fitter) {
    for (size_t i = 0; i < child->edge_count; i++)
        if (child->edges[i].is_enabled != fitter->edges[i].is_enabled) return false;
    return true;
}

static void check_nodes(const genome *child, const genome *fitter) {
    cr_assert_eq(child->node_count, fitter->node_count);
    for (size_t i = 0; i < child->node_count; i++)
        cr_assert(child->nodes[i].id == fitter->nodes[i].id &&
                  child->nodes[i].activation == fitter->nodes[i].activation);
}

static void check_child(mixing *x, const genome *child, const genome *fitter, const genome *other,
                        double disabled_rate) {
    const bool may_have_fallen_back = has_flags_of(child, fitter);
    check_nodes(child, fitter);
    cr_assert_eq(child->edge_count, fitter->edge_count);
    for (size_t i = 0; i < child->edge_count; i++) {
        const genome_edge *edge = &child->edges[i], *own = &fitter->edges[i];
        const genome_edge *match = gene_of(other, edge->innovation);
        cr_assert_eq(edge->innovation, own->innovation);
        cr_assert(edge->kernel == own->kernel || (match && edge->kernel == match->kernel));
        x->mixed_count += edge->kernel != own->kernel;
        if (may_have_fallen_back) continue;
        const bool is_disabled = !own->is_enabled || (match && !match->is_enabled);
        if (!is_disabled || (disabled_rate == 0.0 && own->is_enabled))
            cr_assert(edge->is_enabled, "%u -> %u", edge->from, edge->to);
        if (is_disabled && disabled_rate == 1.0) cr_assert_not(edge->is_enabled);
    }
}

static genome *cross_two(mixing *x, uint32_t turn) {
    static const double rates[] = {0.0, 0.75, 1.0};
    const double rate = rates[random_below(&x->random, 3)];
    const genome *fitter = x->pool[random_below(&x->random, POOL)];
    const genome *other = x->pool[random_below(&x->random, POOL)];
    rng random = rng_stream(x->f.seed, turn, 0, RNG_PURPOSE_CROSSOVER);
    genome *child;
    cr_assert_eq(crossover(fitter, other, rate, &random, &child, NULL), HOX_OK);
    check_child(x, child, fitter, other, rate);
    x->crossing_count++;
    return child;
}

static void check_distance(mixing *x, const genome *g) {
    static const distance_config config = {1.0, 1.0, 0.4};
    const genome *other = x->pool[random_below(&x->random, POOL)];
    const double distance = distance_between(g, other, &config);
    cr_assert(distance >= 0.0 && distance <= 1.0 * 2 + 0.4 * 2, "%g", distance);
    cr_assert_eq(distance_between(other, g, &config), distance);
    cr_assert_eq(distance_between(g, g, &config), 0.0);
}

void check_mixing(uint64_t seed, uint32_t genome_count) {
    mixing x;
    hox_error error = HOX_ERROR_INIT;
    mixing_init(&x, seed);
    for (uint32_t turn = 0; turn < genome_count; turn++) {
        const bool is_crossing = random_below(&x.random, 3) == 0;
        genome *g = is_crossing ? cross_two(&x, turn)
                                : genome_copy(x.pool[random_below(&x.random, POOL)], NULL);
        if (!is_crossing) mutate_next(&x.f, &g);
        check_sound(g, &x.f.limits, x.m);
        cr_assert_eq(genome_validate(g, (uint32_t)x.f.limits.max_kernel, &error), HOX_OK, "%s",
                     error.message);
        check_distance(&x, g);
        const uint32_t place = random_below(&x.random, POOL);
        genome_destroy(x.pool[place]);
        x.pool[place] = g;
    }
    cr_expect(x.crossing_count > 0 && x.mixed_count > 0, "nothing was mixed");
    mixing_deinit(&x);
}
