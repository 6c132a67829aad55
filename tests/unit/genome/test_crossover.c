// test_crossover.c - a child of two: an example worked out by hand, and what chance must do.
#include "genome/crossover.h"

#include "genome/validate.h"
#include "genome_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef struct gene {
    uint64_t innovation;
    uint32_t from, to;
    bool is_enabled;
} gene;

// Nodes by need, all of 1 x 1 pixel; weight and bias are the innovation plus mark.
static genome *genome_with(const gene *genes, size_t gene_count, uint32_t activation, float mark) {
    genome *g = genome_of(SIZE(1, 1, 1), SIZE(1, 1, 1));
    for (size_t i = 0; i < gene_count; i++) {
        const gene one = genes[i];
        if (!genome_find_node(g, one.from)) put_node(g, one.from, SIZE(1, 1, 1), activation);
        if (!genome_find_node(g, one.to)) put_node(g, one.to, SIZE(1, 1, 1), activation);
        genome_edge *edge = put_edge(g, one.innovation, one.from, one.to);
        edge->is_enabled = one.is_enabled;
        edge->kernel->values[0] = edge->kernel->values[1] = (float)one.innovation + mark;
    }
    return g;
}
#define GENOME(genes, activation, mark)                                                            \
    genome_with(genes, sizeof(genes) / sizeof *(genes), activation, mark)

static genome *cross(const genome *fitter, const genome *other, double rate, rng *random) {
    genome *child;
    cr_assert_eq(crossover(fitter, other, rate, random, &child, NULL), HOX_OK);
    return child;
}

static genome *cross_at(const genome *fitter, const genome *other, double rate, uint32_t place) {
    rng random = rng_stream(77, 0, place, RNG_PURPOSE_CROSSOVER);
    return cross(fitter, other, rate, &random);
}

// ---- by hand ----

static const gene fitter_genes[] = {
    {1, 0, 1, true}, {2, 0, 2, false}, {3, 2, 1, true},  {5, 2, 3, true},
    {6, 3, 1, true}, {8, 3, 2, false}, {10, 0, 3, true},
};
static const gene other_genes[] = {
    {1, 0, 1, true}, {2, 0, 2, true},  {3, 2, 1, false}, {4, 0, 4, true},
    {5, 2, 3, true}, {6, 3, 1, false}, {7, 4, 1, true},  {9, 4, 3, true},
};

// The stream's words in the order they are asked for. A match asks for one word, odd = the other's
// kernel; a gene disabled in either parent for two, disabled where the first is below 0.75 * 2^32 =
// 0xc0000000.
static const uint32_t words[] = {
    0xe62202a5,             // 1: the other's
    0xe0fe4ed2,             // 2: the fitter's,
    0xdfff75f4, 0x34b6eae2, //    disabled in the fitter: enabled
    0x366236fb,             // 3: the other's,
    0x99b183da, 0x65ce7692, //    disabled in the other: disabled
    0x659d568e,             // 5: the fitter's
    0x7e8282b9,             // 6: the other's,
    0xf09a9c55, 0x9c59bea0, //    disabled in the other: enabled
    0xf3b43739, 0x51f023b6, // 8: disjoint, disabled in the fitter: enabled, were 5 not against it
};                          // 10: excess
static const struct {
    gene gene;
    float value; // .25 = the fitter's, .5 = the other's
} expected[] = {
    {{1, 0, 1, true}, 1.5F},    {{2, 0, 2, true}, 2.25F}, {{3, 2, 1, false}, 3.5F},
    {{5, 2, 3, true}, 5.25F},   {{6, 3, 1, true}, 6.5F},  {{8, 3, 2, false}, 8.25F},
    {{10, 0, 3, true}, 10.25F},
};

Test(crossover, an_example_by_hand) {
    genome *fitter = GENOME(fitter_genes, HOX_ACTIVATION_RELU, 0.25F);
    genome *other = GENOME(other_genes, HOX_ACTIVATION_TANH, 0.5F);
    fitter->id = 6;
    fitter->readout = HOX_READOUT_MEAN;
    rng random = rng_stream(1452, 0, 0, RNG_PURPOSE_CROSSOVER), check = random;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cr_assert_eq(rng_word(&check), words[i], "word %zu", i);
    genome *child = cross(fitter, other, 0.75, &random);
    cr_expect_eq(rng_word(&random), rng_word(&check), "other words were asked for");
    cr_assert_eq(child->edge_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < child->edge_count; i++) {
        const genome_edge *edge = &child->edges[i];
        const gene wanted = expected[i].gene;
        cr_expect(edge->innovation == wanted.innovation && edge->from == wanted.from &&
                  edge->to == wanted.to);
        cr_expect_eq(edge->is_enabled, wanted.is_enabled, "gene %d", (int)wanted.innovation);
        cr_expect_eq(edge->kernel->values[0], expected[i].value, "gene %d", (int)wanted.innovation);
        cr_expect_eq(edge->kernel->values[1], expected[i].value, "gene %d", (int)wanted.innovation);
    }
    cr_expect_eq(child->node_count, 4, "node 4 is the other's alone");
    cr_expect_eq(child->nodes[2].activation, HOX_ACTIVATION_RELU);
    cr_expect_eq(child->readout, HOX_READOUT_MEAN);
    cr_expect_eq(child->edges[0].kernel, other->edges[0].kernel, "kernels are shared");
    cr_expect_eq(atomic_load(&other->edges[0].kernel->reference_count), 2);
    cr_expect_eq(atomic_load(&fitter->edges[0].kernel->reference_count), 1);
    cr_expect_eq(genome_validate(child, 0, NULL), HOX_OK);
    genome_destroy(child);
    cr_expect_eq(atomic_load(&other->edges[0].kernel->reference_count), 1);
    genome_destroy(fitter);
    genome_destroy(other);
}

