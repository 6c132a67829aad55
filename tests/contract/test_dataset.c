// test_dataset.c - what every dataset must do.
#include "dataset_fixture.h"
#include "png_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// A few images of each dataset, in files of the test's own.
typedef struct small_dataset {
    dataset_under_test self;
    temp_folder folder;
    idx_folder idx;
    char train[TEST_PATH_BYTES], test[TEST_PATH_BYTES];
} small_dataset;

static void make_cifar(small_dataset *small) {
    write_cifar(path_in(&small->folder, "a.bin", small->train), "\3\1\4", 1, 3);
    write_cifar(path_in(&small->folder, "b.bin", small->train), "\1\5", 1, 2);
    write_cifar(path_in(&small->folder, "t.bin", small->test), "\11\2", 1, 2);
    set_text(&small->self, "folder", small->folder.path);
    set_text(&small->self, "train_files", "a.bin,b.bin");
    set_text(&small->self, "test_files", "t.bin");
}

static void make_idx(small_dataset *small) {
    folder_make(&small->idx, 0);
    folder_use(&small->self, &small->idx);
    set_int(&small->self, "replicate", 3);
}

static void make_imagefolder(small_dataset *small) {
    static const char *const names[] = {
        "train",           "train/cat", "train/cat/1.png", "train/cat/2.png", "train/dog",
        "train/dog/1.png", "test",      "test/cat",        "test/cat/3.png",  "test/dog",
        "test/dog/4.png",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[TEST_PATH_BYTES];
        path_in(&small->folder, names[i], path);
        if (strchr(names[i], '.'))
            write_plain_png(path, 5, 7, (unsigned char)(20 * i), 100, 200);
        else
            cr_assert_eq(mkdir(path, 0700), 0);
    }
    set_text(&small->self, "train", path_in(&small->folder, "train", small->train));
    set_text(&small->self, "test", path_in(&small->folder, "test", small->test));
    set_int(&small->self, "size", 4);
}

static void make_synthetic(small_dataset *small) {
    set_int(&small->self, "train_count", 9);
    set_int(&small->self, "test_count", 5);
    set_int(&small->self, "size", 8);
}

static const struct {
    const char *file;
    void (*make)(small_dataset *small);
} rows[] = {
    {"dataset_cifar", make_cifar},
    {"dataset_idx", make_idx},
    {"dataset_imagefolder", make_imagefolder},
    {"dataset_synthetic", make_synthetic},
};

#define EACH_DATASET(name)                                                                         \
    ParameterizedTestParameters(dataset, name) {                                                   \
        return index_params(sizeof rows / sizeof *rows);                                           \
    }                                                                                              \
    ParameterizedTest(size_t *row, dataset, name)

static void small_init(small_dataset *small, size_t row) {
    *small = (small_dataset){.folder = temp_folder_make()};
    dataset_init(&small->self, rows[row].file);
    rows[row].make(small);
}

static void small_deinit(small_dataset *small) {
    dataset_deinit(&small->self);
    temp_folder_remove(&small->folder);
    if (*small->idx.path) folder_remove(&small->idx);
}

EACH_DATASET(describes_itself) {
    small_dataset small;
    small_init(&small, *row);
    dataset_under_test *self = &small.self;
    dataset_must_open(self);
    const hox_dataset_info *info = &self->info;
    cr_expect(info->pixel_type == HOX_PIXEL_U8 || info->pixel_type == HOX_PIXEL_F32);
    cr_expect_gt(image_bytes(info), 0);
    cr_expect_gt(info->train_count, 0);
    cr_expect_gt(info->test_count, 0);
    cr_assert_geq(info->class_count, 2);
    for (uint32_t i = 0; i < info->class_count; i++)
        for (uint32_t j = 0; j < i; j++)
            cr_expect_str_neq(info->class_names[i], info->class_names[j]);
    cr_expect(info->fingerprint[0] != 0 && info->fingerprint[1] != 0);
    small_deinit(&small);
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
    small_dataset small;
    small_init(&small, *row);
    dataset_under_test *self = &small.self;
    dataset_must_open(self);
    check_split(self, HOX_SPLIT_TRAIN, self->info.train_count);
    check_split(self, HOX_SPLIT_TEST, self->info.test_count);
    small_deinit(&small);
}

EACH_DATASET(refuses_what_is_not_there) {
    small_dataset small;
    small_init(&small, *row);
    dataset_under_test *self = &small.self;
    dataset_must_open(self);
    check_refused(self, HOX_SPLIT_TRAIN, self->info.train_count, "");
    check_refused(self, HOX_SPLIT_TEST, self->info.test_count, "");
    check_refused(self, HOX_SPLIT_TRAIN, UINT64_MAX, "18446744073709551615");
    check_refused(self, 0, 0, "no split 0");
    check_refused(self, 3, 0, "no split 3");
    small_deinit(&small);
}

EACH_DATASET(survives_each_refusal_of_the_ledger) {
    small_dataset small;
    small_init(&small, *row);
    dataset_under_test *self = &small.self;
    dataset_must_open(self);
    const uint64_t reserve_count = self->host.reserve_count;
    cr_assert_gt(reserve_count, 0);
    self->api->close(self->dataset);
    for (uint64_t n = 1; n <= reserve_count; n++) {
        host_double_init(&self->host);
        self->host.fail_at_reserve = n;
        self->dataset = (hox_dataset *)self;
        hox_error error = HOX_ERROR_INIT;
        cr_expect_eq(dataset_open(self, &error), HOX_OUT_OF_DEVICE_MEMORY, "reserve %zu",
                     (size_t)n);
        cr_expect_null(self->dataset);
        cr_expect_gt(error.bytes_requested, 0);
        cr_expect_eq(self->host.live_bytes, 0, "reserve %zu", (size_t)n);
    }
    small_deinit(&small); // closes NULL
}
