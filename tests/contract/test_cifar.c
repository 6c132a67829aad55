// test_cifar.c - dataset cifar: every file read and in order, classes, which of the two it is,
// fingerprint, and what can be wrong with a file.
#include "dataset_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_OF_10 "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"
#define PYTHON      "\200\2}q\1(U\13batch_labelq\2"

static void write_into(const temp_folder *folder, const char *name, const char *bytes,
                       size_t size) {
    char path[TEST_PATH_BYTES];
    write_file(path_in(folder, name, path), bytes, size, 0);
}

static void write_records(const temp_folder *folder, const char *name, const char *labels,
                          size_t label_count, size_t count) {
    char path[TEST_PATH_BYTES];
    write_cifar(path_in(folder, name, path), labels, label_count, count);
}

// As the archive unpacks, but of two records a file: (0,1) (2,3) (4,5) (6,7) (8,9), and one in
// test.
static void write_archive_of_10(const temp_folder *folder) {
    for (int i = 0; i < 5; i++) {
        const char labels[] = {(char)(2 * i), (char)(2 * i + 1)};
        char name[32];
        snprintf(name, sizeof name, "data_batch_%d.bin", i + 1);
        write_records(folder, name, labels, 1, 2);
    }
    write_records(folder, "test_batch.bin", "\7", 1, 1);
}

// (coarse, fine): (0,99) (19,0) (3,42), and (7,8) in test.
static void write_archive_of_100(const temp_folder *folder) {
    write_records(folder, "train.bin", "\0\143\23\0\3\52", 2, 3);
    write_records(folder, "test.bin", "\7\10", 2, 1);
}

static temp_folder begin(dataset_under_test *self, void (*write)(const temp_folder *)) {
    const temp_folder folder = temp_folder_make();
    if (write) write(&folder);
    dataset_init(self, "dataset_cifar");
    return folder;
}

static void end(dataset_under_test *self, const temp_folder *folder) {
    dataset_deinit(self);
    temp_folder_remove(folder);
}

static void check_labels(dataset_under_test *self, uint32_t split, const int32_t *expected,
                         size_t count) {
    uint64_t indices[16];
    int32_t labels[16];
    for (size_t i = 0; i < count; i++)
        indices[i] = i;
    cr_assert_eq(self->api->read(self->dataset, split, indices, count, NULL, labels, NULL), HOX_OK);
    cr_expect_arr_eq(labels, expected, count * sizeof *labels);
}

