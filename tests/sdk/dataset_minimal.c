// dataset_minimal.c - two images of one pixel, and an option of every type.
#include <hox/plugin.h>

typedef struct minimal_options {
    int64_t whole;
    double real;
    double rate;
    int32_t is_on;
    int32_t choice;
    const char *text;
    const char *path;
    const char *label;
    uint64_t seed;
    hox_int_list ints;
    hox_real_list reals;
} minimal_options;

static hox_status minimal_open(const hox_host *host, const void *options, hox_dataset **dataset,
                               hox_error *error) {
    (void)host;
    (void)options;
    *dataset = NULL;
    return hox_error_set(error, HOX_UNSUPPORTED, "%s", "a plugin for the headers' own test");
}

static void minimal_close(hox_dataset *dataset) {
    (void)dataset;
}

static void minimal_info(const hox_dataset *dataset, hox_dataset_info *info) {
    static const char *const class_names[] = {"dark", "light"};
    (void)dataset;
    info->pixel_type = HOX_PIXEL_U8;
    info->channels = info->height = info->width = 1;
    info->class_count = 2;
    info->train_count = 2;
    if (HOX_HAS(info, class_names)) info->class_names = class_names;
}

static hox_status minimal_read(hox_dataset *dataset, uint32_t split, const uint64_t *indices,
                               uint64_t count, void *images, int32_t *labels, hox_error *error) {
    (void)dataset;
    if (split != HOX_SPLIT_TRAIN) {
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "no split %u", split);
    }
    for (uint64_t i = 0; i < count; i++) {
        if (images) ((uint8_t *)images)[i] = indices[i] ? 255 : 0;
        labels[i] = (int32_t)indices[i];
    }
    return HOX_OK;
}

static const char *const choices[] = {"first", "second", NULL};

static const hox_field fields[] = {
    HOX_INT(minimal_options, whole, 3, 1, 10, "an integer"),
    HOX_REAL(minimal_options, real, 0.5, -1.0, 1.0, "a number"),
    HOX_RATE(minimal_options, rate, 0.08, "a number from 0 to 1"),
    HOX_BOOL(minimal_options, is_on, 1, "true or false"),
    HOX_CHOICE(minimal_options, choice, "second", choices, "one of the names"),
    HOX_TEXT(minimal_options, text, "some", "a string"),
    HOX_PATH(minimal_options, path, NULL, "a file or a folder"),
    HOX_LABEL(minimal_options, label, "0", "a name or a number"),
    HOX_SEED(minimal_options, seed, "64 bits"),
    HOX_INTS(minimal_options, ints, "[1, 2]", 0, 9, "integers"),
    HOX_REALS(minimal_options, reals, "[0.5]", 0.0, 1.0, "numbers"),
};

static const hox_dataset_api minimal_api = {.struct_size = sizeof minimal_api,
                                            .open = minimal_open,
                                            .close = minimal_close,
                                            .info = minimal_info,
                                            .read = minimal_read};

HOX_DATASET_PLUGIN(&minimal_api, .name = "minimal", HOX_OPTIONS(minimal_options, fields));