// ---- chance ----

enum { CHILDREN = 4000 };

static bool is_share(int count, double rate) {
    return fabs(count - CHILDREN * rate) < 5.0 * sqrt(CHILDREN * rate * (1.0 - rate)) + 0.5;
}

// How often each gene of the child is enabled, and has the other's kernel.
static void count_children(const genome *fitter, const genome *other, double rate, int *enabled,
                           int *from_other) {
    for (uint32_t i = 0; i < CHILDREN; i++) {
        genome *child = cross_at(fitter, other, rate, i);
        for (size_t k = 0; k < child->edge_count; k++) {
            enabled[k] += child->edges[k].is_enabled;
            from_other[k] += child->edges[k].kernel != fitter->edges[k].kernel;
        }
        genome_destroy(child);
    }
}

// No two genes of it can make a cycle: all lead from 0 or to 1.
static const gene wide[] = {{1, 0, 1, true},  {2, 0, 2, true},  {3, 0, 3, true}, {4, 0, 4, true},
                            {5, 2, 1, true},  {6, 3, 1, true},  {7, 4, 1, true}, {8, 0, 5, true},
                            {9, 5, 1, false}, {10, 0, 6, true}, {11, 6, 1, true}};

Test(crossover, half_the_kernels_and_the_disabled_rate_instead_of_the_flag) {
    genome *fitter = GENOME(wide, 0, 0.25F), *other = GENOME(wide, 0, 0.5F);
    genome_remove_edge(other, 9);                                     // 10: disjoint
    genome_remove_edge(other, 9);                                     // 11: excess
    fitter->edges[1].is_enabled = false;                              // 2: in the fitter
    other->edges[2].is_enabled = false;                               // 3: in the other
    fitter->edges[3].is_enabled = other->edges[3].is_enabled = false; // 4 and 9: in both
    fitter->edges[10].is_enabled = false;                             // 11: it has no match
    static const double rates[] = {0.75, 0.0, 0.25, 1.0};
    for (size_t r = 0; r < 4; r++) {
        int enabled[11] = {0}, from_other[11] = {0};
        count_children(fitter, other, rates[r], enabled, from_other);
        for (int k = 0; k < 11; k++) {
            const bool is_at_risk = k == 1 || k == 2 || k == 3 || k == 8 || k == 10;
            cr_expect(is_share(enabled[k], is_at_risk ? 1.0 - rates[r] : 1.0),
                      "gene %d at %g: %d enabled", k + 1, rates[r], enabled[k]);
            cr_expect(is_share(from_other[k], k < 9 ? 0.5 : 0.0), "gene %d: %d", k + 1,
                      from_other[k]);
        }
    }
    genome_destroy(fitter);
    genome_destroy(other);
}

// Kernel and flag are drawn apart: all four pairs of them come about.
Test(crossover, flag_and_kernel_do_not_depend_on_each_other) {
    genome *fitter = GENOME(wide, 0, 0.25F), *other = GENOME(wide, 0, 0.5F);
    other->edges[2].is_enabled = false;
    int pairs[2][2] = {{0}};
    for (uint32_t i = 0; i < CHILDREN; i++) {
        genome *child = cross_at(fitter, other, 0.75, i);
        pairs[child->edges[2].kernel == other->edges[2].kernel][child->edges[2].is_enabled]++;
        genome_destroy(child);
    }
    for (int k = 0; k < 2; k++)
        cr_expect(is_share(pairs[k][0], 0.375) && is_share(pairs[k][1], 0.125), "%d %d",
                  pairs[k][0], pairs[k][1]);
    genome_destroy(fitter);
    genome_destroy(other);
}

// ---- flags ----

static void expect_flags(const genome *child, const char *flags) {
    cr_assert_eq(child->edge_count, strlen(flags));
    for (size_t i = 0; i < child->edge_count; i++)
        cr_expect_eq(child->edges[i].is_enabled, flags[i] == '1', "gene %d in %s",
                     (int)child->edges[i].innovation, flags);
}

