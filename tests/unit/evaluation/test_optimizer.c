// test_optimizer.c - loss and steps against numbers worked out by hand and in double.
#include "evaluation/optimizer.h"
#include "random.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { WEIGHTS = 7, STEPS = 25 };

static bool is_near(double a, double b, double tolerance) {
    return fabs(a - b) <= tolerance * (1.0 + fabs(b));
}

// ---- the loss ----

static const struct {
    float logit;
    uint8_t label;
    double weight, loss, slope;
} rows[] = {
    {0.0F, 0, 3.0, 0.69314718055994531, 0.5},
    {0.0F, 1, 3.0, 3.0 * 0.69314718055994531, -1.5},
    {1.0F, 0, 1.0, 1.3132616875182228, 0.73105857863000488},
    {1.0F, 1, 1.0, 0.31326168751822283, -0.26894142136999512},
    {-1.0F, 1, 0.5, 0.65663084375911138, -0.36552928931500244},
    {1e4F, 0, 1.0, 1e4, 1.0}, // e^10000 is no number
    {1e4F, 1, 1.0, 0.0, 0.0},
    {-1e4F, 1, 1.0, 1e4, -1.0},
    {-1e4F, 0, 1.0, 0.0, 0.0},
    {FLT_MAX, 0, 1.0, (double)FLT_MAX, 1.0},
    {40.0F, 1, 1.0, 4.2483542552915889e-18, -4.2483542552915889e-18}, // 1 - sigmoid would be 0
};

Test(optimizer, knows_the_loss_of_a_logit_and_its_slope) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float slope;
        const double loss =
            loss_of_logits(&rows[i].logit, &rows[i].label, 1, rows[i].weight, 1, &slope);
        cr_expect(fabs(loss - rows[i].loss) <= 1e-15 * fabs(rows[i].loss), "row %zu: %.17g", i,
                  loss);
        cr_expect(fabs((double)slope - rows[i].slope) <= 1e-7 * fabs(rows[i].slope),
                  "row %zu: %.9g", i, (double)slope);
    }
}

// The slope is what the loss changes by, for the mean of a batch of which these are a part.
Test(optimizer, slopes_are_those_of_the_batch_s_mean) {
    static const float logits[] = {-2.5F, -0.3F, 0.1F, 0.8F, 3.0F};
    static const uint8_t labels[] = {1, 0, 1, 0, 1};
    float slopes[5], unused[5], moved[5];
    loss_of_logits(logits, labels, 5, 1.7, 12, slopes);
    for (size_t i = 0; i < 5; i++) {
        double loss[2];
        for (int k = 0; k < 2; k++) {
            memcpy(moved, logits, sizeof moved);
            moved[i] += k ? 0.001F : -0.001F;
            loss[k] = loss_of_logits(moved, labels, 5, 1.7, 12, unused);
        }
        const double width = (double)(logits[i] + 0.001F) - (double)(logits[i] - 0.001F);
        cr_expect(is_near((double)slopes[i], (loss[1] - loss[0]) / width / 12.0, 1e-6), "%zu", i);
    }
}

Test(optimizer, a_logit_that_is_not_finite_has_no_loss) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++)
        for (uint8_t label = 0; label < 2; label++) {
            const float logits[] = {0.5F, bad[i]};
            const uint8_t labels[] = {0, label};
            float slopes[2];
            cr_expect(isnan(loss_of_logits(logits, labels, 2, 1.0, 2, slopes)));
        }
}

Test(optimizer, positives_weigh_as_many_negatives_as_there_are_to_each) {
    static const uint8_t labels[] = {0, 0, 1, 0, 0, 1, 0, 0};
    cr_expect_eq(loss_positive_weight(labels, 8), 3.0);
    cr_expect_eq(loss_positive_weight(labels + 2, 4), 1.0);
    cr_expect_eq(loss_positive_weight(labels, 2), 1.0, "no positive");
    cr_expect_eq(loss_positive_weight(labels + 2, 1), 1.0, "no negative");
}

// ---- steps ----

static refinement_config settings(int32_t kind) {
    return (refinement_config){.elite_refinement_lr = 0.01,
                               .elite_refinement_optimizer = kind,
                               .elite_refinement_momentum = 0.9};
}

static void make_gradient(uint64_t step, float gradient[WEIGHTS]) {
    for (size_t i = 0; i < WEIGHTS; i++)
        gradient[i] = (float)(sin((double)(step * 7 + i * 3)) * (i == 3 ? 1e-6 : 1.0));
}

// The same in double, from the papers.
typedef struct model {
    double weights[WEIGHTS], m[WEIGHTS], v[WEIGHTS];
} model;

static void model_step(model *m, const refinement_config *c, uint64_t t, double rate,
                       const float *gradient) {
    for (size_t i = 0; i < WEIGHTS; i++) {
        const double g = (double)gradient[i];
        double step;
        if (c->elite_refinement_optimizer == REFINEMENT_SGD) {
            step = m->m[i] = c->elite_refinement_momentum * m->m[i] + g;
        } else {
            m->m[i] = 0.9 * m->m[i] + 0.1 * g;
            m->v[i] = 0.999 * m->v[i] + 0.001 * g * g;
            step = m->m[i] / (1.0 - pow(0.9, (double)t)) /
                   (sqrt(m->v[i] / (1.0 - pow(0.999, (double)t))) + 1e-8);
        }
        m->weights[i] -= rate * (step + c->elite_refinement_weight_decay * m->weights[i]);
    }
}