Test(cifar, reads_all_five_files_in_their_order) {
    static const int32_t expected[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    dataset_under_test self;
    const temp_folder folder = begin(&self, write_archive_of_10);
    set_text(&self, "folder", folder.path);
    dataset_must_open(&self);
    cr_assert_eq(self.info.train_count, 10);
    cr_assert_eq(self.info.test_count, 1);
    cr_assert_eq(self.info.class_count, 10);
    check_labels(&self, HOX_SPLIT_TRAIN, expected, 10);
    check_labels(&self, HOX_SPLIT_TEST, expected + 7, 1);
    for (size_t i = 0; i < 10; i++) {
        int32_t label;
        unsigned char *image = read_images(&self, HOX_SPLIT_TRAIN, &(const uint64_t){i}, 1, &label);
        for (size_t j = 0; j < 3072; j++)
            cr_assert_eq(image[j], cifar_pixel((int)i, i % 2, j), "image %zu, byte %zu", i, j);
        free(image);
    }
    end(&self, &folder);
}

Test(cifar, gives_red_green_and_blue_planes_of_32_x_32) {
    static char record[3073] = {
        3, [1] = 10, [32] = 11, [33] = 12, [1025] = 20, [2049] = 30, [3072] = 31};
    dataset_under_test self;
    const temp_folder folder = begin(&self, NULL);
    write_into(&folder, "one.bin", record, sizeof record);
    set_text(&self, "folder", folder.path);
    set_text(&self, "train_files", "one.bin");
    dataset_must_open(&self);
    cr_expect_eq(self.info.pixel_type, HOX_PIXEL_U8);
    cr_assert_eq(self.info.channels, 3);
    cr_assert_eq(self.info.height, 32);
    cr_assert_eq(self.info.width, 32);
    cr_expect_eq(self.info.test_count, 0);
    int32_t label;
    unsigned char *image = read_images(&self, HOX_SPLIT_TRAIN, (const uint64_t[]){0}, 1, &label);
    cr_expect_eq(label, 3);
    cr_expect_eq(image[0], 10);
    cr_expect_eq(image[31], 11);
    cr_expect_eq(image[32], 12);
    cr_expect_eq(image[1024], 20);
    cr_expect_eq(image[2048], 30);
    cr_expect_eq(image[3071], 31);
    free(image);
    end(&self, &folder);
}

Test(cifar, takes_files_of_any_number_length_and_place) {
    static const int32_t expected[] = {9, 8, 7, 0, 1};
    dataset_under_test self;
    const temp_folder folder = begin(&self, NULL), elsewhere = temp_folder_make();
    write_records(&folder, "three", "\11\10\7", 1, 3);
    write_records(&elsewhere, "one", "\0", 1, 1);
    write_records(&folder, "last", "\1", 1, 1);
    char files[TEST_PATH_BYTES];
    snprintf(files, sizeof files, "three, %s/one ,last", elsewhere.path);
    set_text(&self, "folder", folder.path);
    set_text(&self, "train_files", files);
    set_text(&self, "test_files", "last,three");
    dataset_must_open(&self);
    cr_assert_eq(self.info.train_count, 5);
    cr_assert_eq(self.info.test_count, 4);
    check_labels(&self, HOX_SPLIT_TRAIN, expected, 5);
    check_labels(&self, HOX_SPLIT_TEST, (const int32_t[]){1, 9, 8, 7}, 4);
    end(&self, &folder);
    temp_folder_remove(&elsewhere);
}

Test(cifar, needs_no_folder_for_absolute_files_and_no_test_split) {
    dataset_under_test self;
    const temp_folder folder = begin(&self, write_archive_of_10);
    char path[TEST_PATH_BYTES];
    set_text(&self, "train_files", path_in(&folder, "data_batch_3.bin", path));
    dataset_must_open(&self);
    cr_expect_eq(self.info.train_count, 2);
    cr_expect_eq(self.info.test_count, 0);
    check_refused(&self, HOX_SPLIT_TEST, 0, "no split 2");
    end(&self, &folder);
}

Test(cifar, leaves_out_the_test_split_where_test_files_is_empty) {
    dataset_under_test self;
    const temp_folder folder = begin(&self, write_archive_of_10);
    set_text(&self, "folder", folder.path);
    set_text(&self, "test_files", "");
    dataset_must_open(&self);
    cr_expect_eq(self.info.train_count, 10);
    cr_expect_eq(self.info.test_count, 0);
    end(&self, &folder);
}

static void check_names(dataset_under_test *self, const char *first, const char *last) {
    dataset_must_open(self);
    cr_expect_str_eq(self->info.class_names[0], first);
    cr_expect_str_eq(self->info.class_names[self->info.class_count - 1], last);
    self->api->close(self->dataset);
    self->dataset = NULL;
}

Test(cifar, names_the_classes_by_the_file_in_the_folder) {
    dataset_under_test self;
    const temp_folder folder = begin(&self, write_archive_of_10);
    set_text(&self, "folder", folder.path);
    check_names(&self, "airplane", "truck");
    write_into(&folder, "batches.meta.txt",
               BYTES("a\r\nb\r\nc\nd\ne\nf\ng\nh\ni\nlast one \n\n\n"));
    check_names(&self, "a", "last one");
    write_into(&folder, "batches.meta.txt", BYTES("a\nb\nc\nd\ne\nf\ng\nh\ni\n\303\244"));
    check_names(&self, "a", "\303\244"); // a letter outside ASCII, no line end
    end(&self, &folder);
}

Test(cifar, reads_fine_and_coarse_labels_of_cifar_100) {
    dataset_under_test self;
    const temp_folder folder = begin(&self, write_archive_of_100);
    set_text(&self, "folder", folder.path);
    dataset_must_open(&self);
    cr_assert_eq(self.info.class_count, 100);
    cr_expect_str_eq(self.info.class_names[99], "99");
    check_labels(&self, HOX_SPLIT_TRAIN, (const int32_t[]){99, 0, 42}, 3);
    check_labels(&self, HOX_SPLIT_TEST, (const int32_t[]){8}, 1);
    int32_t label;
    unsigned char *image = read_images(&self, HOX_SPLIT_TRAIN, (const uint64_t[]){1}, 1, &label);
    cr_expect_eq(image[0], cifar_pixel(19, 1, 0));
    cr_expect_eq(image[3071], cifar_pixel(19, 1, 3071));
    free(image);
    self.api->close(self.dataset);
    set_choice(&self, "labels", "coarse");
    dataset_must_open(&self);
    cr_assert_eq(self.info.class_count, 20);
    cr_expect_str_eq(self.info.class_names[19], "19");
    check_labels(&self, HOX_SPLIT_TRAIN, (const int32_t[]){0, 19, 3}, 3);
    end(&self, &folder);
}

Test(cifar, names_the_classes_of_cifar_100_by_file) {
    char fine[1000] = "", coarse[200] = "";
    for (int i = 0; i < 100; i++)
        sprintf(fine + strlen(fine), "fine %d\n", i);
    for (int i = 0; i < 20; i++)
        sprintf(coarse + strlen(coarse), "rough %d\n", i);
    dataset_under_test self;
    const temp_folder folder = begin(&self, write_archive_of_100);
    write_into(&folder, "fine_label_names.txt", fine, strlen(fine));
    write_into(&folder, "coarse_label_names.txt", coarse, strlen(coarse));
    set_text(&self, "folder", folder.path);
    check_names(&self, "fine 0", "fine 99");
    set_choice(&self, "labels", "coarse");
    check_names(&self, "rough 0", "rough 19");
    end(&self, &folder);
}

static uint32_t opened_classes(dataset_under_test *self) {
    dataset_must_open(self);
    self->api->close(self->dataset);
    self->dataset = NULL;
    return self->info.class_count;
}

Test(cifar, tells_the_variant_by_the_size_of_the_first_file) {
    dataset_under_test self;
    const temp_folder folder = begin(&self, NULL);
    write_records(&folder, "ten", "\1\2", 1, 2);
    write_records(&folder, "hundred", "\1\2\3\4", 2, 2);
    set_text(&self, "folder", folder.path);
    set_text(&self, "train_files", "ten");
    cr_expect_eq(opened_classes(&self), 10);
    set_text(&self, "train_files", "hundred");
    cr_expect_eq(opened_classes(&self), 100);
    end(&self, &folder);
}

Test(cifar, needs_the_variant_where_a_file_could_be_either) {
    static char labels[3074];
    dataset_under_test self;
    const temp_folder folder = begin(&self, NULL);
    write_records(&folder, "either", labels, 1, 3074);
    set_text(&self, "folder", folder.path);
    set_text(&self, "train_files", "either");
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(dataset_open(&self, &error), HOX_BAD_OPTION);
    cr_expect(strstr(error.message, "variant: by its size"), "%s", error.message);
    set_choice(&self, "variant", "cifar10");
    cr_expect_eq(opened_classes(&self), 10);
    cr_expect_eq(self.info.train_count, 3074);
    end(&self, &folder);
}

Test(cifar, needs_the_variant_where_a_folder_holds_both) {
    dataset_under_test self;
    const temp_folder folder = begin(&self, write_archive_of_10);
    write_archive_of_100(&folder);
    set_text(&self, "folder", folder.path);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(dataset_open(&self, &error), HOX_BAD_OPTION);
    cr_expect(strstr(error.message, "holds files of both"), "%s", error.message);
    set_choice(&self, "variant", "cifar100");
    cr_expect_eq(opened_classes(&self), 100);
    set_choice(&self, "variant", "cifar10");
    cr_expect_eq(opened_classes(&self), 10);
    end(&self, &folder);
}

// Fingerprint --------------------------------------------------------------------------------

static void fingerprint(const temp_folder *folder, const char *train, const char *test,
                        const char *labels, uint64_t of[2]) {
    dataset_under_test self;
    dataset_init(&self, "dataset_cifar");
    set_text(&self, "folder", folder->path);
    set_text(&self, "train_files", train);
    set_text(&self, "test_files", test);
    set_choice(&self, "labels", labels);
    dataset_must_open(&self);
    memcpy(of, self.info.fingerprint, sizeof self.info.fingerprint);
    dataset_deinit(&self);
}

Test(cifar, fingerprint_tells_content_and_labels_but_not_files) {
    enum { ROWS = 8 };
    const temp_folder folder = temp_folder_make();
    write_records(&folder, "two", "\1\2", 1, 2);
    write_records(&folder, "other", "\1\3", 1, 2);
    write_records(&folder, "one", "\1", 1, 1);
    write_records(&folder, "fine", "\1\2\3\4", 2, 2);
    char record[3073];
    record[0] = 2; // the second of "two", on its own
    for (size_t i = 0; i < 3072; i++)
        record[1 + i] = (char)cifar_pixel(2, 1, i);
    write_into(&folder, "second", record, sizeof record);
    record[3072] ^= 1;
    write_into(&folder, "changed", record, sizeof record);
    uint64_t of[ROWS][2], in_pieces[2];
    fingerprint(&folder, "two", "", "fine", of[0]);
    fingerprint(&folder, "other", "", "fine", of[1]);
    fingerprint(&folder, "one,changed", "", "fine", of[2]);
    fingerprint(&folder, "second,one", "", "fine", of[3]);
    fingerprint(&folder, "two", "one", "fine", of[4]);
    fingerprint(&folder, "fine", "", "fine", of[5]);
    fingerprint(&folder, "fine", "", "coarse", of[6]);
    fingerprint(&folder, "one,second", "", "fine", in_pieces);
    cr_expect_arr_eq(in_pieces, of[0], sizeof in_pieces);
    write_into(&folder, "batches.meta.txt", BYTES(NAMES_OF_10));
    fingerprint(&folder, "two", "", "fine", of[7]);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < i; j++)
            cr_expect(of[i][0] != of[j][0] && of[i][1] != of[j][1], "%d and %d", i, j);
    temp_folder_remove(&folder);
}

