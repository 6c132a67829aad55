// sharing.h - how many children each species gets (explicit fitness sharing: Goldberg and
// Richardson 1987; Stanley and Miikkulainen 2002, section 3.3).
#pragma once

#include "evolution/species.h"

// shares[i] of species i of the set: the mean over its members of fitness - the smallest fitness of
// the population; a member without fitness counts 0. Scaled, all alike, where it would overflow.
// [any]
void sharing_mean_fitness(const species_set *set, const population *p, double *shares);

// Splits total by shares >= 0 with the method of largest remainders, ties to the lower index; a
// total share of 0 is split evenly. Only where is_active. The sum of counts is total exactly,
// unless none is active: then all are 0. [any]
void sharing_allot(const double *shares, const bool *is_active, size_t count, size_t total,
                   size_t *counts);
