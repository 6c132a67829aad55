// optimizer.h - the arithmetic of training: the loss and its derivatives, and how a gradient moves
// weights. Knows no thread and no runtime.
#pragma once

#include "evaluation/refinement_config.h"

#include <hox/status.h>
#include <stdbool.h>

// What an image of the positive class weighs: negatives / positives; 1 where a class is absent.
// [any]
double loss_positive_weight(const uint8_t *labels, uint64_t count);

// The sum over count images of weight * binary cross-entropy on the logit (weight 1 for negatives);
// NaN where a logit is not finite. dlogits: the derivatives of the mean over batch_count images, of
// which these are a part. [any]
double loss_of_logits(const float *logits, const uint8_t *labels, uint64_t count,
                      double positive_weight, uint64_t batch_count, float *dlogits);

// The learning rate of a step from 0 among step_count of them. Cosine: Loshchilov and Hutter,
// "SGDR: stochastic gradient descent with warm restarts", ICLR 2017, one period down to zero. [any]
double optimizer_rate(const refinement_config *config, uint64_t step, uint64_t step_count);

// One training's state.
typedef struct optimizer {
    const refinement_config *config; // borrowed
    uint64_t weight_count;
    uint64_t step, step_count;        // done; all
    float *first, *second;            // moments of the gradient; sgd: its velocity, NULL
    double first_power, second_power; // beta^step
} optimizer;

// Errors: OUT_OF_HOST_MEMORY. [any]
hox_status optimizer_init(optimizer *o, const refinement_config *config, uint64_t weight_count,
                          uint64_t step_count, hox_error *error) HOX_MUST_CHECK;
void optimizer_deinit(optimizer *o); // {0} too

// One step of the weights along the gradient, which it may scale. Adam: Kingma and Ba, ICLR 2015,
// algorithm 1. Decay of weights: Loshchilov and Hutter, "Decoupled weight decay regularization",
// ICLR 2019. False where the gradient or a new weight is not finite: then the weights are worth
// nothing. [any]
bool optimizer_step(optimizer *o, float *weights, float *gradient);
