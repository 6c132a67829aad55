// dataset_fixture.h - opens a dataset plugin on a host of the test's own, and writes small files
// for it to read.
#pragma once

#include "host_double.h"
#include "plugin_fixture.h"
#include "temp_folder.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

// A dataset, its options and its host; the files of idx lie in a folder of the test's own.
typedef struct dataset_under_test {
    host_double host;
    const hox_plugin *plugin;
    const hox_dataset_api *api;
    void *options;
    hox_dataset *dataset;
    hox_dataset_info info;
    int descriptor_count; // open when the test began
} dataset_under_test;

// Loads the plugin; options are at their defaults.
void dataset_init(dataset_under_test *self, const char *file);
hox_status dataset_open(dataset_under_test *self, hox_error *error); // fills info
void dataset_must_open(dataset_under_test *self);
// Closes; then the ledger must be empty, and no file open.
void dataset_deinit(dataset_under_test *self);

void set_text(dataset_under_test *self, const char *name, const char *value);
void set_int(dataset_under_test *self, const char *name, int64_t value);
void set_choice(dataset_under_test *self, const char *name, const char *value);

size_t image_bytes(const hox_dataset_info *info);
// count images; yours.
unsigned char *read_images(dataset_under_test *self, uint32_t split, const uint64_t *indices,
                           size_t count, int32_t *labels);
// Reading fails, and the message holds the fragment.
void check_refused(dataset_under_test *self, uint32_t split, uint64_t index, const char *fragment);

// Rows 0 .. count - 1, at most 64: a test row is an index, as no pointers may stand in it.
struct criterion_test_params index_params(size_t count);

enum { TEST_PATH_BYTES = 256 };

// Returns path.
const char *path_in(const temp_folder *folder, const char *name, char path[TEST_PATH_BYTES]);

// Writes count CIFAR records of label_count labels each; labels has them in a row. Pixel i of
// record r, whose first label is l, is cifar_pixel(l, r, i).
void write_cifar(const char *path, const char *labels, size_t label_count, size_t count);
unsigned char cifar_pixel(int label, size_t record, size_t i);

// Two training images and one test image of 2 x 3, in a temporary folder.
typedef struct idx_folder {
    char path[64];
    char train_images[96], train_labels[96], test_images[96], test_labels[96];
} idx_folder;

#define BYTES(text)      (text), sizeof(text) - 1 // the NUL behind a literal is not in the file
#define IMAGES(count)    "\0\0\10\3\0\0\0" count "\0\0\0\2\0\0\0\3"
#define LABELS(count)    "\0\0\10\1\0\0\0" count
#define TWO_TRAIN_IMAGES IMAGES("\2") "\1\2\3\4\5\6\11\12\13\14\15\16"
#define TWO_TRAIN_LABELS LABELS("\2") "\1\0"
#define ONE_TEST_IMAGE   IMAGES("\1") "\101\102\103\104\105\106"
#define ONE_TEST_LABEL   LABELS("\1") "\1"

void write_file(const char *path, const char *bytes, size_t size, int is_packed);
void folder_make(idx_folder *folder, int is_packed);
void folder_remove(const idx_folder *folder);
// Points the options of idx at the folder; the classes are cat and dog.
void folder_use(dataset_under_test *self, const idx_folder *folder);
