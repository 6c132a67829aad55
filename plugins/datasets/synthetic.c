// synthetic.c - dataset "synthetic": noisy gratings whose direction is their class. Phase,
// wavelength and brightness are random, so only structure tells. All in integers: the same bytes
// everywhere.
#include "block.h"

#include <hox/plugin.h>
#include <xxhash.h>

enum { MAX_CLASSES = 10, FORMAT = 1 }; // FORMAT grows when the same options give other pixels

typedef struct synthetic_options {
    int64_t train_count, test_count;
    int64_t size, channels, class_count;
    double noise;
    uint64_t seed;
} synthetic_options;

struct hox_dataset {
    const hox_host *host;
    const synthetic_options *options;
    int32_t noise; // 0 .. 256
};

// A sine in steps of 1/65536 turn, scaled to +-32768: two parabolas, within 6% of the real one.
static int32_t wave(uint32_t phase) {
    const int32_t part = (int32_t)(phase % 32768);
    const int32_t height = part * (32768 - part) / 8192;
    return phase % 65536 < 32768 ? height : -height;
}

static void draw(const hox_dataset *dataset, uint32_t split, uint64_t index, uint32_t block,
                 uint32_t words[4]) {
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), split, block};
    dataset->host->random(dataset->host, dataset->options->seed, counter, words);
}

// What is random about one image.
typedef struct grating {
    uint32_t phase, step_x, step_y; // 1/65536 turn at the corner, and per pixel
    int32_t brightness;
} grating;

static grating draw_grating(const hox_dataset *dataset, uint32_t split, uint64_t index,
                            uint32_t class) {
    uint32_t words[4];
    draw(dataset, split, index, 0, words);
    const uint32_t direction = 32768 * class / (uint32_t)dataset->options->class_count;
    const int32_t step = 9362 + (int32_t)(words[1] % 3745); // wavelength 7 to 5 pixels
    return (grating){
        .phase = words[0],
        .step_x = (uint32_t)(step * (wave(direction + 16384) / 8) / 4096),
        .step_y = (uint32_t)(step * (wave(direction) / 8) / 4096),
        .brightness = (int32_t)(words[2] % 64) - 32,
    };
}

// signal and noise are +-32768; the pixel stays within 16 .. 240.
static uint8_t mix(const hox_dataset *dataset, int32_t signal, int32_t noise, int32_t brightness) {
    const int32_t mixed = (signal * (256 - dataset->noise) + noise * dataset->noise) / 256;
    return (uint8_t)(128 + brightness + mixed * 80 / 32768);
}

static uint32_t image_size(const synthetic_options *options) {
    return (uint32_t)(options->channels * options->size * options->size);
}

static void write_image(const hox_dataset *dataset, uint32_t split, uint64_t index, uint32_t class,
                        uint8_t *image) {
    const grating g = draw_grating(dataset, split, index, class);
    const uint32_t side = (uint32_t)dataset->options->size, plane = side * side;
    uint32_t words[4];
    for (uint32_t i = 0; i < image_size(dataset->options); i++) {
        if (i % 16 == 0) draw(dataset, split, index, 1 + i / 16, words); // a byte of noise each
        const uint32_t byte = words[i % 16 / 4] >> (i % 4 * 8) & 255;
        const uint32_t channel = i / plane, y = i % plane / side, x = i % side;
        const uint32_t phase = g.phase * (channel + 1) + x * g.step_x + y * g.step_y;
        image[i] = mix(dataset, wave(phase), (int32_t)byte * 257 - 32768, g.brightness);
    }
}

static hox_status synthetic_open(const hox_host *host, const void *options, hox_dataset **dataset,
                                 hox_error *error) {
    *dataset = NULL;
    void *block;
    HOX_TRY(take_block(host, sizeof **dataset, &block, error));
    hox_dataset *opened = block;
    *opened = (hox_dataset){.host = host, .options = options};
    opened->noise = (int32_t)(opened->options->noise * 256 + 0.5);
    *dataset = opened;
    return HOX_OK;
}

static void synthetic_close(hox_dataset *dataset) {
    if (dataset) return_block(dataset->host, dataset, sizeof *dataset);
}

static void synthetic_info(const hox_dataset *dataset, hox_dataset_info *info) {
    static const char *const names[MAX_CLASSES] = {"0", "1", "2", "3", "4",
                                                   "5", "6", "7", "8", "9"};
    const synthetic_options *options = dataset->options;
    const uint64_t content[] = {FORMAT,
                                (uint64_t)options->train_count,
                                (uint64_t)options->test_count,
                                (uint64_t)options->size,
                                (uint64_t)options->channels,
                                (uint64_t)options->class_count,
                                (uint64_t)dataset->noise,
                                options->seed};
    const XXH128_hash_t hash = XXH3_128bits(content, sizeof content);
    *info = (hox_dataset_info){
        .struct_size = sizeof *info,
        .pixel_type = HOX_PIXEL_U8,
        .channels = (uint32_t)options->channels,
        .height = (uint32_t)options->size,
        .width = (uint32_t)options->size,
        .class_count = (uint32_t)options->class_count,
        .train_count = (uint64_t)options->train_count,
        .test_count = (uint64_t)options->test_count,
        .class_names = names,
        .fingerprint = {hash.low64, hash.high64},
    };
}

// Images of a split; 0 where there is no such split.
static uint64_t split_count(const synthetic_options *options, uint32_t split) {
    if (split == HOX_SPLIT_TRAIN) return (uint64_t)options->train_count;
    if (split == HOX_SPLIT_TEST) return (uint64_t)options->test_count;
    return 0;
}

static hox_status synthetic_read(hox_dataset *dataset, uint32_t split, const uint64_t *indices,
                                 uint64_t count, void *images, int32_t *labels, hox_error *error) {
    const synthetic_options *options = dataset->options;
    const uint64_t available = split_count(options, split);
    if (available == 0)
        return hox_error_set(error, HOX_INVALID_ARGUMENT, "there is no split %u", split);
    for (uint64_t i = 0; i < count; i++) {
        if (indices[i] >= available)
            return hox_error_set(error, HOX_INVALID_ARGUMENT, "image %llu of %llu in split %u",
                                 (unsigned long long)indices[i], (unsigned long long)available,
                                 split);
        const uint32_t class = (uint32_t)(indices[i] % (uint64_t)options->class_count);
        labels[i] = (int32_t) class;
        if (images)
            write_image(dataset, split, indices[i], class,
                        (uint8_t *)images + i * image_size(options));
    }
    return HOX_OK;
}

static const hox_field fields[] = {
    HOX_INT(synthetic_options, train_count, 2000, 1, 10000000, "training images"),
    HOX_INT(synthetic_options, test_count, 500, 0, 10000000, "test images; 0: no test split"),
    HOX_INT(synthetic_options, size, 16, 4, 256, "height and width in pixels"),
    HOX_INT(synthetic_options, channels, 3, 1, 64, "channels, each with its own phase"),
    HOX_INT(synthetic_options, class_count, 4, 2, MAX_CLASSES, "directions, in equal numbers"),
    HOX_RATE(synthetic_options, noise, 0.3, "share of noise in a pixel"),
    HOX_SEED(synthetic_options, seed, "another seed, other images"),
};

static const hox_dataset_api api = {
    .struct_size = sizeof api,
    .open = synthetic_open,
    .close = synthetic_close,
    .info = synthetic_info,
    .read = synthetic_read,
};

HOX_DATASET_PLUGIN(&api, .name = "synthetic", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "noisy gratings, one direction per class; needs no files",
                   HOX_OPTIONS(synthetic_options, fields));
