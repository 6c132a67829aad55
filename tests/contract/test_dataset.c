// test_dataset.c - what every dataset must do.
#include "dataset_fixture.h"

#include <stdlib.h>
#include <string.h>

static const char *const files[] = {"dataset_idx", "dataset_synthetic"};

enum { DATASETS = sizeof files / sizeof *files };

#define EACH_DATASET(name)                                                                         \
    ParameterizedTestParameters(dataset, name) {                                                   \
        return index_params(DATASETS);                                                             \
    }                                                                                              \
    ParameterizedTest(size_t *row, dataset, name)

static void init_small(dataset_under_test *self, size_t row, idx_folder *folder) {
    folder_make(folder, 0);
    dataset_init(self, files[row]);
    if (row == 0) {
        folder_use(self, folder);
        set_int(self, "replicate", 3);
    } else {
        set_int(self, "train_count", 9);
        set_int(self, "test_count", 5);
        set_int(self, "size", 8);
    }
}

EACH_DATASET(describes_itself) {
    dataset_under_test self;
    idx_folder folder;
    init_small(&self, *row, &folder);
    dataset_must_open(&self);
    const hox_dataset_info *info = &self.info;
    cr_expect(info->pixel_type == HOX_PIXEL_U8 || info->pixel_type == HOX_PIXEL_F32);
    cr_expect_gt(image_bytes(info), 0);
    cr_expect_gt(info->train_count, 0);
    cr_expect_gt(info->test_count, 0);
    cr_assert_geq(info->class_count, 2);
    for (uint32_t i = 0; i < info->class_count; i++)
        for (uint32_t j = 0; j < i; j++)
            cr_expect_str_neq(info->class_names[i], info->class_names[j]);
    cr_expect(info->fingerprint[0] != 0 && info->fingerprint[1] != 0);
    dataset_deinit(&self);
    folder_remove(&folder);
}

// One at a time, all at once, backwards with a repeat, without images: the same.
static void check_split(dataset_under_test *self, uint32_t split, uint64_t count) {
    uint64_t forward[16], backward[17];
    int32_t labels[16], labels_again[17], alone_label;
    cr_assert_leq(count, 16);
    for (uint64_t i = 0; i < count; i++) {
        forward[i] = i;
        backward[i] = count - 1 - i;
    }
    backward[count] = 0;
    const size_t size = image_bytes(&self->info);
    unsigned char *all = read_images(self, split, forward, count, labels);
    unsigned char *again = read_images(self, split, backward, count + 1, labels_again);
    for (uint64_t i = 0; i <= count; i++) {
        unsigned char *alone = read_images(self, split, &backward[i], 1, &alone_label);
        cr_expect_arr_eq(again + i * size, all + backward[i] * size, size);
        cr_expect_arr_eq(alone, all + backward[i] * size, size);
        cr_expect_eq(labels_again[i], labels[backward[i]]);
        cr_expect_eq(alone_label, labels[backward[i]]);
        cr_expect(alone_label >= 0 && (uint32_t)alone_label < self->info.class_count);
        free(alone);
    }
    memset(labels_again, -1, sizeof labels_again);
    cr_expect_eq(self->api->read(self->dataset, split, forward, count, NULL, labels_again, NULL),
                 HOX_OK);
    cr_expect_arr_eq(labels_again, labels, count * sizeof *labels);
    cr_expect(count < 2 || memcmp(all, all + size, size) != 0, "two images are the same");
    free(again);
    free(all);
}

EACH_DATASET(reads_the_same_in_any_order) {
    dataset_under_test self;
    idx_folder folder;
    init_small(&self, *row, &folder);
    dataset_must_open(&self);
    check_split(&self, HOX_SPLIT_TRAIN, self.info.train_count);
    check_split(&self, HOX_SPLIT_TEST, self.info.test_count);
    dataset_deinit(&self);
    folder_remove(&folder);
}

EACH_DATASET(refuses_what_is_not_there) {
    dataset_under_test self;
    idx_folder folder;
    init_small(&self, *row, &folder);
    dataset_must_open(&self);
    check_refused(&self, HOX_SPLIT_TRAIN, self.info.train_count, "");
    check_refused(&self, HOX_SPLIT_TEST, self.info.test_count, "");
    check_refused(&self, HOX_SPLIT_TRAIN, UINT64_MAX, "18446744073709551615");
    check_refused(&self, 0, 0, "no split 0");
    check_refused(&self, 3, 0, "no split 3");
    dataset_deinit(&self);
    folder_remove(&folder);
}

EACH_DATASET(survives_each_refusal_of_the_ledger) {
    dataset_under_test self;
    idx_folder folder;
    init_small(&self, *row, &folder);
    dataset_must_open(&self);
    const uint64_t reserve_count = self.host.reserve_count;
    cr_assert_gt(reserve_count, 0);
    self.api->close(self.dataset);
    for (uint64_t n = 1; n <= reserve_count; n++) {
        host_double_init(&self.host);
        self.host.fail_at_reserve = n;
        self.dataset = (hox_dataset *)&self;
        hox_error error = HOX_ERROR_INIT;
        cr_expect_eq(dataset_open(&self, &error), HOX_OUT_OF_DEVICE_MEMORY, "reserve %zu",
                     (size_t)n);
        cr_expect_null(self.dataset);
        cr_expect_gt(error.bytes_requested, 0);
        cr_expect_eq(self.host.live_bytes, 0, "reserve %zu", (size_t)n);
    }
    dataset_deinit(&self); // closes NULL
    folder_remove(&folder);
}