// What can be wrong: each is named with file, offset and record, or with the option. --------------

enum { CONTENT, APPENDED, RECORDS, FIFO, DIRECTORY, ABSENT, UNREADABLE, OPTION };

typedef struct damage {
    const char *what;
    const char *name; // of the file that is wrong, or of the option
    int kind;
    const char *bytes; // contents, what is appended, labels of one record each, or an option's text
    size_t size;
    hox_status status;
    const char *message;
} damage;

static const damage damages[] = {
    {"no fifth file", "data_batch_5.bin", ABSENT, BYTES(""), HOX_IO,
     "/data_batch_5.bin: No such file"},
    {"no first file", "data_batch_1.bin", ABSENT, BYTES(""), HOX_IO,
     "/data_batch_1.bin: No such file"},
    {"no test file", "test_batch.bin", ABSENT, BYTES(""), HOX_IO, "/test_batch.bin: No such file"},
    {"empty file", "data_batch_2.bin", CONTENT, BYTES(""), HOX_IO,
     "/data_batch_2.bin: the file is empty"},
    {"directory", "data_batch_3.bin", DIRECTORY, BYTES(""), HOX_IO,
     "/data_batch_3.bin: not a regular file"},
    {"fifo", "test_batch.bin", FIFO, BYTES(""), HOX_IO, "/test_batch.bin: not a regular file"},
    {"unreadable", "data_batch_4.bin", UNREADABLE, BYTES(""), HOX_IO,
     "/data_batch_4.bin: Permission denied"},
    {"one byte more", "data_batch_4.bin", APPENDED, BYTES("\0"), HOX_CORRUPT,
     "/data_batch_4.bin: offset 6147, record 2: the file is cut off; a record of CIFAR-10 has "
     "3073"},
    {"one byte", "data_batch_1.bin", CONTENT, BYTES("\1"), HOX_CORRUPT,
     "/data_batch_1.bin: offset 1, record 0: the file is cut off"},
    {"CIFAR-100 among CIFAR-10", "data_batch_2.bin", CONTENT, BYTES("\1\2\3\4\5"), HOX_CORRUPT,
     "/data_batch_2.bin: offset 5, record 0"},
    {"label 10", "data_batch_5.bin", RECORDS, BYTES("\11\12"), HOX_CORRUPT,
     "/data_batch_5.bin: offset 3073, record 1: label 10, but there are 10 classes"},
    {"label 255", "test_batch.bin", RECORDS, BYTES("\377"), HOX_CORRUPT,
     "/test_batch.bin: offset 0, record 0: label 255, but there are 10 classes"},
    {"Python's", "data_batch_1.bin", CONTENT, BYTES(PYTHON), HOX_CORRUPT,
     "/data_batch_1.bin: this is the Python version of CIFAR; hox reads the binary version"},
    {"Matlab's", "data_batch_1.bin", CONTENT, BYTES("MATLAB 5.0 MAT-file"), HOX_CORRUPT,
     "/data_batch_1.bin: this is the Matlab version of CIFAR; hox reads the binary version"},
    {"packed", "data_batch_2.bin", CONTENT, BYTES("\37\213\10"), HOX_CORRUPT,
     "/data_batch_2.bin: this is packed with gzip; unpack it first"},
    {"nine names", "batches.meta.txt", CONTENT, BYTES("a\nb\nc\nd\ne\nf\ng\nh\ni\n"), HOX_CORRUPT,
     "/batches.meta.txt: 9 names for the 10 classes of CIFAR-10"},
    {"eleven names", "batches.meta.txt", CONTENT, BYTES(NAMES_OF_10 "k\n"), HOX_CORRUPT,
     "/batches.meta.txt: 11 names for the 10 classes of CIFAR-10"},
    {"a blank name", "batches.meta.txt", CONTENT, BYTES("a\nb\n\nd\ne\nf\ng\nh\ni\nj\n"),
     HOX_CORRUPT, "/batches.meta.txt: line 3: the name is empty"},
    {"a name twice", "batches.meta.txt", CONTENT, BYTES("a\nb\nc\nd\ne\nf\ng\nh\ni\nb\n"),
     HOX_CORRUPT, "/batches.meta.txt: line 10: the name stands there twice"},
    {"a name in Latin-1", "batches.meta.txt", CONTENT, BYTES("a\nb\nc\nd\ne\nf\ng\nh\ni\n\344\n"),
     HOX_CORRUPT, "/batches.meta.txt: line 10: the name is not UTF-8"},
    {"half a letter", "batches.meta.txt", CONTENT, BYTES("a\nb\nc\nd\ne\nf\ng\nh\ni\n\303\n"),
     HOX_CORRUPT, "/batches.meta.txt: line 10: the name is not UTF-8"},
    {"a letter too long", "batches.meta.txt", CONTENT,
     BYTES("a\nb\nc\nd\ne\nf\ng\nh\ni\n\340\200\257\n"), HOX_CORRUPT,
     "/batches.meta.txt: line 10: the name is not UTF-8"},
    {"half a surrogate pair", "batches.meta.txt", CONTENT,
     BYTES("a\nb\nc\nd\ne\nf\ng\nh\ni\n\355\240\200\n"), HOX_CORRUPT,
     "/batches.meta.txt: line 10: the name is not UTF-8"},
    {"a tab", "batches.meta.txt", CONTENT, BYTES("a\nb\nc\nd\ne\nf\ng\nh\n\ti\nj\n"), HOX_CORRUPT,
     "/batches.meta.txt: line 9: the name has a control character"},
    {"a folder of names", "batches.meta.txt", DIRECTORY, BYTES(""), HOX_IO,
     "/batches.meta.txt: not a regular file"},
    {"no folder", "folder", OPTION, BYTES(""), HOX_BAD_OPTION,
     "folder: none is given; it must be the one that holds data_batch_1.bin"},
    {"absent folder", "folder", OPTION, BYTES("/nowhere/cifar"), HOX_IO,
     "/nowhere/cifar: No such file or directory"},
    {"a device as folder", "folder", OPTION, BYTES("/dev/null"), HOX_IO,
     "/dev/null: Not a directory"},
    {"another folder", "folder", OPTION, BYTES("/usr"), HOX_IO,
     "/usr: neither data_batch_1.bin (CIFAR-10) nor train.bin (CIFAR-100) is there"},
    {"no files", "train_files", OPTION, BYTES(""), HOX_BAD_OPTION, "train_files: no file is named"},
    {"a nameless file", "train_files", OPTION, BYTES("data_batch_1.bin,,x"), HOX_BAD_OPTION,
     "train_files: name 1 is empty"},
    {"a nameless test file", "test_files", OPTION, BYTES("test_batch.bin, "), HOX_BAD_OPTION,
     "test_files: name 1 is empty"},
    {"an absent file", "train_files", OPTION, BYTES("data_batch_1.bin,absent.bin"), HOX_IO,
     "/absent.bin: No such file"},
};

