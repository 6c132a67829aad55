// test_lineage.c - which operators a child counts for, and when.
#include "evolution/lineage.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
    uint64_t parent;
    mutation_record birth;
    bool is_crossover, is_elite, is_parent;
    const char rows[LINEAGE_COUNT + 1]; // none, MUTATION_* from 1, weights, crossover
} cases[] = {
    {0, {0}, false, false, true, "00000000000"}, // the first generation
    {4, {0}, false, false, true, "10000000000"}, // a mere copy
    {4, {.has_new_weights = true}, false, false, false, "00000000010"},
    {4, {.has_new_weights = true}, true, false, true, "00000000011"},
    {4, {0}, true, false, false, "00000000001"},
    {4,
     {.change = MUTATION_ADD_NODE, .has_new_structure = true},
     false,
     false,
     true,
     "00100000000"},
    {4, {true, MUTATION_ACTIVATION, 3, true}, true, false, false, "00000000111"},
    {4, {true, MUTATION_ADD_EDGE, 20, false}, false, false, false, "00000000010"},
    {4, {false, MUTATION_ADD_EDGE, 20, false}, false, false, true, "10000000000"}, // in vain
    {4, {0}, false, true, true, "00000000000"},                                    // an elite
    {4, {0}, true, true, true, "00000000000"},
};
enum { COUNT = sizeof cases / sizeof *cases };

static void make_all(individual items[COUNT], genome genomes[COUNT]) {
    for (size_t i = 0; i < COUNT; i++) {
        genomes[i] = (genome){.id = i + 1, .parent_ids = {cases[i].parent}};
        items[i] = (individual){.genome = &genomes[i],
                                .birth = cases[i].birth,
                                .is_crossover = cases[i].is_crossover,
                                .is_elite = cases[i].is_elite,
                                .is_parent = cases[i].is_parent};
    }
}

Test(lineage, a_child_counts_for_all_that_made_it) {
    individual items[COUNT];
    genome genomes[COUNT];
    make_all(items, genomes);
    for (size_t i = 0; i < COUNT; i++) {
        bool rows[LINEAGE_COUNT];
        lineage_rows_of(&items[i], rows);
        for (int k = 0; k < LINEAGE_COUNT; k++)
            cr_expect_eq(rows[k], cases[i].rows[k] == '1', "case %zu: %s", i, lineage_names[k]);
    }
}

Test(lineage, names_follow_the_mutations) {
    for (int i = 1; i < MUTATION_COUNT; i++)
        cr_expect_str_eq(lineage_names[i], mutation_names[i]);
    cr_expect_str_eq(lineage_names[LINEAGE_WEIGHTS], "weights");
    cr_expect_str_eq(lineage_names[LINEAGE_CROSSOVER], "crossover");
}

Test(lineage, children_survivors_and_bests_are_counted_apart) {
    individual items[COUNT];
    genome genomes[COUNT];
    lineage l = {0};
    make_all(items, genomes);
    const population p = {items, COUNT};
    lineage_note_children(&l, &p);
    lineage_note_children(&l, &p);
    lineage_note_survivors(&l, &p);
    lineage_note_best(&l, &items[6]);
    for (int k = 0; k < LINEAGE_COUNT; k++) {
        uint64_t children = 0, survived = 0;
        for (size_t i = 0; i < COUNT; i++) {
            children += cases[i].rows[k] == '1';
            survived += cases[i].rows[k] == '1' && cases[i].is_parent;
        }
        cr_expect_eq(l.rows[k].children, 2 * children, "%s", lineage_names[k]);
        cr_expect_eq(l.rows[k].survived, survived, "%s", lineage_names[k]);
        cr_expect_eq(l.rows[k].best, cases[6].rows[k] == '1', "%s", lineage_names[k]);
    }
    cr_expect(l.rows[LINEAGE_WEIGHTS].children == 8 && l.rows[MUTATION_NONE].survived == 2);
}
