// gradient_fixture.h - problems to find gradients of, and the runtimes that train. All ends the
// test where it fails.
#pragma once

#include "random_plan.h"
#include "runtime_fixture.h"

// Of so many plans or samples some: sanitizers make the reference too slow for all.
#ifdef __SANITIZE_ADDRESS__
#define SOME_OF(count) (((count) + 4) / 5)
#else
#define SOME_OF(count) (count)
#endif

// ---- runtimes ----

// Skips the test, with a line, where it does not train.
void open_trainer(opened *self, size_t row);
bool trains(const opened *self);

// All rows that train, eager first; a line for each other one. Its hosts lead into it: do not move.
typedef struct trainers {
    size_t count;
    opened items[RUNTIMES];
} trainers;

void open_trainers(trainers *all);
void close_trainers(trainers *all);

// ---- losses: a sum over images ----

typedef struct loss {
    double (*value)(double logit, double target);
    double (*slope)(double logit, double target);
} loss;

extern const loss weighted_loss; // target * logit
extern const loss entropy_loss;  // binary cross-entropy; targets are 0 and 1

// ---- problems: a plan, weights, images and targets ----

enum { MOST_IMAGES = 64, MOST_BATCH = 64 };

typedef struct problem {
    char name[64];
    const hox_plan *plan;
    const loss *loss;
    float *weights, *images;
    double targets[MOST_IMAGES];
    size_t count;     // of images
    uint64_t version; // of the weights
} problem;

// weights: NULL = drawn. Images lie away from kinks, where neither a difference nor fp32 tells
// which side is right; targets are those of weighted_loss.
void problem_init(problem *p, const hox_plan *plan, const float *weights, uint64_t seed,
                  size_t count);
void problem_deinit(problem *p);
hox_weights problem_weights(const problem *p);

float *floats(size_t count); // zeros

// 3 x 9 x 8 -> a node -> 2 x 5 x 3 (an even number of pixels) or 1 x 5 x 3 (an odd one).
void make_small_plan(random_plan *made, uint32_t activation, uint32_t readout, uint32_t channels);

// ---- a batch through a runtime ----

typedef struct batch {
    size_t count;
    uint64_t images[MOST_BATCH];
} batch;

batch whole_batch(const problem *p);                              // all images in order
batch mixed_batch(const problem *p, uint64_t seed, size_t count); // in any order, with repeats

// Forward and backward over places first .. first + count - 1 of the batch.
void run_step(const opened *self, hox_runner *runner, const problem *p, const hox_samples *samples,
              const batch *b, size_t first, size_t count, float *gradient);
// The gradient from zero; free() it.
float *gradient_of(const opened *self, const problem *p, const batch *b);
