// kernels.cu - all kernels, one object.
#include "cuda/kernels.h"

#include <hox/plan.h>

#ifdef __CUDACC__
#define UNROLL                       _Pragma("unroll")
#define ROLLED                       _Pragma("unroll 1")
#define SHARED_AT_LAUNCH(type, name) extern __shared__ type name[]
#endif

#include "cuda/activation.cu"
#include "cuda/convolution.cu"
#include "cuda/layout.cu"
#include "cuda/readout.cu"

#include "cuda/genomes.cu"
