// test_idx.c - dataset idx: pixels, classes, fingerprint, and what can be wrong with a file.
#include "dataset_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FASHION_MNIST "/usr/share/datasets/fashion-mnist/"

static void check_pixels(int is_packed) {
    static const unsigned char expected[2][2 * 4 * 5] = {
        {0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0,
         0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0},
        {0, 0, 0, 0, 0, 0, 9, 10, 11, 0, 0, 12, 13, 14, 0, 0, 0, 0, 0, 0,
         0, 0, 0, 0, 0, 0, 9, 10, 11, 0, 0, 12, 13, 14, 0, 0, 0, 0, 0, 0},
    };
    dataset_under_test self;
    idx_folder folder;
    folder_make(&folder, is_packed);
    dataset_init(&self, "dataset_idx");
    folder_use(&self, &folder);
    set_int(&self, "pad", 1);
    set_int(&self, "replicate", 2);
    dataset_must_open(&self);
    cr_assert_eq(self.info.channels, 2);
    cr_assert_eq(self.info.height, 4);
    cr_assert_eq(self.info.width, 5);
    cr_expect_eq(self.info.train_count, 2);
    cr_expect_eq(self.info.test_count, 1);
    cr_expect_eq(self.info.class_count, 2);
    cr_expect_str_eq(self.info.class_names[0], "cat");
    cr_expect_str_eq(self.info.class_names[1], "dog");

    int32_t labels[2];
    unsigned char *images =
        read_images(&self, HOX_SPLIT_TRAIN, (const uint64_t[]){0, 1}, 2, labels);
    cr_expect_arr_eq(images, expected, sizeof expected);
    cr_expect_eq(labels[0], 1);
    cr_expect_eq(labels[1], 0);
    free(images);
    images = read_images(&self, HOX_SPLIT_TEST, (const uint64_t[]){0}, 1, labels);
    cr_expect_eq(images[6], 'A');
    cr_expect_eq(images[33], 'F');
    cr_expect_eq(labels[0], 1);
    free(images);
    dataset_deinit(&self);
    folder_remove(&folder);
}

Test(idx, pads_and_replicates_plain_files) {
    check_pixels(0);
}

Test(idx, pads_and_replicates_packed_files) {
    check_pixels(1);
}

Test(idx, names_classes_by_number_and_needs_no_test_split) {
    dataset_under_test self;
    idx_folder folder;
    folder_make(&folder, 0);
    write_file(folder.train_labels, BYTES(LABELS("\2") "\0\377"), 0);
    dataset_init(&self, "dataset_idx");
    folder_use(&self, &folder);
    set_text(&self, "classes", "");
    set_text(&self, "test_images", "");
    dataset_must_open(&self);
    cr_expect_eq(self.info.test_count, 0);
    cr_assert_eq(self.info.class_count, 256);
    cr_expect_str_eq(self.info.class_names[0], "0");
    cr_expect_str_eq(self.info.class_names[255], "255");
    check_refused(&self, HOX_SPLIT_TEST, 0, "no split 2");
    dataset_deinit(&self);
    folder_remove(&folder);
}

// Changes that must show in the fingerprint, and packing, which must not.
static void fingerprint(const idx_folder *folder, int change, uint64_t of[2]) {
    dataset_under_test self;
    dataset_init(&self, "dataset_idx");
    folder_use(&self, folder);
    if (change == 1) set_int(&self, "pad", 1);
    if (change == 2) set_int(&self, "replicate", 2);
    if (change == 3) set_text(&self, "classes", "cat,cow");
    if (change == 4) set_text(&self, "test_images", NULL);
    if (change == 5) set_text(&self, "train_images", folder->test_images);
    if (change == 5) set_text(&self, "train_labels", folder->test_labels);
    dataset_must_open(&self);
    memcpy(of, self.info.fingerprint, sizeof self.info.fingerprint);
    dataset_deinit(&self);
}

Test(idx, fingerprint_tells_content_and_options) {
    enum { CHANGES = 6 };
    idx_folder plain, packed;
    folder_make(&plain, 0);
    folder_make(&packed, 1);
    uint64_t of[CHANGES][2], of_packed[2];
    for (int i = 0; i < CHANGES; i++) {
        fingerprint(&plain, i, of[i]);
        for (int j = 0; j < i; j++)
            cr_expect(of[i][0] != of[j][0] && of[i][1] != of[j][1], "%d and %d", i, j);
    }
    fingerprint(&packed, 0, of_packed);
    cr_expect_arr_eq(of_packed, of[0], sizeof of_packed);
    folder_remove(&packed);
    folder_remove(&plain);
}

// What can be wrong with a file: each is named with file, offset and record. ---------------------

enum { PLAIN, PACKED, FIFO, DIRECTORY, ABSENT, OPTION };

typedef struct damage {
    const char *what;
    const char *option; // whose file or text is wrong
    int kind;
    const char *bytes; // contents, or the text of the option
    size_t size;
    int cut, flip; // bytes cut off the stored file's end; the byte so far from its end changed
    hox_status status;
    const char *message;
} damage;

