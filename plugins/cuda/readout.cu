// readout.cu - the output's map of an image becomes its logit: sum, mean, mean minus median.

// Bits in the order of the values they stand for.
__device__ uint32_t order_of(float value) {
    const uint32_t bits = __float_as_uint(value);
    return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

__device__ float value_of(uint32_t order) {
    return __uint_as_float(order & 0x80000000U ? order & 0x7fffffffU : ~order);
}

// The lower middle of the sorted values, bit by bit: the largest number that no more values than
// its rank are smaller than.
template <int IMAGES> __device__ float lower_median(const float *values, uint32_t count) {
    const uint32_t rank = (count - 1) / 2;
    uint32_t found = 0;
    for (uint32_t bit = 0x80000000U; bit != 0; bit >>= 1) {
        uint32_t smaller = 0;
        for (uint32_t i = 0; i < count; i++)
            smaller += order_of(values[(uint64_t)i * IMAGES]) < (found | bit);
        if (smaller <= rank) found |= bit;
    }
    return value_of(found);
}

// values: of one of so many images side by side.
template <int IMAGES>
__device__ float logit_of(uint32_t kind, const float *values, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += values[(uint64_t)i * IMAGES];
    double logit = sum;
    if (kind != HOX_READOUT_SUM) logit = sum / count;
    if (kind == HOX_READOUT_MEAN_MINUS_MEDIAN) logit -= lower_median<IMAGES>(values, count);
    return (float)logit;
}

extern "C" __global__ void __launch_bounds__(CUDA_THREADS) read_out(cuda_readout r) {
    const uint32_t image = blockIdx.x * CUDA_THREADS + threadIdx.x;
    if (image >= r.chunk->count) return;
    const float *values =
        r.map + (uint64_t)(image / CUDA_IMAGES) * r.value_count * CUDA_IMAGES + image % CUDA_IMAGES;
    r.logits[image] = logit_of<CUDA_IMAGES>(r.kind, values, r.value_count);
}