static void check_against_model(const refinement_config *c) {
    float weights[WEIGHTS], gradient[WEIGHTS];
    model expected = {{0}, {0}, {0}};
    optimizer o;
    cr_assert_eq(optimizer_init(&o, c, WEIGHTS, STEPS, NULL), HOX_OK);
    for (size_t i = 0; i < WEIGHTS; i++)
        expected.weights[i] = (double)(weights[i] = (float)i - 2.5F);
    for (uint64_t t = 1; t <= STEPS; t++) {
        make_gradient(t, gradient);
        const double rate =
            c->elite_refinement_schedule == REFINEMENT_COSINE
                ? 0.01 * (1.0 + cos(3.14159265358979324 * (double)(t - 1) / STEPS)) / 2.0
                : 0.01;
        model_step(&expected, c, t, rate, gradient);
        cr_expect(optimizer_step(&o, weights, gradient));
    }
    for (size_t i = 0; i < WEIGHTS; i++)
        cr_expect(is_near((double)weights[i], expected.weights[i], 2e-6), "weight %zu: %.9g, %.9g",
                  i, (double)weights[i], expected.weights[i]);
    optimizer_deinit(&o);
    optimizer_deinit(&o);
}

Test(optimizer, steps_as_the_papers_say) {
    for (int32_t kind = REFINEMENT_ADAM; kind <= REFINEMENT_SGD; kind++)
        for (int32_t schedule = REFINEMENT_CONSTANT; schedule <= REFINEMENT_COSINE; schedule++)
            for (int decays = 0; decays < 2; decays++) {
                refinement_config c = settings(kind);
                c.elite_refinement_schedule = schedule;
                c.elite_refinement_weight_decay = decays ? 0.3 : 0.0;
                check_against_model(&c);
            }
}

// Adam's first step is the learning rate in the gradient's direction, whatever its length.
Test(optimizer, adam_s_first_step_is_as_long_as_the_rate) {
    const refinement_config c = settings(REFINEMENT_ADAM);
    float weights[3] = {1.0F, 1.0F, 1.0F}, gradient[3] = {250.0F, -0.01F, 0.0F};
    optimizer o;
    cr_assert_eq(optimizer_init(&o, &c, 3, 1, NULL), HOX_OK);
    cr_expect(optimizer_step(&o, weights, gradient));
    cr_expect(is_near((double)weights[0], 0.99, 1e-6) && is_near((double)weights[1], 1.01, 1e-6));
    cr_expect_eq(weights[2], 1.0F);
    optimizer_deinit(&o);
}

Test(optimizer, weights_that_have_no_gradient_decay_alone) {
    for (int32_t kind = REFINEMENT_ADAM; kind <= REFINEMENT_SGD; kind++) {
        refinement_config c = settings(kind);
        float weight = 2.0F, gradient = 0.0F;
        c.elite_refinement_weight_decay = 10.0; // a tenth each step
        optimizer o;
        cr_assert_eq(optimizer_init(&o, &c, 1, 3, NULL), HOX_OK);
        for (int i = 0; i < 3; i++)
            cr_expect(optimizer_step(&o, &weight, &gradient));
        cr_expect(is_near((double)weight, 2.0 * 0.9 * 0.9 * 0.9, 1e-6));
        optimizer_deinit(&o);
    }
}

Test(optimizer, the_rate_follows_half_a_cosine_to_zero) {
    refinement_config c = settings(REFINEMENT_ADAM);
    cr_expect_eq(optimizer_rate(&c, 7, 10), 0.01);
    c.elite_refinement_schedule = REFINEMENT_COSINE;
    cr_expect_eq(optimizer_rate(&c, 0, 8), 0.01);
    cr_expect(is_near(optimizer_rate(&c, 4, 8), 0.005, 1e-12));
    cr_expect(is_near(optimizer_rate(&c, 2, 8), 0.01 * (1.0 + sqrt(0.5)) / 2.0, 1e-12));
    cr_expect_lt(optimizer_rate(&c, 8, 8), 1e-17);
}

Test(optimizer, a_long_gradient_is_scaled_down_and_a_short_one_is_not) {
    static const struct {
        float gradient[2], expected[2];
    } cases[] = {{{3.0F, 4.0F}, {0.6F, 0.8F}},
                 {{-30.0F, 40.0F}, {-0.6F, 0.8F}},
                 {{0.3F, -0.4F}, {0.3F, -0.4F}},
                 {{1e30F, 0.0F}, {1.0F, 0.0F}}};
    refinement_config c = settings(REFINEMENT_SGD);
    c.elite_refinement_lr = 1.0;
    c.elite_refinement_clip_norm = 1.0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float weights[2] = {0.0F, 0.0F}, gradient[2];
        optimizer o;
        memcpy(gradient, cases[i].gradient, sizeof gradient);
        cr_assert_eq(optimizer_init(&o, &c, 2, 1, NULL), HOX_OK);
        cr_expect(optimizer_step(&o, weights, gradient));
        for (size_t k = 0; k < 2; k++)
            cr_expect(is_near((double)weights[k], -(double)cases[i].expected[k], 1e-7), "case %zu",
                      i);
        optimizer_deinit(&o);
    }
}

Test(optimizer, says_where_gradient_or_weight_is_no_number) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    const refinement_config c = settings(REFINEMENT_SGD);
    for (size_t i = 0; i < 3; i++) {
        float weights[2] = {1.0F, 1.0F}, gradient[2] = {0.0F, bad[i]};
        optimizer o;
        cr_assert_eq(optimizer_init(&o, &c, 2, 1, NULL), HOX_OK);
        cr_expect_not(optimizer_step(&o, weights, gradient));
        gradient[1] = 0.0F;
        weights[1] = bad[i];
        cr_expect_not(optimizer_step(&o, weights, gradient));
        optimizer_deinit(&o);
    }
}
