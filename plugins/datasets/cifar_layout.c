// cifar_layout.c - see cifar_layout.h.
#include "cifar_layout.h"

#include "regular_file.h"

#include <unistd.h>

static const char *const cifar_10_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                             "dog",      "frog",       "horse", "ship", "truck"};

const cifar_layout cifar_layouts[CIFAR_LAYOUTS] = {
    [CIFAR_10] = {.name = "CIFAR-10",
                  .train_files = "data_batch_1.bin,data_batch_2.bin,data_batch_3.bin,"
                                 "data_batch_4.bin,data_batch_5.bin",
                  .test_files = "test_batch.bin",
                  .python_file = "data_batch_1",
                  .label_count = 1,
                  .labels = {{10, "batches.meta.txt", cifar_10_names}}},
    [CIFAR_100] = {.name = "CIFAR-100",
                   .train_files = "train.bin",
                   .test_files = "test.bin",
                   .python_file = "train",
                   .label_count = 2,
                   .labels = {{20, "coarse_label_names.txt", 0}, {100, "fine_label_names.txt", 0}}},
};

uint64_t cifar_record_bytes(const cifar_layout *layout) {
    return layout->label_count + CIFAR_IMAGE_BYTES;
}

#define BINARY_VERSION                                                                             \
    "hox reads the binary version (cifar-10-binary.tar.gz, cifar-100-binary.tar.gz)"

// None of them begins with a label that is in range.
static const struct {
    const char *words;
    int size;
    uint8_t low[4], high[4]; // bounds of the first bytes
} strangers[] = {
    // Pickles: their protocol is the second byte.
    {"this is the Python version of CIFAR; " BINARY_VERSION, 2, {0x80, 2}, {0x80, 5}},
    {"this is the Matlab version of CIFAR; " BINARY_VERSION, 4, "MATL", "MATL"},
    {"this is packed with gzip; unpack it first", 2, {0x1F, 0x8B}, {0x1F, 0x8B}},
};

const char *cifar_stranger_in(int descriptor) {
    uint8_t head[4] = {0};
    if (pread(descriptor, head, sizeof head, 0) < 2) return NULL;
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        int same = 0;
        while (same < strangers[i].size && head[same] >= strangers[i].low[same] &&
               head[same] <= strangers[i].high[same])
            same++;
        if (same == strangers[i].size) return strangers[i].words;
    }
    return NULL;
}

const char *cifar_stranger_at(const char *path) {
    int descriptor;
    uint64_t size;
    if (regular_file_open(path, &descriptor, &size)) return NULL;
    const char *words = cifar_stranger_in(descriptor);
    close(descriptor);
    return words;
}