static int spoil(dataset_under_test *self, const temp_folder *folder, const damage *how) {
    char path[TEST_PATH_BYTES];
    path_in(folder, how->name, path);
    switch (how->kind) {
        case OPTION: set_text(self, how->name, how->bytes); return 1;
        case UNREADABLE:
            cr_assert_eq(chmod(path, 0), 0);
            return access(path, R_OK) != 0; // root may read all the same
        case APPENDED: {
            FILE *file = fopen(path, "ab");
            cr_assert(file && fwrite(how->bytes, 1, how->size, file) == how->size);
            return fclose(file) == 0;
        }
        default: remove(path);
    }
    if (how->kind == CONTENT) write_file(path, how->bytes, how->size, 0);
    if (how->kind == RECORDS) write_cifar(path, how->bytes, 1, how->size);
    if (how->kind == FIFO) cr_assert_eq(mkfifo(path, 0600), 0);
    if (how->kind == DIRECTORY) cr_assert_eq(mkdir(path, 0700), 0);
    return 1;
}

static void check_fails(dataset_under_test *self, hox_status status, const char *message,
                        const char *what) {
    hox_error error = HOX_ERROR_INIT;
    self->dataset = (hox_dataset *)self;
    cr_expect_eq(dataset_open(self, &error), status, "%s: %s", what, error.message);
    cr_expect(strstr(error.message, message), "%s: %s", what, error.message);
    cr_expect_null(self->dataset, "%s", what);
}

