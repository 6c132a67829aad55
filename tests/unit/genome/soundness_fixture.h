// soundness_fixture.h - what must hold of every genome of a run, checked without the code that
// keeps it so. Whatever fails ends the test.
#pragma once

#include "genome/genome.h"

// What the numbers of a run stood for when they were first seen.
typedef struct meanings meanings;

meanings *meanings_create(void);
void meanings_destroy(meanings *m);

// Nodes and innovations rise strictly; ends exist; no (from, to) twice; enabled edges make no
// cycle; geometry is what the rules give, kernels have its shape and finite values; sizes,
// numbers and (from, to) mean what they meant before; limits are kept; no node without a gene;
// a path leads from input to output.
void check_sound(const genome *g, const genome_config *limits, meanings *m);
