// lineage.h - what each operator was good for.
#pragma once

#include "evolution/population.h"

enum { LINEAGE_WEIGHTS = MUTATION_COUNT, LINEAGE_CROSSOVER, LINEAGE_COUNT }; // behind MUTATION_*
extern const char *const lineage_names[LINEAGE_COUNT];                       // "none" = a copy

typedef struct lineage_row {
    uint64_t children; // made by it, with others maybe
    uint64_t survived; // of them, were allowed to be parents
    uint64_t best;     // of them, were better than all before
} lineage_row;

typedef struct lineage {
    lineage_row rows[LINEAGE_COUNT];
} lineage;

// Which rows a child counts in. Elites and the first generation count in none.
void lineage_rows_of(const individual *one, bool rows[LINEAGE_COUNT]);

void lineage_note_children(lineage *l, const population *p);  // when they are born
void lineage_note_survivors(lineage *l, const population *p); // when their children are
void lineage_note_best(lineage *l, const individual *one);
