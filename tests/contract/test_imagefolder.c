// test_imagefolder.c - dataset imagefolder: every kind of PNG, resizing by area, classes, and what
// can be wrong with folders and files.
#include "dataset_fixture.h"
#include "png_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void make_folder(const temp_folder *folder, const char *name) {
    char path[TEST_PATH_BYTES];
    cr_assert_eq(mkdir(path_in(folder, name, path), 0700), 0, "%s", path);
}

static void write_into(const temp_folder *folder, const char *name, const char *bytes,
                       size_t size) {
    char path[TEST_PATH_BYTES];
    write_file(path_in(folder, name, path), bytes, size, 0);
}

// 4 x 4, all gray.
static void write_gray(const temp_folder *folder, const char *name, unsigned char gray) {
    char path[TEST_PATH_BYTES];
    write_plain_png(path_in(folder, name, path), 4, 4, gray, gray, gray);
}

typedef struct image_test {
    dataset_under_test self;
    temp_folder folder;
    char train[TEST_PATH_BYTES], test[TEST_PATH_BYTES];
} image_test;

static void begin(image_test *test) {
    *test = (image_test){.folder = temp_folder_make()};
    dataset_init(&test->self, "dataset_imagefolder");
    set_text(&test->self, "train", path_in(&test->folder, "train", test->train));
    set_int(&test->self, "size", 2);
    make_folder(&test->folder, "train");
}

static void end(image_test *test) {
    dataset_deinit(&test->self);
    temp_folder_remove(&test->folder);
}

// train: cat 10 20, dog 30; test: dog 40.
static void begin_with_pets(image_test *test) {
    begin(test);
    set_text(&test->self, "test", path_in(&test->folder, "test", test->test));
    make_folder(&test->folder, "train/dog"); // in no order
    write_gray(&test->folder, "train/dog/a.png", 30);
    make_folder(&test->folder, "train/cat");
    write_gray(&test->folder, "train/cat/b.png", 20);
    write_gray(&test->folder, "train/cat/a.png", 10);
    make_folder(&test->folder, "test");
    make_folder(&test->folder, "test/dog");
    write_gray(&test->folder, "test/dog/a.png", 40);
}

// Opens, takes the fingerprint, closes: options may change only while nothing is open.
static void fingerprint(image_test *test, uint64_t of[2]) {
    dataset_must_open(&test->self);
    memcpy(of, test->self.info.fingerprint, sizeof test->self.info.fingerprint);
    test->self.api->close(test->self.dataset);
    test->self.dataset = NULL;
}

// The first byte of each image of a split, and its label.
static void check_split(image_test *test, uint32_t split, size_t count, const int *grays,
                        const int *classes) {
    for (size_t i = 0; i < count; i++) {
        int32_t label;
        unsigned char *image = read_images(&test->self, split, &(const uint64_t){i}, 1, &label);
        cr_expect_eq(image[0], grays[i], "image %zu: %d", i, image[0]);
        cr_expect_eq(label, classes[i], "image %zu: class %d", i, label);
        free(image);
    }
}

// Pixels -------------------------------------------------------------------------------------

// Two by two pixels of each kind of PNG, and what must come of them. Where count is 4, green and
// blue are as red.
typedef struct kind {
    const char *what;
    png_picture picture;
    int64_t channels;
    size_t count;
    unsigned char expected[12];
} kind;

