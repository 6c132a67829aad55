// readout.h - how the output map becomes one logit.
#pragma once

#include <stddef.h>
#include <stdint.h>

// kind: HOX_READOUT_*. scratch: count floats, touched only by the median.
float readout_logit(uint32_t kind, const float *map, size_t count, float *scratch);
