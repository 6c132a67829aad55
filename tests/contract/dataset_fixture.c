// dataset_fixture.c - see dataset_fixture.h.
#include "dataset_fixture.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

hox_status dataset_open(dataset_under_test *self, hox_error *error) {
    const hox_status status =
        self->api->open(&self->host.host, self->options, &self->dataset, error);
    self->info = (hox_dataset_info){.struct_size = sizeof self->info};
    if (status == HOX_OK) self->api->info(self->dataset, &self->info);
    return status;
}

void dataset_must_open(dataset_under_test *self) {
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(dataset_open(self, &error), HOX_OK, "%s", error.message);
}

static int open_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    cr_assert_not_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

void dataset_init(dataset_under_test *self, const char *file) {
    memset(self, 0, sizeof *self);
    host_double_init(&self->host);
    self->plugin = plugin_load(file);
    self->api = self->plugin->dataset;
    self->options = plugin_options(self->plugin);
    self->descriptor_count = open_descriptors();
}

void dataset_deinit(dataset_under_test *self) {
    self->api->close(self->dataset);
    free(self->options);
    cr_expect_eq(self->host.live_bytes, 0, "%zu bytes stay in the ledger",
                 (size_t)self->host.live_bytes);
    cr_expect_eq(open_descriptors(), self->descriptor_count, "a file stays open");
}

void set_text(dataset_under_test *self, const char *name, const char *value) {
    plugin_set_text(self->plugin, self->options, name, value);
}

void set_int(dataset_under_test *self, const char *name, int64_t value) {
    plugin_set_int(self->plugin, self->options, name, value);
}

void set_choice(dataset_under_test *self, const char *name, const char *value) {
    plugin_set_choice(self->plugin, self->options, name, value);
}

size_t image_bytes(const hox_dataset_info *info) {
    return (size_t)info->channels * info->height * info->width *
           (info->pixel_type == HOX_PIXEL_F32 ? sizeof(float) : 1);
}

unsigned char *read_images(dataset_under_test *self, uint32_t split, const uint64_t *indices,
                           size_t count, int32_t *labels) {
    unsigned char *images = malloc(count * image_bytes(&self->info));
    cr_assert_not_null(images);
    memset(images, 0xEE, count * image_bytes(&self->info)); // each byte must be written
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(self->api->read(self->dataset, split, indices, count, images, labels, &error),
                 HOX_OK, "%s", error.message);
    return images;
}

void check_refused(dataset_under_test *self, uint32_t split, uint64_t index, const char *fragment) {
    int32_t label;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(self->api->read(self->dataset, split, &index, 1, NULL, &label, &error),
                 HOX_INVALID_ARGUMENT);
    cr_expect(strstr(error.message, fragment), "%s", error.message);
}

struct criterion_test_params index_params(size_t count) {
    static size_t indices[64]; // a test row: no pointers may stand in it
    for (size_t i = 0; i < count; i++)
        indices[i] = i;
    return cr_make_param_array(size_t, indices, count);
}

void write_file(const char *path, const char *bytes, size_t size, int is_packed) {
    gzFile file = gzopen(path, is_packed ? "wb" : "wbT"); // T: as is
    cr_assert_not_null(file);
    cr_assert(size == 0 || gzwrite(file, bytes, (unsigned)size) == (int)size);
    cr_assert_eq(gzclose(file), Z_OK);
}

const char *path_in(const temp_folder *folder, const char *name, char path[TEST_PATH_BYTES]) {
    snprintf(path, TEST_PATH_BYTES, "%s/%s", folder->path, name);
    return path;
}

unsigned char cifar_pixel(int label, size_t record, size_t i) {
    return (unsigned char)((size_t)label * 37 + record * 11 + i + i / 1024);
}

void write_cifar(const char *path, const char *labels, size_t label_count, size_t count) {
    const size_t record_bytes = label_count + 3072;
    char *bytes = malloc(count * record_bytes);
    cr_assert_not_null(bytes);
    for (size_t r = 0; r < count; r++) {
        char *record = bytes + r * record_bytes;
        memcpy(record, labels + r * label_count, label_count);
        for (size_t i = 0; i < 3072; i++)
            record[label_count + i] = (char)cifar_pixel(record[0], r, i);
    }
    write_file(path, bytes, count * record_bytes, 0);
    free(bytes);
}

void folder_make(idx_folder *folder, int is_packed) {
    strcpy(folder->path, "/tmp/hox-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder->path));
    snprintf(folder->train_images, sizeof folder->train_images, "%s/train", folder->path);
    snprintf(folder->train_labels, sizeof folder->train_labels, "%s/train-labels", folder->path);
    snprintf(folder->test_images, sizeof folder->test_images, "%s/test", folder->path);
    snprintf(folder->test_labels, sizeof folder->test_labels, "%s/test-labels", folder->path);
    write_file(folder->train_images, BYTES(TWO_TRAIN_IMAGES), is_packed);
    write_file(folder->train_labels, BYTES(TWO_TRAIN_LABELS), is_packed);
    write_file(folder->test_images, BYTES(ONE_TEST_IMAGE), is_packed);
    write_file(folder->test_labels, BYTES(ONE_TEST_LABEL), is_packed);
}

void folder_use(dataset_under_test *self, const idx_folder *folder) {
    set_text(self, "train_images", folder->train_images);
    set_text(self, "train_labels", folder->train_labels);
    set_text(self, "test_images", folder->test_images);
    set_text(self, "test_labels", folder->test_labels);
    set_text(self, "classes", "cat,dog");
}

void folder_remove(const idx_folder *folder) {
    const char *const paths[] = {folder->train_images, folder->train_labels, folder->test_images,
                                 folder->test_labels};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        remove(paths[i]);
    cr_expect_eq(rmdir(folder->path), 0);
}
