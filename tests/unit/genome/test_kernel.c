// test_kernel.c - shape, draw, copies and references of an edge's weights.
#include "genome/kernel.h"

#include "genome_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const geometry shape = {{20, 1, 0}, {25, 1, 0}};

Test(kernel, counts_weights_and_biases) {
    kernel *k = kernel_create(SIZE(3, 40, 40), SIZE(8, 21, 16), shape, NULL);
    cr_assert_not_null(k);
    cr_expect(k->source_channels == 3 && k->target_channels == 8 && k->height == 20 &&
              k->width == 25);
    cr_expect_eq(kernel_weight_count(k), 12000); // 8 x 3 x 20 x 25
    cr_expect_eq(kernel_value_count(k), 12008);
    for (int i = 0; i < 12008; i++)
        cr_assert_eq(k->values[i], 0.0F);
    cr_expect(fabs(kernel_sigma(k) - sqrt(2.0 / 1500.0)) < 1e-15);
    kernel_release(k);
}

// Standard errors: sigma / sqrt(n) for the mean, sigma / sqrt(2 n) for the deviation.
static void check_draw(double scale) {
    rng r = rng_stream(1, 2, 3, 4);
    kernel *k = kernel_draw(SIZE(3, 40, 40), SIZE(8, 21, 16), shape, scale, &r, NULL);
    const double sigma = scale * sqrt(2.0 / 1500.0);
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < 12000; i++) {
        sum += k->values[i];
        square += (double)k->values[i] * k->values[i];
    }
    cr_expect(fabs(sum / 12000.0) < 5.0 * sigma / sqrt(12000.0), "mean %g", sum / 12000.0);
    cr_expect(fabs(sqrt(square / 12000.0) / sigma - 1.0) < 5.0 / sqrt(24000.0), "deviation %g",
              sqrt(square / 12000.0));
    for (int i = 12000; i < 12008; i++)
        cr_expect_eq(k->values[i], 0.0F, "the bias is 0");
    kernel_release(k);
}

Test(kernel, draw_has_the_deviation_of_its_shape) {
    check_draw(1.0);
    check_draw(0.01);
}

Test(kernel, draw_of_scale_0_draws_nothing) {
    rng r = rng_stream(1, 2, 3, 4);
    const rng before = r;
    kernel *k = kernel_draw(SIZE(3, 40, 40), SIZE(8, 21, 16), shape, 0.0, &r, NULL);
    for (int i = 0; i < 12008; i++)
        cr_assert_eq(k->values[i], 0.0F);
    cr_expect_eq(memcmp(&r, &before, sizeof r), 0);
    kernel_release(k);
}

Test(kernel, copy_is_apart_and_equal) {
    rng r = rng_stream(5, 0, 0, 0);
    kernel *k =
        kernel_draw(SIZE(2, 9, 9), SIZE(5, 7, 5), (geometry){{3, 1, 0}, {5, 1, 0}}, 1.0, &r, NULL);
    k->values[150] = 0.5F; // 5 x 2 x 3 x 5 weights: the first bias
    kernel *copy = kernel_copy(k, NULL);
    cr_assert_eq(kernel_value_count(copy), 155);
    cr_expect(copy->height == 3 && copy->width == 5 && copy->source_channels == 2);
    cr_expect_arr_eq(copy->values, k->values, 155 * sizeof *k->values);
    copy->values[0] += 1.0F;
    cr_expect_neq(copy->values[0], k->values[0]);
    kernel_release(k);
    kernel_release(copy);
}

Test(kernel, lives_as_long_as_its_last_reference) {
    kernel *k = kernel_create(SIZE(1, 1, 1), SIZE(1, 1, 1), (geometry){{1, 1, 0}, {1, 1, 0}}, NULL);
    cr_expect_eq(kernel_retain(k), k);
    kernel_retain(k);
    kernel_release(k);
    kernel_release(k);
    k->values[0] = 1.0F; // a use after free, were it gone
    cr_expect_eq(k->reference_count, 1);
    kernel_release(k);
    kernel_release(NULL);
}
