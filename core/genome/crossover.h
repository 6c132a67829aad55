// crossover.h - a child of two parents (Stanley and Miikkulainen 2002, section 3.2; SPEC 5).
#pragma once

#include "genome/genome.h"

// Matching genes (same innovation) take the whole kernel of either parent, at random; all others
// are the fitter's. A gene disabled in either parent is disabled with disabled_rate, whatever flag
// it would have inherited. Enabled are first the genes enabled in the fitter, then the others by
// innovation; one that would close a cycle stays disabled; a child without a path takes the
// fitter's flags. The child has no id yet. Errors: OUT_OF_HOST_MEMORY. [any]
hox_status crossover(const genome *fitter, const genome *other, double disabled_rate, rng *random,
                     genome **child, hox_error *error) HOX_MUST_CHECK;
