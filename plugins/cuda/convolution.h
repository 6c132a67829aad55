// convolution.h - which kernel computes an edge, and on how many blocks of threads. All give the
// same bits; the choice is of speed alone, and depends on the edge's shape alone.
#pragma once

#include "cuda/module.h"

cuda_kernel cuda_convolution_choose(const cuda_convolution *edge);
uint64_t cuda_convolution_blocks(cuda_kernel kernel, const cuda_convolution *edge);
