// stagnation.h - which species may go on.
#pragma once

#include "evolution/species.h"

// is_active[i]: species i of the set has improved in the last stagnation generations, or is one of
// the protected best (by best fitness ever, ties to the lower id). [any]
void stagnation_judge(const species_set *set, const species_config *config, uint32_t generation,
                      bool *is_active);
