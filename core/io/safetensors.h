// safetensors.h - the weights of a genome for other tools, in the format of
// https://github.com/huggingface/safetensors: eight bytes of header length, a JSON header, raw
// data.
#pragma once

#include "genome/genome.h"

// Tensors "edge.<innovation>.weight" F32 [Cout, Cin, kh, kw] and "edge.<innovation>.bias" F32
// [Cout], all edges, by innovation. Errors: IO, OUT_OF_HOST_MEMORY. [main]
hox_status safetensors_save(const char *path, const genome *g, hox_error *error) HOX_MUST_CHECK;