#define SIXTEEN(text)                                                                              \
    text text text text text text text text text text text text text text text text

static const damage damages[] = {
    {"absent", "train_images", ABSENT, BYTES(""), 0, 0, HOX_IO, "/train: No such file"},
    {"absent default", "test_labels", OPTION, BYTES(FASHION_MNIST "absent.gz"), 0, 0, HOX_IO,
     "install the package dataset-fashion-mnist"},
    {"absent labels", "test_labels", ABSENT, BYTES(""), 0, 0, HOX_IO, "/test-labels: No such"},
    {"directory", "train_images", DIRECTORY, BYTES(""), 0, 0, HOX_IO, "/train: not a regular file"},
    {"fifo", "test_labels", FIFO, BYTES(""), 0, 0, HOX_IO, "/test-labels: not a regular file"},
    {"empty", "train_labels", PLAIN, BYTES(""), 0, 0, HOX_IO, "/train-labels: the file is empty"},
    {"labels for images", "train_images", PLAIN, BYTES(TWO_TRAIN_LABELS), 0, 0, HOX_CORRUPT,
     "/train: offset 0, record 0: not an IDX file of images"},
    {"images for labels", "test_labels", PLAIN, BYTES(ONE_TEST_IMAGE), 0, 0, HOX_CORRUPT,
     "/test-labels: offset 0, record 0: not an IDX file of labels"},
    {"cut magic", "train_images", PLAIN, BYTES("\0\0\10"), 0, 0, HOX_CORRUPT,
     "/train: offset 3, record 0: the file is cut off"},
    {"cut header", "train_images", PACKED, BYTES("\0\0\10\3\0\0\0\2\0\0\0"), 0, 0, HOX_CORRUPT,
     "/train: offset 11, record 0: the file is cut off"},
    {"cut record", "train_images", PLAIN, BYTES(TWO_TRAIN_IMAGES), 2, 0, HOX_CORRUPT,
     "/train: offset 26, record 1: the file is cut off"},
    {"cut packed record", "test_images", PACKED, BYTES(IMAGES("\1") "abcde"), 0, 0, HOX_CORRUPT,
     "/test: offset 21, record 0: the file is cut off"},
    {"cut labels", "train_labels", PLAIN, BYTES(TWO_TRAIN_LABELS), 1, 0, HOX_CORRUPT,
     "/train-labels: offset 9, record 1: the file is cut off"},
    {"cut gzip stream", "train_images", PACKED, BYTES(TWO_TRAIN_IMAGES), 12, 0, HOX_CORRUPT,
     "the file is cut off"},
    {"cut gzip checksum", "train_images", PACKED, BYTES(TWO_TRAIN_IMAGES), 5, 0, HOX_CORRUPT,
     "/train: offset 28, record 2: the file is cut off"},
    {"wrong gzip checksum", "train_images", PACKED, BYTES(TWO_TRAIN_IMAGES), 0, 6, HOX_CORRUPT,
     "incorrect data check"},
    {"more bytes", "train_images", PLAIN, BYTES(TWO_TRAIN_IMAGES "x"), 0, 0, HOX_CORRUPT,
     "/train: offset 28, record 2: bytes after the last record"},
    {"more packed labels", "test_labels", PACKED, BYTES(ONE_TEST_LABEL "x"), 0, 0, HOX_CORRUPT,
     "/test-labels: offset 9, record 1: bytes after the last record"},
    {"another count", "train_labels", PLAIN, BYTES(LABELS("\3") "\1\0\1"), 0, 0, HOX_CORRUPT,
     "/train-labels: offset 4, record 0: 3 labels for 2 images"},
    {"no records", "train_images", PLAIN, BYTES(IMAGES("\0")), 0, 0, HOX_CORRUPT,
     "/train: offset 4, record 0: there are no records"},
    {"no rows", "train_images", PLAIN, BYTES("\0\0\10\3\0\0\0\2\0\0\0\0\0\0\0\3"), 0, 0,
     HOX_CORRUPT, "/train: offset 8, record 0: height or width is outside 1..16384"},
    {"vast width", "train_images", PLAIN, BYTES("\0\0\10\3\0\0\0\2\0\0\0\1\377\377\377\377"), 0, 0,
     HOX_CORRUPT, "/train: offset 8, record 0: height or width is outside 1..16384"},
    {"vast count", "train_images", PLAIN, BYTES("\0\0\10\3\377\377\377\377\0\0\100\0\0\0\100\0"), 0,
     0, HOX_CORRUPT, "/train: offset 4, record 0: the sizes are more than the file can hold"},
    {"unknown label", "train_labels", PLAIN, BYTES(LABELS("\2") "\0\2"), 0, 0, HOX_CORRUPT,
     "/train-labels: offset 9, record 1: label 2, but there are 2 classes"},
    {"unknown test label", "test_labels", PLAIN, BYTES(LABELS("\1") "\377"), 0, 0, HOX_CORRUPT,
     "/test-labels: offset 8, record 0: label 255, but there are 2 classes"},
    {"another size", "test_images", PLAIN, BYTES("\0\0\10\3\0\0\0\1\0\0\0\3\0\0\0\2abcdef"), 0, 0,
     HOX_CORRUPT, "/test: offset 8, record 0: images are 3 x 2, those of"},
    {"nameless class", "classes", OPTION, BYTES("cat,,dog"), 0, 0, HOX_BAD_OPTION,
     "classes: name 1 is empty"},
    {"class twice", "classes", OPTION, BYTES("cat,dog,cat"), 0, 0, HOX_BAD_OPTION,
     "classes: name 2 stands there twice"},
    {"257 classes", "classes", OPTION, BYTES(SIXTEEN(SIXTEEN("a,")) "a"), 0, 0, HOX_BAD_OPTION,
     "classes: name 256 is one too many"},
    {"no training images", "train_images", OPTION, BYTES(""), 0, 0, HOX_BAD_OPTION,
     "train_images and train_labels are both needed"},
    {"no test labels", "test_labels", OPTION, BYTES(""), 0, 0, HOX_BAD_OPTION,
     "test_images and test_labels are both needed"},
};