ParameterizedTestParameters(cifar, says_what_is_wrong) {
    return index_params(sizeof damages / sizeof *damages);
}

ParameterizedTest(size_t *row, cifar, says_what_is_wrong) {
    const damage *how = &damages[*row];
    dataset_under_test self;
    const temp_folder folder = begin(&self, write_archive_of_10);
    set_text(&self, "folder", folder.path);
    if (spoil(&self, &folder, how)) check_fails(&self, how->status, how->message, how->what);
    end(&self, &folder);
}

Test(cifar, says_what_is_wrong_with_cifar_100) {
    dataset_under_test self;
    const temp_folder folder = begin(&self, NULL);
    set_text(&self, "folder", folder.path);
    write_records(&folder, "train.bin", "\1\2\24\3", 2, 2);
    check_fails(&self, HOX_CORRUPT,
                "/train.bin: offset 3074, record 1: label 20, but there are 20 classes", "coarse");
    write_records(&folder, "train.bin", "\1\2\23\144", 2, 2);
    check_fails(&self, HOX_CORRUPT,
                "/train.bin: offset 3075, record 1: label 100, but there are 100 classes", "fine");
    write_records(&folder, "train.bin", "\1\2", 2, 1);
    check_fails(&self, HOX_IO, "/test.bin: No such file", "no test file");
    write_records(&folder, "test.bin", "\1", 1, 1);
    check_fails(&self, HOX_CORRUPT, "/test.bin: offset 3073, record 0: the file is cut off",
                "a file of CIFAR-10");
    set_text(&self, "train_files", "test.bin");
    set_choice(&self, "labels", "coarse");
    check_fails(&self, HOX_BAD_OPTION, "labels: only CIFAR-100 has coarse ones", "coarse of 10");
    write_into(&folder, "test.bin", BYTES("\1\2\3"));
    check_fails(&self, HOX_CORRUPT, "/test.bin: 3 bytes are no number of whole records", "neither");
    set_text(&self, "folder", "");
    check_fails(&self, HOX_BAD_OPTION, "folder: none is given; it must be the one that holds test",
                "relative without a folder");
    end(&self, &folder);
}

