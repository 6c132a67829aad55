// validate.h - whether a genome is one; what files may get wrong.
#pragma once

#include "genome/genome.h"

// max_kernel in pixels, 0 = no limit. Errors: INVALID_ARGUMENT naming the node or edge: input or
// output missing, a size of 0 or beyond 65,536, an unknown activation or readout, an enabled edge
// to an unknown node, into the input or out of the output, a geometry that does not fit, a kernel
// of another shape, one that is not finite, (from, to) twice, a cycle among enabled edges. [any]
hox_status genome_validate(const genome *g, uint32_t max_kernel, hox_error *error) HOX_MUST_CHECK;
