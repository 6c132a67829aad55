#include "base/rng.h"

#include <math.h>
#include <string.h>

void rng_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t words[4]) {
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        const uint64_t left = (uint64_t)0xD2511F53u * c0;
        const uint64_t right = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(right >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)right;
        c2 = (uint32_t)(left >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)left;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

rng rng_stream(uint64_t seed, uint32_t generation, uint32_t slot, uint32_t purpose) {
    return (rng){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                 .counter = {0, purpose, slot, generation},
                 .used = 4};
}

uint32_t rng_word(rng *r) {
    if (r->used == 4) {
        rng_philox(r->key, r->counter, r->words);
        r->counter[0]++;
        r->used = 0;
    }
    return r->words[r->used++];
}

static uint64_t two_words(rng *r) {
    const uint64_t high = rng_word(r);
    return high << 32 | rng_word(r);
}

uint64_t rng_below(rng *r, uint64_t bound) {
    const uint64_t unfair =
        (0 - bound) % bound; // 2^64 mod bound: values below it would count twice
    uint64_t value;
    do {
        value = two_words(r);
    } while (value < unfair);
    return value % bound;
}

double rng_uniform(rng *r) {
    return (double)(two_words(r) >> 11) * 0x1p-53;
}

bool rng_chance(rng *r, double rate) {
    return rng_uniform(r) < rate;
}

double rng_normal(rng *r) {
    return rng_normal_quantile(((double)rng_word(r) + 0.5) * 0x1p-32);
}

// ln x for normal x > 0 by the series of artanh; within 2 ulp of libm, and the same bits
// everywhere.
static double natural_log(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFu) | (uint64_t)1023 << 52;
    double mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    if (mantissa > 1.4142135623730951) {
        mantissa *= 0.5;
        exponent++;
    }
    const double t = (mantissa - 1.0) / (mantissa + 1.0), square = t * t;
    double sum = 0.0;
    for (int k = 23; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return 2.0 * t * sum + exponent * 0.6931471805599453;
}

static double ratio(const double numerator[8], const double denominator[8], double x) {
    double above = numerator[7], below = denominator[7];
    for (int i = 6; i >= 0; i--) {
        above = above * x + numerator[i];
        below = below * x + denominator[i];
    }
    return above / below;
}

double rng_normal_quantile(double p) {
    static const double middle[2][8] = {
        {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
         1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
         3.3430575583588128105e4, 2.5090809287301226727e3},
        {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
         2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
         5.2264952788528545610e3}};
    static const double shoulder[2][8] = {
        {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
         3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
         2.27238449892691845833e-2, 7.74545014278341407640e-4},
        {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
         1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
         1.05075007164441684324e-9}};
    static const double tail[2][8] = {
        {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
         2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
         2.71155556874348757815e-5, 2.01033439929228813265e-7},
        {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
         2.04426310338993978564e-15}};

    const double q = p - 0.5;
    if (fabs(q) <= 0.425) return q * ratio(middle[0], middle[1], 0.180625 - q * q);
    const double r =
        sqrt(-natural_log(q < 0.0 ? p : 1.0 - p)); // sqrt is exact to the bit in IEEE 754
    const double x =
        r <= 5.0 ? ratio(shoulder[0], shoulder[1], r - 1.6) : ratio(tail[0], tail[1], r - 5.0);
    return q < 0.0 ? -x : x;
}
