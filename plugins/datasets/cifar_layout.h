// cifar_layout.h - what the archives of CIFAR-10 and CIFAR-100 hold, and what is taken for them by
// mistake.
//
// A record is its labels, one byte each (CIFAR-10: class; CIFAR-100: coarse, fine), then 1024 red,
// 1024 green and 1024 blue bytes, row by row: already the order the host wants.
#pragma once

#include <stdint.h>

enum { CIFAR_CHANNELS = 3, CIFAR_SIDE = 32, CIFAR_MAX_CLASSES = 100 };
enum { CIFAR_IMAGE_BYTES = CIFAR_CHANNELS * CIFAR_SIDE * CIFAR_SIDE };
enum { CIFAR_AUTO, CIFAR_10, CIFAR_100, CIFAR_LAYOUTS };

// What one label byte says.
typedef struct cifar_label {
    uint32_t class_count;
    const char *names_file;   // in the folder, may be absent
    const char *const *names; // without it; NULL: the numbers
} cifar_label;

typedef struct cifar_layout {
    const char *name;
    const char *train_files, *test_files; // between commas
    const char *python_file;              // one that the Python version has
    uint32_t label_count;
    cifar_label labels[2]; // in the order of the record
} cifar_layout;

extern const cifar_layout cifar_layouts[CIFAR_LAYOUTS]; // from CIFAR_10 on

uint64_t cifar_record_bytes(const cifar_layout *layout);

// What the file is, in words, if it is of another version or packed; else NULL. [main]
const char *cifar_stranger_in(int descriptor); // from its first bytes
const char *cifar_stranger_at(const char *path);
