// readout.h - how the output map becomes one logit.
#pragma once

#include <stddef.h>
#include <stdint.h>

// kind: HOX_READOUT_*. scratch: count floats, touched only by the median.
float readout_logit(uint32_t kind, const float *map, size_t count, float *scratch);

// The derivatives of a loss by the map's values, from its derivative by the logit; a median's goes
// to the lowest index that holds it (SPEC 2). scratch as above.
void readout_gradient(uint32_t kind, const float *map, size_t count, float dlogit, float *gradient,
                      float *scratch);