Test(cifar, explains_the_python_version_by_what_the_folder_holds) {
    dataset_under_test self;
    const temp_folder folder = begin(&self, NULL);
    set_text(&self, "folder", folder.path);
    write_into(&folder, "data_batch_1", BYTES(PYTHON));
    check_fails(&self, HOX_CORRUPT, "/data_batch_1: this is the Python version", "10");
    set_choice(&self, "variant", "cifar10");
    check_fails(&self, HOX_CORRUPT, "/data_batch_1: this is the Python version", "10, said");
    write_into(&folder, "train", BYTES(PYTHON));
    set_choice(&self, "variant", "cifar100");
    check_fails(&self, HOX_CORRUPT, "/train: this is the Python version", "100, said");
    set_text(&self, "train_files", "data_batch_1");
    check_fails(&self, HOX_CORRUPT, "/data_batch_1: this is the Python version", "named");
    end(&self, &folder);
}

// A host that changes a file when the plugin has measured it and asks for the memory.
static struct {
    char path[TEST_PATH_BYTES];
    off_t size;
    hox_status (*reserve)(const hox_host *host, const char *device, uint64_t bytes,
                          hox_error *error);
} change;

static hox_status change_and_reserve(const hox_host *host, const char *device, uint64_t bytes,
                                     hox_error *error) {
    if (bytes == 2 * 3073) cr_assert_eq(truncate(change.path, change.size), 0);
    return change.reserve(host, device, bytes, error);
}