static const char *path_of(const idx_folder *folder, const char *option) {
    if (strcmp(option, "train_images") == 0) return folder->train_images;
    if (strcmp(option, "train_labels") == 0) return folder->train_labels;
    return strcmp(option, "test_images") == 0 ? folder->test_images : folder->test_labels;
}

static void spoil_stored(const char *path, const damage *how) {
    struct stat facts;
    cr_assert_eq(stat(path, &facts), 0);
    cr_assert_eq(truncate(path, facts.st_size - how->cut), 0);
    if (how->flip == 0) return;
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    fseek(file, -how->flip, SEEK_END);
    const int byte = fgetc(file);
    fseek(file, -how->flip, SEEK_END);
    fputc(byte ^ 1, file);
    fclose(file);
}

static void do_damage(dataset_under_test *self, const idx_folder *folder, const damage *how) {
    if (how->kind == OPTION) {
        set_text(self, how->option, how->bytes);
        return;
    }
    const char *path = path_of(folder, how->option);
    cr_assert_eq(remove(path), 0);
    if (how->kind == FIFO) cr_assert_eq(mkfifo(path, 0600), 0);
    if (how->kind == DIRECTORY) cr_assert_eq(mkdir(path, 0700), 0);
    if (how->kind != PLAIN && how->kind != PACKED) return;
    write_file(path, how->bytes, how->size, how->kind == PACKED);
    spoil_stored(path, how);
}

ParameterizedTestParameters(idx, names_file_offset_and_record_of_what_is_wrong) {
    return index_params(sizeof damages / sizeof *damages);
}

ParameterizedTest(size_t *row, idx, names_file_offset_and_record_of_what_is_wrong) {
    const damage *how = &damages[*row];
    dataset_under_test self;
    idx_folder folder;
    folder_make(&folder, 0);
    dataset_init(&self, "dataset_idx");
    folder_use(&self, &folder);
    do_damage(&self, &folder, how);
    hox_error error = HOX_ERROR_INIT;
    self.dataset = (hox_dataset *)&self;
    cr_expect_eq(dataset_open(&self, &error), how->status, "%s: %s", how->what, error.message);
    cr_expect(strstr(error.message, how->message), "%s: %s", how->what, error.message);
    cr_expect_null(self.dataset, "%s", how->what);
    cr_expect_lt(self.host.peak_bytes, 1 << 20, "%s: believed the header", how->what);
    dataset_deinit(&self);
    folder_remove(&folder);
}

Test(idx, opens_fashion_mnist_by_default) {
    if (access(FASHION_MNIST "train-images-idx3-ubyte.gz", R_OK) != 0)
        cr_skip_test("needs the package dataset-fashion-mnist");
    dataset_under_test self;
    dataset_init(&self, "dataset_idx");
    dataset_must_open(&self);
    cr_assert_eq(self.info.train_count, 60000);
    cr_assert_eq(self.info.test_count, 10000);
    cr_expect_eq(self.info.channels, 1);
    cr_expect_eq(self.info.height, 28);
    cr_expect_eq(self.info.width, 28);
    cr_assert_eq(self.info.class_count, 10);
    cr_expect_str_eq(self.info.class_names[9], "Ankle boot");
    uint64_t *indices = calloc(60000, sizeof *indices);
    int32_t *labels = calloc(60000, sizeof *labels);
    cr_assert(indices && labels);
    for (uint64_t i = 0; i < 60000; i++)
        indices[i] = i;
    int counts[10] = {0};
    cr_assert_eq(self.api->read(self.dataset, HOX_SPLIT_TRAIN, indices, 60000, NULL, labels, NULL),
                 HOX_OK);
    for (size_t i = 0; i < 60000; i++)
        counts[labels[i]]++;
    for (size_t i = 0; i < 10; i++)
        cr_expect_eq(counts[i], 6000, "class %zu", i);
    cr_expect_eq(labels[0], 9); // the first image is an ankle boot
    free(labels);
    free(indices);
    dataset_deinit(&self);
}
