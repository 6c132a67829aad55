// kernels.cu - all kernels, one object.
#include "cuda/kernels.h"

#include <hox/plan.h>

#ifdef __CUDACC__
#define UNROLL _Pragma("unroll")
#endif

#include "cuda/activation.cu"
#include "cuda/convolution.cu"
#include "cuda/layout.cu"
#include "cuda/readout.cu"