Test(cifar, notices_that_a_file_changes_while_it_is_read) {
    dataset_under_test self;
    const temp_folder folder = begin(&self, NULL);
    set_text(&self, "folder", folder.path);
    set_text(&self, "train_files", "two");
    write_records(&folder, "two", "\1\2", 1, 2);
    path_in(&folder, "two", change.path);
    change.reserve = self.host.host.reserve;
    change.size = 3073;
    self.host.host.reserve = change_and_reserve;
    check_fails(&self, HOX_CORRUPT,
                "/two: offset 3073, record 1: the file became shorter while it was read", "short");
    write_records(&folder, "two", "\1\2", 1, 2);
    change.size = 3 * 3073;
    check_fails(&self, HOX_CORRUPT,
                "/two: offset 6146, record 2: the file became longer while it was read", "long");
    end(&self, &folder);
}

// Real images --------------------------------------------------------------------------------

static void check_real(dataset_under_test *self, uint32_t split, uint64_t count,
                       const int32_t first[10], const int expected[10]) {
    uint64_t *indices = calloc(count, sizeof *indices);
    int32_t *labels = calloc(count, sizeof *labels);
    cr_assert(indices && labels);
    for (uint64_t i = 0; i < count; i++)
        indices[i] = i;
    int counts[10] = {0};
    unsigned char *images = read_images(self, split, indices, count, labels);
    for (uint64_t i = 0; i < count; i++)
        counts[labels[i]]++;
    cr_expect_arr_eq(labels, first, 10 * sizeof *labels);
    cr_expect_arr_eq(counts, expected, sizeof counts);
    free(images);
    free(labels);
    free(indices);
}

Test(cifar, opens_real_images) {
    if (access(HOX_SHARED_DIR "/data/cifar10_train_4000.bin", R_OK) != 0)
        cr_skip_test("no sample images in " HOX_SHARED_DIR "/data");
    dataset_under_test self;
    dataset_init(&self, "dataset_cifar");
    set_text(&self, "folder", HOX_SHARED_DIR "/data");
    set_text(&self, "train_files", "cifar10_train_4000.bin");
    set_text(&self, "test_files", "cifar10_test_1000.bin");
    dataset_must_open(&self);
    cr_assert_eq(self.info.train_count, 4000);
    cr_assert_eq(self.info.test_count, 1000);
    cr_expect_str_eq(self.info.class_names[6], "frog");
    check_real(&self, HOX_SPLIT_TRAIN, 4000, (const int32_t[]){6, 9, 9, 4, 1, 1, 2, 7, 8, 3},
               (const int[]){396, 366, 420, 384, 422, 393, 414, 385, 407, 413});
    check_real(&self, HOX_SPLIT_TEST, 1000, (const int32_t[]){3, 8, 8, 0, 6, 6, 1, 6, 3, 1},
               (const int[]){103, 89, 100, 103, 90, 86, 112, 102, 106, 109});
    int32_t label;
    unsigned char *frog = read_images(&self, HOX_SPLIT_TRAIN, (const uint64_t[]){0}, 1, &label);
    cr_expect(frog[0] == 59 && frog[1024] == 62 && frog[2048] == 63 && frog[3071] == 72);
    free(frog);
    dataset_deinit(&self);
}
