// test_synthetic.c - dataset synthetic: only structure tells the class, and the bytes are pinned.
#include "dataset_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_COUNT = 400 };

typedef struct sample {
    hox_dataset_info info;
    unsigned char *images;
    int32_t labels[SAMPLE_COUNT];
} sample;

static sample draw_sample(double noise, int64_t class_count, uint32_t split, uint64_t seed) {
    dataset_under_test self;
    dataset_init(&self, "dataset_synthetic");
    plugin_set_real(self.plugin, self.options, "noise", noise);
    set_int(&self, "class_count", class_count);
    set_int(&self, "seed", (int64_t)seed); // a seed is as wide as an integer
    dataset_must_open(&self);
    sample drawn = {.info = self.info};
    uint64_t indices[SAMPLE_COUNT];
    for (uint64_t i = 0; i < SAMPLE_COUNT; i++)
        indices[i] = i;
    drawn.images = read_images(&self, split, indices, SAMPLE_COUNT, drawn.labels);
    dataset_deinit(&self);
    return drawn;
}

// Direction of the strongest change in the first channel, in 0 .. 1 of a half turn: the structure
// tensor, summed over the image.
static double direction_of(const sample *drawn, size_t i) {
    const size_t side = drawn->info.width;
    const unsigned char *image = drawn->images + i * image_bytes(&drawn->info);
    double xx = 0, xy = 0, yy = 0;
    for (size_t y = 1; y + 1 < side; y++) {
        for (size_t x = 1; x + 1 < side; x++) {
            const double dx = image[y * side + x + 1] - image[y * side + x - 1];
            const double dy = image[(y + 1) * side + x] - image[(y - 1) * side + x];
            xx += dx * dx;
            xy += dx * dy;
            yy += dy * dy;
        }
    }
    const double turn = atan2(2 * xy, xx - yy) / (2 * acos(-1));
    return turn < 0 ? turn + 1 : turn;
}

static double mean_of(const sample *drawn, size_t i) {
    const size_t size = image_bytes(&drawn->info);
    double sum = 0;
    for (size_t j = 0; j < size; j++)
        sum += drawn->images[i * size + j];
    return sum / (double)size;
}

static double share_told_by_direction(const sample *drawn) {
    const int classes = (int)drawn->info.class_count;
    int right = 0;
    for (size_t i = 0; i < SAMPLE_COUNT; i++)
        right += (int)lround(direction_of(drawn, i) * classes) % classes == drawn->labels[i];
    return (double)right / SAMPLE_COUNT;
}

Test(synthetic, direction_tells_the_class) {
    for (int64_t classes = 2; classes <= 8; classes += 2) {
        sample drawn = draw_sample(0.3, classes, HOX_SPLIT_TRAIN, 7);
        const double share = share_told_by_direction(&drawn);
        cr_expect_gt(share, 0.9, "%d classes: %g", (int)classes, share);
        free(drawn.images);
    }
}

Test(synthetic, noise_hides_the_class) {
    sample noise = draw_sample(1.0, 4, HOX_SPLIT_TRAIN, 7);
    const double share = share_told_by_direction(&noise);
    cr_expect_lt(share, 0.4, "%g", share);
    free(noise.images);
}

// Class means differ by less than what 100 images each leave to chance: 4 standard errors.
Test(synthetic, brightness_does_not_tell_the_class) {
    sample drawn = draw_sample(0.3, 4, HOX_SPLIT_TRAIN, 7);
    double sums[4] = {0}, squares = 0, total = 0;
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        const double mean = mean_of(&drawn, i);
        sums[drawn.labels[i]] += mean;
        total += mean;
        squares += mean * mean;
    }
    const double mean = total / SAMPLE_COUNT;
    const double deviation = sqrt(squares / SAMPLE_COUNT - mean * mean);
    cr_expect_gt(deviation, 10);
    for (size_t i = 0; i < 4; i++)
        cr_expect_lt(fabs(sums[i] / 100 - mean), 4 * deviation / 10, "class %zu", i);
    free(drawn.images);
}

Test(synthetic, classes_are_equally_many) {
    sample drawn = draw_sample(0.3, 8, HOX_SPLIT_TEST, 7);
    int counts[8] = {0};
    for (size_t i = 0; i < SAMPLE_COUNT; i++)
        counts[drawn.labels[i]]++;
    for (size_t i = 0; i < 8; i++)
        cr_expect_eq(counts[i], SAMPLE_COUNT / 8);
    free(drawn.images);
}

static uint64_t checksum(const sample *drawn) {
    uint64_t sum = 0;
    for (size_t i = 0; i < SAMPLE_COUNT * image_bytes(&drawn->info); i++)
        sum = (sum ^ drawn->images[i]) * UINT64_C(0x100000001b3); // FNV-1a
    return sum;
}

// Pinned: the same bytes on every machine, and in every version that keeps FORMAT.
Test(synthetic, pixels_depend_on_seed_and_split_alone) {
    sample one = draw_sample(0.3, 4, HOX_SPLIT_TRAIN, 7);
    sample other_seed = draw_sample(0.3, 4, HOX_SPLIT_TRAIN, 8);
    sample other_split = draw_sample(0.3, 4, HOX_SPLIT_TEST, 7);
    cr_expect_eq(checksum(&one), UINT64_C(0x7468c95dec562d9a), "%#zx", (size_t)checksum(&one));
    cr_expect_neq(checksum(&one), checksum(&other_seed));
    cr_expect_neq(checksum(&one), checksum(&other_split));
    cr_expect_neq(one.info.fingerprint[0], other_seed.info.fingerprint[0]);
    cr_expect_eq(one.info.fingerprint[0], other_split.info.fingerprint[0]);
    free(other_split.images);
    free(other_seed.images);
    free(one.images);
}
