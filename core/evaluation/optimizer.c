#include "evaluation/optimizer.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

static const double first_beta = 0.9, second_beta = 0.999;
static const float epsilon = 1e-8F;

// ---- the loss ----

double loss_positive_weight(const uint8_t *labels, uint64_t count) {
    uint64_t positives = 0;
    for (uint64_t i = 0; i < count; i++)
        positives += labels[i];
    return positives == 0 || positives == count ? 1.0
                                                : (double)(count - positives) / (double)positives;
}

// ln(1 + e^x) without overflow.
static double softplus(double x) {
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

static double sigmoid(double x) {
    const double e = exp(-fabs(x));
    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

double loss_of_logits(const float *logits, const uint8_t *labels, uint64_t count,
                      double positive_weight, uint64_t batch_count, float *dlogits) {
    double sum = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        const double z = (double)logits[i];
        if (!isfinite(z)) return NAN;
        const double weight = labels[i] ? positive_weight : 1.0;
        const double slope = labels[i] ? -sigmoid(-z) : sigmoid(z); // not sigmoid - 1: digits
        sum += weight * softplus(labels[i] ? -z : z);
        dlogits[i] = (float)(weight * slope / (double)batch_count);
    }
    return sum;
}

// ---- steps ----

double optimizer_rate(const refinement_config *config, uint64_t step, uint64_t step_count) {
    const double rate = config->elite_refinement_lr;
    if (config->elite_refinement_schedule != REFINEMENT_COSINE) return rate;
    return rate * 0.5 * (1.0 + cos(acos(-1.0) * (double)step / (double)step_count));
}

hox_status optimizer_init(optimizer *o, const refinement_config *config, uint64_t weight_count,
                          uint64_t step_count, hox_error *error) {
    const bool is_adam = config->elite_refinement_optimizer == REFINEMENT_ADAM;
    *o = (optimizer){.config = config,
                     .weight_count = weight_count,
                     .step_count = step_count,
                     .first_power = 1.0,
                     .second_power = 1.0};
    o->first = array_create(weight_count, sizeof *o->first, error);
    if (is_adam) o->second = array_create(weight_count, sizeof *o->second, error);
    if (o->first && (o->second || !is_adam)) return HOX_OK;
    optimizer_deinit(o);
    return HOX_OUT_OF_HOST_MEMORY;
}

void optimizer_deinit(optimizer *o) {
    free(o->first);
    free(o->second);
    *o = (optimizer){0};
}

// Scales a gradient that is too long. False where it is not finite: squares of floats do not
// overflow their sum in double.
static bool clip(const optimizer *o, float *gradient) {
    const double most = o->config->elite_refinement_clip_norm;
    double square_sum = 0.0;
    for (uint64_t i = 0; i < o->weight_count; i++)
        square_sum += (double)gradient[i] * (double)gradient[i];
    if (!isfinite(square_sum)) return false;
    const double norm = sqrt(square_sum);
    if (most <= 0.0 || norm <= most) return true;
    const double scale = most / norm;
    for (uint64_t i = 0; i < o->weight_count; i++)
        gradient[i] = (float)(scale * (double)gradient[i]);
    return true;
}

static void step_adam(optimizer *o, float *weights, const float *gradient, float rate,
                      float decay) {
    const float keep = (float)first_beta, take = (float)(1.0 - first_beta);
    const float keep_square = (float)second_beta, take_square = (float)(1.0 - second_beta);
    o->first_power *= first_beta;
    o->second_power *= second_beta;
    const float mean = (float)(1.0 / (1.0 - o->first_power));
    const float variance = (float)(1.0 / (1.0 - o->second_power));
    for (uint64_t i = 0; i < o->weight_count; i++) {
        o->first[i] = keep * o->first[i] + take * gradient[i];
        o->second[i] = keep_square * o->second[i] + take_square * gradient[i] * gradient[i];
        const float root = sqrtf(variance * o->second[i]);
        weights[i] -= rate * (mean * o->first[i]) / (root + epsilon) + decay * weights[i];
    }
}

static void step_sgd(optimizer *o, float *weights, const float *gradient, float rate, float decay) {
    const float keep = (float)o->config->elite_refinement_momentum;
    for (uint64_t i = 0; i < o->weight_count; i++) {
        o->first[i] = keep * o->first[i] + gradient[i];
        weights[i] -= rate * o->first[i] + decay * weights[i];
    }
}

bool optimizer_step(optimizer *o, float *weights, float *gradient) {
    if (!clip(o, gradient)) return false;
    const double rate = optimizer_rate(o->config, o->step++, o->step_count);
    const float decay = (float)(rate * o->config->elite_refinement_weight_decay);
    if (o->second)
        step_adam(o, weights, gradient, (float)rate, decay);
    else
        step_sgd(o, weights, gradient, (float)rate, decay);
    bool is_finite = true;
    for (uint64_t i = 0; i < o->weight_count; i++)
        is_finite &= isfinite(weights[i]) != 0;
    return is_finite;
}