// At rate 0 every gene is to be enabled; 3 and 4 close a cycle, whoever comes later stays off.
Test(crossover, genes_enabled_in_the_fitter_come_first_then_by_innovation) {
    static const gene earlier_off[] = {
        {1, 0, 2, true}, {2, 3, 1, true}, {3, 2, 3, false}, {4, 3, 2, true}, {5, 0, 3, true}};
    static const gene both_off[] = {
        {1, 0, 2, true}, {2, 2, 1, true}, {3, 2, 3, false}, {4, 3, 2, false}, {5, 3, 1, false}};
    genome *fitter = GENOME(earlier_off, 0, 0.0F), *other = GENOME(earlier_off, 0, 0.0F);
    other->edges[2].is_enabled = true;
    other->edges[3].is_enabled = false;
    genome *child = cross_at(fitter, other, 0.0, 1);
    expect_flags(child, "11011"); // 4 is enabled in the fitter and goes before 3
    genome_destroy(child);
    genome *none = GENOME(both_off, 0, 0.0F);
    child = cross_at(none, none, 0.0, 1);
    expect_flags(child, "11101"); // 3 before 4
    genome_destroy(child);
    genome_destroy(none);
    genome_destroy(fitter);
    genome_destroy(other);
}

// A gene stays off for a cycle only: here 3 -> 2 is wanted, and 2 -> 3 is gone.
Test(crossover, a_gene_that_closes_no_cycle_any_more_is_enabled) {
    static const gene genes[] = {
        {1, 0, 2, true}, {2, 2, 3, true}, {3, 3, 2, false}, {4, 0, 1, true}};
    genome *fitter = GENOME(genes, 0, 0.0F), *other = GENOME(genes, 0, 0.0F);
    other->edges[1].is_enabled = false;
    other->edges[2].is_enabled = true;
    int seen[2][2] = {{0}};
    for (uint32_t i = 0; i < CHILDREN; i++) {
        genome *child = cross_at(fitter, other, 0.5, i);
        seen[child->edges[1].is_enabled][child->edges[2].is_enabled]++;
        cr_assert_eq(genome_validate(child, 0, NULL), HOX_OK);
        genome_destroy(child);
    }
    cr_expect_eq(seen[1][1], 0);
    cr_expect(is_share(seen[1][0], 0.5) && is_share(seen[0][1], 0.25) && is_share(seen[0][0], 0.25),
              "%d %d %d", seen[1][0], seen[0][1], seen[0][0]);
    genome_destroy(fitter);
    genome_destroy(other);
}

// Two ways through the fitter; the other has the first half of one and the second half of the other
// way disabled. At rate 1 nothing leads through the child.
Test(crossover, a_child_without_a_path_takes_the_flags_of_the_fitter) {
    static const gene genes[] = {
        {1, 0, 2, true}, {2, 2, 1, true}, {3, 0, 3, true}, {4, 3, 1, true}, {5, 2, 3, false}};
    genome *fitter = GENOME(genes, 0, 0.0F), *other = GENOME(genes, 0, 1.0F);
    other->edges[0].is_enabled = other->edges[3].is_enabled = false;
    other->edges[4].is_enabled = true;
    for (uint32_t i = 0; i < 20; i++) {
        genome *child = cross_at(fitter, other, 1.0, i);
        expect_flags(child, "11110");
        genome_destroy(child);
    }
    other->edges[3].is_enabled = true; // a way is left
    genome *child = cross_at(fitter, other, 1.0, 1);
    expect_flags(child, "01110");
    genome_destroy(child);
    genome_destroy(fitter);
    genome_destroy(other);
}

Test(crossover, a_fitter_without_a_path_is_a_parent_too) {
    static const gene cut[] = {{1, 0, 1, false}, {2, 0, 2, true}, {3, 2, 1, false}};
    static const gene whole[] = {{1, 0, 1, true}, {2, 0, 2, true}, {3, 2, 1, true}};
    genome *fitter = GENOME(cut, 0, 0.0F), *other = GENOME(whole, 0, 1.0F);
    genome *child = cross_at(fitter, other, 1.0, 3);
    expect_flags(child, "010");
    genome_destroy(child);
    child = cross_at(fitter, other, 0.0, 3);
    expect_flags(child, "111");
    genome_destroy(child);
    genome_destroy(fitter);
    genome_destroy(other);
}

Test(crossover, parents_without_a_common_gene) {
    static const gene low[] = {{1, 0, 1, true}}, high[] = {{2, 0, 2, true}, {3, 2, 1, true}};
    genome *a = GENOME(low, 0, 0.25F), *b = GENOME(high, 0, 0.5F);
    genome *empty = genome_of(SIZE(1, 1, 1), SIZE(1, 1, 1));
    genome *children[] = {cross_at(a, b, 0.75, 0), cross_at(b, a, 0.75, 0), cross_at(a, a, 0.75, 0),
                          cross_at(a, empty, 0.75, 0), cross_at(empty, a, 0.75, 0)};
    const genome *same[] = {a, b, a, a, empty};
    for (int i = 0; i < 5; i++) {
        cr_expect(genome_is_same(children[i], same[i]), "%d", i);
        genome_destroy(children[i]);
    }
    genome_destroy(empty);
    genome_destroy(a);
    genome_destroy(b);
}