static const kind kinds[] = {
    {"gray",
     {2, 2, 8, PNG_GRAY, 0, (const unsigned char[]){10, 20, 30, 255}, NULL, 0, NULL},
     3,
     4,
     {10, 20, 30, 255}},
    {"gray to one channel",
     {2, 2, 8, PNG_GRAY, 0, (const unsigned char[]){10, 20, 30, 255}, NULL, 0, NULL},
     1,
     4,
     {10, 20, 30, 255}},
    {"1 bit",
     {2, 2, 1, PNG_GRAY, 0, (const unsigned char[]){0x40, 0x80}, NULL, 0, NULL},
     3,
     4,
     {0, 255, 255, 0}},
    {"4 bits",
     {2, 2, 4, PNG_GRAY, 0, (const unsigned char[]){0x01, 0xEF}, NULL, 0, NULL},
     3,
     4,
     {0, 17, 238, 255}},
    // 0x1234 / 257 = 18.1, 0x12FF / 257 = 18.9
    {"16 bits",
     {2, 2, 16, PNG_GRAY, 0, (const unsigned char[]){0x12, 0x34, 0x12, 0xFF, 0, 0, 0xFF, 0xFF},
      NULL, 0, NULL},
     3,
     4,
     {18, 19, 0, 255}},
    {"interlaced 16 bits",
     {2, 2, 16, PNG_GRAY, 1, (const unsigned char[]){0x12, 0x34, 0x12, 0xFF, 0, 0, 0xFF, 0xFF},
      NULL, 0, NULL},
     1,
     4,
     {18, 19, 0, 255}},
    {"RGB",
     {2, 2, 8, PNG_RGB, 0, (const unsigned char[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, NULL, 0,
      NULL},
     3,
     12,
     {1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}},
    {"interlaced RGB",
     {2, 2, 8, PNG_RGB, 1, (const unsigned char[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, NULL, 0,
      NULL},
     3,
     12,
     {1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}},
    // 255 * 0.299 = 76.2, * 0.587 = 149.7, * 0.114 = 29.1
    {"RGB to luma",
     {2, 2, 8, PNG_RGB, 0, (const unsigned char[]){255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255},
      NULL, 0, NULL},
     1,
     4,
     {76, 150, 29, 255}},
    // 200 * 128 / 255 = 100.4, 100 * 128 / 255 = 50.2, 50 * 128 / 255 = 25.1; 254 * 51 / 255 = 50.8
    {"alpha",
     {2, 2, 8, PNG_RGB_ALPHA, 0,
      (const unsigned char[]){200, 100, 50, 128, 9, 8, 7, 0, 9, 8, 7, 255, 254, 0, 254, 51}, NULL,
      0, NULL},
     3,
     12,
     {100, 0, 9, 51, 50, 0, 8, 0, 25, 0, 7, 51}},
    {"gray with alpha",
     {2, 2, 8, PNG_GRAY_ALPHA, 0, (const unsigned char[]){200, 51, 200, 0, 200, 255, 0, 255}, NULL,
      0, NULL},
     3,
     4,
     {40, 0, 200, 0}},
    {"palette",
     {2, 2, 8, PNG_PALETTE, 0, (const unsigned char[]){0, 1, 1, 0},
      (const unsigned char[]){1, 2, 3, 101, 102, 103}, 2, NULL},
     3,
     12,
     {1, 101, 101, 1, 2, 102, 102, 2, 3, 103, 103, 3}},
    {"palette of 2 bits with alpha",
     {2, 2, 2, PNG_PALETTE, 0, (const unsigned char[]){0x10, 0x40},
      (const unsigned char[]){10, 20, 30, 50, 100, 150}, 2, (const unsigned char[]){255, 51}},
     3,
     12,
     {10, 10, 10, 10, 20, 20, 20, 20, 30, 30, 30, 30}},
};

ParameterizedTestParameters(imagefolder, decodes_every_kind_of_png) {
    return index_params(sizeof kinds / sizeof *kinds);
}

ParameterizedTest(size_t *row, imagefolder, decodes_every_kind_of_png) {
    const kind *k = &kinds[*row];
    image_test test;
    char path[TEST_PATH_BYTES];
    begin(&test);
    set_int(&test.self, "channels", k->channels);
    make_folder(&test.folder, "train/only");
    write_png(path_in(&test.folder, "train/only/1.png", path), &k->picture);
    dataset_must_open(&test.self);
    cr_assert_eq(test.self.info.channels, k->channels);
    cr_assert_eq(test.self.info.height, 2);
    cr_assert_eq(test.self.info.width, 2);
    int32_t label;
    unsigned char *image =
        read_images(&test.self, HOX_SPLIT_TRAIN, (const uint64_t[]){0}, 1, &label);
    for (size_t i = 0; i < 4 * (size_t)k->channels; i++)
        cr_expect_eq(image[i], k->expected[i % k->count], "%s: byte %zu is %d", k->what, i,
                     image[i]);
    free(image);
    end(&test);
}

// A gray picture brought to size x size.
typedef struct sizing {
    const char *what;
    uint32_t width, height;
    const unsigned char *rows;
    int64_t size;
    unsigned char expected[16];
} sizing;

// 5 x 7 to 3 x 3: in thirds, columns weigh 3 2 0 0 0, 0 1 3 1 0, 0 0 0 2 3 (of 5), rows 3 3 1 0
// ..., 0 0 2 3 2 0 0, ... 1 3 3 (of 7).
static const sizing sizings[] = {
    // 30 x + 10 y: columns give 12, 60, 108, rows 7 1/7, 30, 52 6/7
    {"ramp",
     5,
     7,
     (const unsigned char[]){0,   30,  60,  90,  120, 10,  40,  70,  100, 130, 20,  50,
                             80,  110, 140, 30,  60,  90,  120, 150, 40,  70,  100, 130,
                             160, 50,  80,  110, 140, 170, 60,  90,  120, 150, 180},
     3,
     {19, 67, 115, 42, 90, 138, 65, 113, 161}},
    // 255 * 2 * 1 / 35 = 14.6, 255 / 35 = 7.3; 255 * 2 * 2 / 35 = 29.1, 255 * 2 / 35 = 14.6
    {"point at 1, 2",
     5,
     7,
     (const unsigned char[35]){[11] = 255},
     3,
     {15, 7, 0, 29, 15, 0, 0, 0, 0}},
    {"as it is",
     3,
     3,
     (const unsigned char[]){1, 2, 3, 4, 5, 6, 7, 8, 9},
     3,
     {1, 2, 3, 4, 5, 6, 7, 8, 9}},
    {"a half rounds up", 2, 2, (const unsigned char[]){1, 1, 1, 3}, 1, {2}},
    {"one pixel", 1, 1, (const unsigned char[]){77}, 3, {77, 77, 77, 77, 77, 77, 77, 77, 77}},
    {"wider", 2, 1, (const unsigned char[]){10, 20}, 3, {10, 15, 20, 10, 15, 20, 10, 15, 20}},
    {"higher", 1, 3, (const unsigned char[]){10, 20, 60}, 2, {13, 13, 47, 47}},
    {"twice as large",
     2,
     2,
     (const unsigned char[]){1, 2, 3, 4},
     4,
     {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}},
};

ParameterizedTestParameters(imagefolder, resizes_by_exact_area) {
    return index_params(2 * sizeof sizings / sizeof *sizings);
}

ParameterizedTest(size_t *row, imagefolder, resizes_by_exact_area) {
    const sizing *s = &sizings[*row / 2];
    const png_picture picture = {.width = s->width,
                                 .height = s->height,
                                 .bit_depth = 8,
                                 .is_interlaced = *row % 2 == 1,
                                 .rows = s->rows};
    image_test test;
    char path[TEST_PATH_BYTES];
    begin(&test);
    set_int(&test.self, "channels", 3);
    set_int(&test.self, "size", s->size);
    make_folder(&test.folder, "train/only");
    write_png(path_in(&test.folder, "train/only/1.png", path), &picture);
    dataset_must_open(&test.self);
    const size_t plane = (size_t)(s->size * s->size);
    int32_t label;
    unsigned char *image =
        read_images(&test.self, HOX_SPLIT_TRAIN, (const uint64_t[]){0}, 1, &label);
    for (size_t i = 0; i < 3 * plane; i++)
        cr_expect_eq(image[i], s->expected[i % plane], "%s: byte %zu is %d", s->what, i, image[i]);
    free(image);
    end(&test);
}

// Folders ------------------------------------------------------------------------------------

Test(imagefolder, sorts_classes_and_files_by_name) {
    image_test test;
    begin_with_pets(&test);
    make_folder(&test.folder, "train/Zebra"); // capitals come first
    write_gray(&test.folder, "train/Zebra/1.PNG", 50);
    write_gray(&test.folder, "train/Zebra/10.png", 60);
    write_gray(&test.folder, "train/Zebra/9.png", 70);
    dataset_must_open(&test.self);
    cr_assert_eq(test.self.info.class_count, 3);
    cr_expect_str_eq(test.self.info.class_names[0], "Zebra");
    cr_expect_str_eq(test.self.info.class_names[1], "cat");
    cr_expect_str_eq(test.self.info.class_names[2], "dog");
    cr_assert_eq(test.self.info.train_count, 6);
    cr_assert_eq(test.self.info.test_count, 1);
    check_split(&test, HOX_SPLIT_TRAIN, 6, (const int[]){50, 60, 70, 10, 20, 30},
                (const int[]){0, 0, 0, 1, 1, 2});
    check_split(&test, HOX_SPLIT_TEST, 1, (const int[]){40}, (const int[]){2});
    cr_expect_str_empty(test.self.host.last_log);
    end(&test);
}

Test(imagefolder, lists_many_files) {
    image_test test;
    begin(&test);
    make_folder(&test.folder, "train/many");
    for (int i = 0; i < 250; i++) { // more names than the first block of them holds
        char name[80];
        snprintf(name, sizeof name, "train/many/%s-%03d.png", "a-name-that-is-rather-long",
                 249 - i);
        write_gray(&test.folder, name, (unsigned char)(249 - i));
    }
    dataset_must_open(&test.self);
    cr_assert_eq(test.self.info.train_count, 250);
    int grays[250], classes[250] = {0};
    for (int i = 0; i < 250; i++)
        grays[i] = i;
    check_split(&test, HOX_SPLIT_TRAIN, 250, grays, classes);
    end(&test);
}

Test(imagefolder, needs_no_test_split) {
    image_test test;
    begin_with_pets(&test);
    set_text(&test.self, "test", "");
    dataset_must_open(&test.self);
    cr_expect_eq(test.self.info.test_count, 0);
    check_refused(&test.self, HOX_SPLIT_TEST, 0, "no split 2");
    end(&test);
}

Test(imagefolder, passes_over_hidden_files_and_readmes) {
    image_test test;
    begin_with_pets(&test);
    write_into(&test.folder, "train/.DS_Store", BYTES("x"));
    write_into(&test.folder, "train/README.md", BYTES("x"));
    make_folder(&test.folder, "train/.cache");
    write_into(&test.folder, "train/cat/.hidden.png", BYTES("x"));
    write_into(&test.folder, "train/cat/readme", BYTES("x"));
    write_into(&test.folder, "test/README.txt", BYTES("x"));
    dataset_must_open(&test.self);
    cr_expect_eq(test.self.info.class_count, 2);
    cr_expect_eq(test.self.info.train_count, 3);
    end(&test);
}

Test(imagefolder, follows_links) {
    image_test test;
    begin_with_pets(&test);
    char from[TEST_PATH_BYTES], to[TEST_PATH_BYTES];
    cr_assert_eq(symlink("a.png", path_in(&test.folder, "train/dog/b.png", to)), 0);
    cr_assert_eq(
        symlink(path_in(&test.folder, "train/dog", from), path_in(&test.folder, "train/eel", to)),
        0);
    dataset_must_open(&test.self);
    cr_assert_eq(test.self.info.class_count, 3);
    cr_assert_eq(test.self.info.train_count, 6);
    check_split(&test, HOX_SPLIT_TRAIN, 6, (const int[]){10, 20, 30, 30, 30, 30},
                (const int[]){0, 0, 1, 1, 2, 2});
    end(&test);
}

Test(imagefolder, warns_of_an_empty_class) {
    image_test test;
    begin_with_pets(&test);
    make_folder(&test.folder, "train/cow");
    dataset_must_open(&test.self);
    cr_expect_eq(test.self.info.class_count, 3);
    cr_expect_eq(test.self.info.train_count, 3);
    check_split(&test, HOX_SPLIT_TRAIN, 3, (const int[]){10, 20, 30}, (const int[]){0, 0, 2});
    cr_expect(strstr(test.self.host.last_log, "/train/cow: no images of this class"), "%s",
              test.self.host.last_log);
    end(&test);
}

Test(imagefolder, fingerprint_tells_content_and_options) {
    enum { ROWS = 8 };
    uint64_t of[ROWS][2], renamed[2];
    image_test test;
    char from[TEST_PATH_BYTES], to[TEST_PATH_BYTES];
    begin_with_pets(&test);
    for (int i = 0; i < ROWS; i++) {
        if (i == 1) set_int(&test.self, "size", 3);
        if (i == 2) set_int(&test.self, "channels", 1);
        if (i == 3) write_gray(&test.folder, "train/cat/a.png", 11);
        if (i == 4) write_gray(&test.folder, "test/dog/a.png", 41);
        if (i == 5)
            rename(path_in(&test.folder, "test/dog", from), path_in(&test.folder, "test/cat", to));
        if (i == 6)
            rename(path_in(&test.folder, "train/dog", from),
                   path_in(&test.folder, "train/hound", to));
        if (i == 7) set_text(&test.self, "test", "");
        fingerprint(&test, of[i]);
        for (int j = 0; j < i; j++)
            cr_expect(of[i][0] != of[j][0] && of[i][1] != of[j][1], "%d and %d", i, j);
    }
    rename(path_in(&test.folder, "train/cat/a.png", from),
           path_in(&test.folder, "train/cat/also.png", to));
    fingerprint(&test, renamed); // the names of files are not content
    cr_expect_arr_eq(renamed, of[ROWS - 1], sizeof renamed);
    end(&test);
}

// What can be wrong --------------------------------------------------------------------------

enum { CONTENT, FIFO, FOLDER, LINK, UNREADABLE, CUT, CLAIM, TEXT, INT };

typedef struct damage {
    const char *what;
    const char *name; // of the entry that is wrong, or of the option
    int kind;
    const char *bytes;      // contents, target of the link, or the option's text
    size_t size;            // of bytes; what is left of a file that is cut
    uint32_t width, height; // that the file claims; width: the option's number
    hox_status status;
    const char *message;
} damage;

#define NO_SIZE 0, 0

static const damage damages[] = {
    {"text", "train/cat/a.png", CONTENT, BYTES("This is a picture, or so its name says.\n"),
     NO_SIZE, HOX_CORRUPT, "/train/cat/a.png: cannot be decoded: Not a PNG file"},
    {"JPEG", "train/cat/a.png", CONTENT, BYTES("\377\330\377\340\0\20JFIF\0\1\1\0"), NO_SIZE,
     HOX_CORRUPT, "/train/cat/a.png: cannot be decoded: Not a PNG file"},
    {"as text copied", "train/cat/a.png", CONTENT, BYTES("\211PNG\n\32\n\0\0\0\15IHDR"), NO_SIZE,
     HOX_CORRUPT, "/train/cat/a.png: cannot be decoded: "},
    {"short text", "train/cat/a.png", CONTENT, BYTES("\211PNG"), NO_SIZE, HOX_CORRUPT,
     "/train/cat/a.png: cannot be decoded: the file is cut off"},
    {"empty file", "train/dog/b.png", CONTENT, BYTES(""), NO_SIZE, HOX_IO,
     "/train/dog/b.png: the file is empty"},
    {"cut in the header", "test/dog/a.png", CUT, NULL, 20, NO_SIZE, HOX_CORRUPT,
     "/test/dog/a.png: cannot be decoded: the file is cut off"},
    {"cut in the pixels", "train/cat/b.png", CUT, NULL, 45, NO_SIZE, HOX_CORRUPT,
     "/train/cat/b.png: cannot be decoded: the file is cut off"},
    {"no width", "train/cat/b.png", CLAIM, NULL, 0, 0, 4, HOX_CORRUPT,
     "/train/cat/b.png: cannot be decoded: Invalid IHDR"},
    {"no height", "train/cat/b.png", CLAIM, NULL, 0, 4, 0, HOX_CORRUPT,
     "/train/cat/b.png: cannot be decoded: Invalid IHDR"},
    {"vast", "train/cat/b.png", CLAIM, NULL, 0, 60000, 60000, HOX_CORRUPT,
     "/train/cat/b.png: 60000 x 60000 pixels are too many, at most 67108864 are read"},
    {"vaster", "train/cat/b.png", CLAIM, NULL, 0, 0x7FFFFFFF, 0x7FFFFFFF, HOX_CORRUPT,
     "/train/cat/b.png: cannot be decoded: Invalid IHDR"},
    {"vastest", "train/cat/b.png", CLAIM, NULL, 0, 0xFFFFFFFF, 1, HOX_CORRUPT,
     "/train/cat/b.png: cannot be decoded: "},
    {"higher than it is", "train/cat/b.png", CLAIM, NULL, 0, 4, 5, HOX_CORRUPT,
     "/train/cat/b.png: cannot be decoded: "},
    {"fifo", "train/dog/b.png", FIFO, NULL, 0, NO_SIZE, HOX_IO,
     "/train/dog/b.png: not a regular file"},
    {"unreadable file", "train/dog/a.png", UNREADABLE, NULL, 0, NO_SIZE, HOX_IO,
     "/train/dog/a.png: Permission denied"},
    {"unreadable class", "train/dog", UNREADABLE, NULL, 0, NO_SIZE, HOX_IO,
     "/train/dog: Permission denied"},
    {"another kind", "train/dog/b.jpg", CONTENT, BYTES("x"), NO_SIZE, HOX_CORRUPT,
     "/train/dog/b.jpg: not a .png file"},
    {"no name", "train/dog/png", CONTENT, BYTES("x"), NO_SIZE, HOX_CORRUPT,
     "/train/dog/png: not a .png file"},
    {"image beside the classes", "train/a.png", CONTENT, BYTES("x"), NO_SIZE, HOX_CORRUPT,
     "/train/a.png: not a folder; each class has a folder of its own"},
    {"file beside the classes of test", "test/labels.csv", CONTENT, BYTES("x"), NO_SIZE,
     HOX_CORRUPT, "/test/labels.csv: not a folder"},
    {"fifo beside the classes", "train/pipe", FIFO, NULL, 0, NO_SIZE, HOX_CORRUPT,
     "/train/pipe: not a folder"},
    {"folder in a class", "train/dog/more", FOLDER, NULL, 0, NO_SIZE, HOX_CORRUPT,
     "/train/dog/more: a folder in the folder of a class"},
    {"folder named as an image", "train/dog/b.png", FOLDER, NULL, 0, NO_SIZE, HOX_CORRUPT,
     "/train/dog/b.png: a folder in the folder of a class"},
    {"link to itself", "train/dog/b.png", LINK, BYTES("b.png"), NO_SIZE, HOX_CORRUPT,
     "/train/dog/b.png: Too many levels of symbolic links"},
    {"class that is a link to itself", "train/eel", LINK, BYTES("eel"), NO_SIZE, HOX_CORRUPT,
     "/train/eel: Too many levels of symbolic links"},
    {"class that leads back", "train/eel", LINK, BYTES(".."), NO_SIZE, HOX_CORRUPT,
     "/train/eel/test: a folder in the folder of a class"},
    {"link to nothing", "train/dog/b.png", LINK, BYTES("nothing.png"), NO_SIZE, HOX_CORRUPT,
     "/train/dog/b.png: No such file"},
    {"class that train does not have", "test/eel", FOLDER, NULL, 0, NO_SIZE, HOX_CORRUPT,
     "/train has no such class"},
    {"class in Latin-1", "train/k\344fer", FOLDER, NULL, 0, NO_SIZE, HOX_CORRUPT,
     "fer: the name is not UTF-8"},
    {"class of two lines", "train/a\nb", FOLDER, NULL, 0, NO_SIZE, HOX_CORRUPT,
     "b: the name has a control character"},
    {"no train", "train", TEXT, BYTES(""), NO_SIZE, HOX_BAD_OPTION, "train: none is given"},
    {"absent train", "train", TEXT, BYTES("/nowhere/train"), NO_SIZE, HOX_IO,
     "/nowhere/train: No such file"},
    {"a file for train", "train", TEXT, BYTES("/dev/null"), NO_SIZE, HOX_IO,
     "/dev/null: Not a directory"},
    {"absent test", "test", TEXT, BYTES("/nowhere/test"), NO_SIZE, HOX_IO,
     "/nowhere/test: No such file"},
    {"2 channels", "channels", INT, NULL, 0, 2, 0, HOX_BAD_OPTION,
     "channels: 2 is neither 1 nor 3"},
};

static int spoil(image_test *test, const damage *how) {
    char path[TEST_PATH_BYTES];
    path_in(&test->folder, how->name, path);
    switch (how->kind) {
        case CONTENT: write_file(path, how->bytes, how->size, 0); break;
        case FIFO: cr_assert_eq(mkfifo(path, 0600), 0); break;
        case FOLDER: make_folder(&test->folder, how->name); break;
        case LINK: cr_assert_eq(symlink(how->bytes, path), 0); break;
        case UNREADABLE:
            cr_assert_eq(chmod(path, 0), 0);
            return access(path, R_OK) != 0; // root may read all the same
        case CUT: cr_assert_eq(truncate(path, (off_t)how->size), 0); break;
        case CLAIM: claim_png_size(path, how->width, how->height); break;
        case TEXT: set_text(&test->self, how->name, how->bytes); break;
        case INT: set_int(&test->self, how->name, how->width); break;
    }
    return 1;
}

static void check_fails(image_test *test, hox_status status, const char *message,
                        const char *what) {
    hox_error error = HOX_ERROR_INIT;
    test->self.dataset = (hox_dataset *)test;
    cr_expect_eq(dataset_open(&test->self, &error), status, "%s: %s", what, error.message);
    cr_expect(strstr(error.message, message), "%s: %s", what, error.message);
    cr_expect_null(test->self.dataset, "%s", what);
    cr_expect_lt(test->self.host.peak_bytes, 1 << 20, "%s: believed the header", what);
}

ParameterizedTestParameters(imagefolder, says_what_is_wrong) {
    return index_params(sizeof damages / sizeof *damages);
}

ParameterizedTest(size_t *row, imagefolder, says_what_is_wrong) {
    const damage *how = &damages[*row];
    image_test test;
    begin_with_pets(&test);
    if (spoil(&test, how)) check_fails(&test, how->status, how->message, how->what);
    char path[TEST_PATH_BYTES];
    if (how->kind == UNREADABLE) chmod(path_in(&test.folder, how->name, path), 0700);
    end(&test);
}

Test(imagefolder, needs_classes_and_images) {
    image_test test;
    begin(&test);
    check_fails(&test, HOX_CORRUPT, "/train: no images; each class has a folder of its own",
                "no classes");
    make_folder(&test.folder, "train/cat");
    check_fails(&test, HOX_CORRUPT, "/train: no images; each class has a folder of its own",
                "no images");
    write_gray(&test.folder, "train/cat/1.png", 1);
    make_folder(&test.folder, "test");
    set_text(&test.self, "test", path_in(&test.folder, "test", test.test));
    check_fails(&test, HOX_CORRUPT, "/test: no images; each class has a folder of its own",
                "no test images");
    end(&test);
}
