// idx.c - dataset "idx": MNIST-like IDX files, plain or gzip, whole in memory.
#include "block.h"
#include "class_names.h"
#include "regular_file.h"

#include <errno.h>
#include <hox/plugin.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

#define FASHION_MNIST "/usr/share/datasets/fashion-mnist/" // Debian's dataset-fashion-mnist

enum { MAX_SIDE = 16384, MAX_DEFLATE_RATIO = 1032, LABEL_COUNT = 256 };

typedef struct idx_options {
    const char *train_images, *train_labels;
    const char *test_images, *test_labels;
    const char *classes;
    int64_t pad, replicate;
} idx_options;

// The contents of one file.
typedef struct idx_array {
    const char *path;
    uint64_t count;
    uint32_t height, width; // 1 x 1 for labels
    uint64_t size;          // count * height * width
    uint8_t *bytes;
} idx_array;

typedef struct idx_split {
    idx_array images, labels;
} idx_split;

struct hox_dataset {
    const hox_host *host;
    const idx_options *options;
    idx_split train, test; // test.images.count is 0 where there is none
    char *names;           // the text behind class_names
    uint64_t names_size;
    uint32_t class_count;
    const char *class_names[LABEL_COUNT];
    uint64_t fingerprint[2];
};

// Reading one file ---------------------------------------------------------------------------

// An open file and how far it is read. Offsets are those of the contents, as if unpacked.
typedef struct idx_reader {
    const char *path;
    gzFile file;
    uint64_t file_bytes; // as stored
    uint64_t offset;
} idx_reader;

static hox_status corrupt(const idx_reader *reader, uint64_t offset, uint64_t record,
                          const char *what, hox_error *error) {
    return hox_error_set(error, HOX_CORRUPT, "%s: offset %llu, record %llu: %s", reader->path,
                         (unsigned long long)offset, (unsigned long long)record, what);
}

static hox_status cannot_open(const char *path, const char *why, hox_error *error) {
    const int is_default = strncmp(path, FASHION_MNIST, strlen(FASHION_MNIST)) == 0;
    return hox_error_set(error, HOX_IO, "%s: %s%s", path, why,
                         is_default ? "; install the package dataset-fashion-mnist" : "");
}

static hox_status reader_open(idx_reader *reader, const char *path, hox_error *error) {
    *reader = (idx_reader){.path = path};
    int descriptor;
    const char *trouble = regular_file_open(path, &descriptor, &reader->file_bytes);
    if (trouble) return cannot_open(path, trouble, error);
    reader->file = gzdopen(descriptor, "rb");
    if (reader->file) return HOX_OK;
    close(descriptor);
    return cannot_open(path, "no memory to read it", error);
}

// How many of count bytes were there; fewer only at the end of the file or of what is readable.
static uint64_t read_bytes(idx_reader *reader, uint8_t *bytes, uint64_t count) {
    const uint64_t start = reader->offset;
    while (count > 0) {
        const unsigned piece = count < (1U << 30) ? (unsigned)count : 1U << 30;
        const int got = gzread(reader->file, bytes, piece);
        if (got <= 0) break;
        bytes += got;
        count -= (unsigned)got;
        reader->offset += (unsigned)got;
    }
    return reader->offset - start;
}

static hox_status read_failed(const idx_reader *reader, uint64_t record, hox_error *error) {
    int code;
    const char *why = gzerror(reader->file, &code);
    if (code == Z_ERRNO) return cannot_open(reader->path, strerror(errno), error);
    if (code != Z_OK && code != Z_BUF_ERROR)
        return corrupt(reader, reader->offset, record, why, error);
    return corrupt(reader, reader->offset, record, "the file is cut off", error);
}

static uint32_t big_endian(const uint8_t bytes[4]) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Magic 0 0 8 D: unsigned bytes in D dimensions, whose sizes follow.
static hox_status read_header(idx_reader *reader, uint32_t dimensions, idx_array *array,
                              hox_error *error) {
    uint8_t header[16];
    const uint64_t header_size = 4 + 4 * (uint64_t)dimensions;
    const uint64_t got = read_bytes(reader, header, header_size);
    if (got >= 4 && big_endian(header) != (0x800U | dimensions))
        return corrupt(reader, 0, 0,
                       dimensions == 1 ? "not an IDX file of labels (magic 0x00000801)"
                                       : "not an IDX file of images (magic 0x00000803)",
                       error);
    if (got < header_size) return read_failed(reader, 0, error);

    array->count = big_endian(header + 4);
    array->height = dimensions == 1 ? 1 : big_endian(header + 8);
    array->width = dimensions == 1 ? 1 : big_endian(header + 12);
    if (array->count == 0) return corrupt(reader, 4, 0, "there are no records", error);
    if (array->height < 1 || array->height > MAX_SIDE || array->width < 1 ||
        array->width > MAX_SIDE)
        return corrupt(reader, 8, 0, "height or width is outside 1..16384", error);
    array->size = array->count * array->height * array->width; // < 2^60
    if (array->size / MAX_DEFLATE_RATIO > reader->file_bytes)
        return corrupt(reader, 4, 0, "the sizes are more than the file can hold", error);
    return HOX_OK;
}

// The bytes, and then the end of the file, where gzip keeps its checksum.
static hox_status read_records(idx_reader *reader, idx_array *array, hox_error *error) {
    const uint64_t got = read_bytes(reader, array->bytes, array->size);
    const uint64_t record = got / ((uint64_t)array->height * array->width);
    if (got < array->size) return read_failed(reader, record, error);
    uint8_t extra;
    if (read_bytes(reader, &extra, 1) > 0)
        return corrupt(reader, reader->offset - 1, record, "bytes after the last record", error);
    int code;
    gzerror(reader->file, &code);
    return code == Z_OK ? HOX_OK : read_failed(reader, record, error);
}

static void array_free(const hox_host *host, idx_array *array) {
    return_block(host, array->bytes, array->size);
}

// array starts zeroed; on failure, too, array_free frees what it holds.
static hox_status array_read(const hox_host *host, const char *path, uint32_t dimensions,
                             idx_array *array, hox_error *error) {
    idx_reader reader;
    HOX_TRY(reader_open(&reader, path, error));
    array->path = path;
    void *block = NULL;
    hox_status status = read_header(&reader, dimensions, array, error);
    if (status == HOX_OK) status = take_block(host, array->size, &block, error);
    array->bytes = block;
    if (status == HOX_OK) status = read_records(&reader, array, error);
    gzclose(reader.file);
    return status;
}

// Splits and classes -------------------------------------------------------------------------

static int is_given(const char *text) {
    return text && *text;
}

static hox_status split_read(const hox_host *host, const char *name, const char *images,
                             const char *labels, idx_split *split, hox_error *error) {
    if (!is_given(images) || !is_given(labels))
        return hox_error_set(error, HOX_BAD_OPTION, "%s_images and %s_labels are both needed", name,
                             name);
    HOX_TRY(array_read(host, images, 3, &split->images, error));
    HOX_TRY(array_read(host, labels, 1, &split->labels, error));
    if (split->images.count != split->labels.count)
        return hox_error_set(error, HOX_CORRUPT,
                             "%s: offset 4, record 0: %llu labels for %llu images in %s", labels,
                             (unsigned long long)split->labels.count,
                             (unsigned long long)split->images.count, images);
    return HOX_OK;
}

static hox_status check_same_size(const idx_array *train, const idx_array *test, hox_error *error) {
    if (train->height == test->height && train->width == test->width) return HOX_OK;
    return hox_error_set(
        error, HOX_CORRUPT, "%s: offset 8, record 0: images are %u x %u, those of %s %u x %u",
        test->path, test->height, test->width, train->path, train->height, train->width);
}

// One more than the highest label.
static uint32_t label_limit(const idx_array *labels) {
    uint32_t limit = 0;
    for (uint64_t i = 0; i < labels->size; i++)
        if (labels->bytes[i] >= limit) limit = labels->bytes[i] + 1U;
    return limit;
}

static hox_status check_labels(const hox_dataset *dataset, const idx_array *labels,
                               hox_error *error) {
    for (uint64_t i = 0; i < labels->size; i++)
        if (labels->bytes[i] >= dataset->class_count)
            return hox_error_set(error, HOX_CORRUPT,
                                 "%s: offset %llu, record %llu: label %u, but there are %u classes",
                                 labels->path, (unsigned long long)i + 8, (unsigned long long)i,
                                 labels->bytes[i], dataset->class_count);
    return HOX_OK;
}

// Up to the highest label.
static void name_by_number(hox_dataset *dataset) {
    const uint32_t train = label_limit(&dataset->train.labels);
    const uint32_t test = label_limit(&dataset->test.labels);
    dataset->class_count = train > test ? train : test;
    class_names_number(dataset->class_names, dataset->class_count, dataset->names);
}

static hox_status name_by_text(hox_dataset *dataset, const char *text, hox_error *error) {
    strcpy(dataset->names, text);
    const uint32_t count = class_names_cut(dataset->names, ",", dataset->class_names, LABEL_COUNT);
    if (count > LABEL_COUNT)
        return hox_error_set(error, HOX_BAD_OPTION, "classes: name %u is one too many",
                             LABEL_COUNT);
    dataset->class_count = count;
    uint32_t index;
    const char *trouble = class_names_trouble(dataset->class_names, count, &index);
    if (!trouble) return HOX_OK;
    return hox_error_set(error, HOX_BAD_OPTION, "classes: name %u %s", index, trouble);
}

static hox_status name_classes(hox_dataset *dataset, const char *text, hox_error *error) {
    const uint64_t size = is_given(text) ? strlen(text) + 1 : LABEL_COUNT * CLASS_NUMBER_BYTES;
    void *block;
    HOX_TRY(take_block(dataset->host, size, &block, error));
    dataset->names = block;
    dataset->names_size = size;
    if (is_given(text))
        HOX_TRY(name_by_text(dataset, text, error));
    else
        name_by_number(dataset);
    HOX_TRY(check_labels(dataset, &dataset->train.labels, error));
    return check_labels(dataset, &dataset->test.labels, error);
}

// The contents in a fixed order, and what the options make of them.
static void take_fingerprint(hox_dataset *dataset) {
    const idx_array *arrays[] = {&dataset->train.images, &dataset->train.labels,
                                 &dataset->test.images, &dataset->test.labels};
    XXH128_hash_t parts[6] = {{0}};
    for (int i = 0; i < 4; i++)
        parts[i] = XXH3_128bits(arrays[i]->bytes, arrays[i]->size);
    parts[4] = class_names_hash(dataset->class_names, dataset->class_count);
    const uint64_t sizes[] = {dataset->train.images.height, dataset->train.images.width,
                              (uint64_t)dataset->options->pad,
                              (uint64_t)dataset->options->replicate};
    parts[5] = XXH3_128bits(sizes, sizeof sizes);
    const XXH128_hash_t whole = XXH3_128bits(parts, sizeof parts);
    dataset->fingerprint[0] = whole.low64;
    dataset->fingerprint[1] = whole.high64;
}

// The dataset --------------------------------------------------------------------------------

static void idx_close(hox_dataset *dataset) {
    if (!dataset) return;
    array_free(dataset->host, &dataset->train.images);
    array_free(dataset->host, &dataset->train.labels);
    array_free(dataset->host, &dataset->test.images);
    array_free(dataset->host, &dataset->test.labels);
    return_block(dataset->host, dataset->names, dataset->names_size);
    return_block(dataset->host, dataset, sizeof *dataset);
}

static hox_status load(hox_dataset *dataset, hox_error *error) {
    const idx_options *options = dataset->options;
    HOX_TRY(split_read(dataset->host, "train", options->train_images, options->train_labels,
                       &dataset->train, error));
    if (is_given(options->test_images)) {
        HOX_TRY(split_read(dataset->host, "test", options->test_images, options->test_labels,
                           &dataset->test, error));
        HOX_TRY(check_same_size(&dataset->train.images, &dataset->test.images, error));
    }
    HOX_TRY(name_classes(dataset, options->classes, error));
    take_fingerprint(dataset);
    return HOX_OK;
}

static hox_status idx_open(const hox_host *host, const void *options, hox_dataset **dataset,
                           hox_error *error) {
    *dataset = NULL;
    void *block;
    HOX_TRY(take_block(host, sizeof **dataset, &block, error));
    hox_dataset *opened = block;
    *opened = (hox_dataset){.host = host, .options = options};
    const hox_status status = load(opened, error);
    if (status == HOX_OK)
        *dataset = opened;
    else
        idx_close(opened);
    return status;
}

static uint32_t padded(const hox_dataset *dataset, uint32_t side) {
    return side + 2 * (uint32_t)dataset->options->pad;
}

static void idx_info(const hox_dataset *dataset, hox_dataset_info *info) {
    *info = (hox_dataset_info){
        .struct_size = sizeof *info,
        .pixel_type = HOX_PIXEL_U8,
        .channels = (uint32_t)dataset->options->replicate,
        .height = padded(dataset, dataset->train.images.height),
        .width = padded(dataset, dataset->train.images.width),
        .class_count = dataset->class_count,
        .train_count = dataset->train.images.count,
        .test_count = dataset->test.images.count,
        .class_names = dataset->class_names,
        .fingerprint = {dataset->fingerprint[0], dataset->fingerprint[1]},
    };
}

// Writes one record with its border, once per channel.
static void write_image(const hox_dataset *dataset, const uint8_t *record, uint8_t *image) {
    const uint32_t height = dataset->train.images.height, width = dataset->train.images.width;
    const size_t pad = (size_t)dataset->options->pad, row_size = padded(dataset, width);
    const size_t plane_size = row_size * padded(dataset, height);
    memset(image, 0, plane_size);
    for (size_t y = 0; y < height; y++)
        memcpy(image + (y + pad) * row_size + pad, record + y * width, width);
    for (int64_t channel = 1; channel < dataset->options->replicate; channel++)
        memcpy(image + (size_t)channel * plane_size, image, plane_size);
}

static const idx_split *find_split(const hox_dataset *dataset, uint32_t split_id) {
    if (split_id == HOX_SPLIT_TRAIN) return &dataset->train;
    if (split_id == HOX_SPLIT_TEST && dataset->test.images.count > 0) return &dataset->test;
    return NULL;
}

static hox_status idx_read(hox_dataset *dataset, uint32_t split_id, const uint64_t *indices,
                           uint64_t count, void *images, int32_t *labels, hox_error *error) {
    const idx_split *split = find_split(dataset, split_id);
    if (!split) return hox_error_set(error, HOX_INVALID_ARGUMENT, "there is no split %u", split_id);
    const size_t record_size = (size_t)split->images.height * split->images.width;
    const size_t image_size = (size_t)dataset->options->replicate *
                              padded(dataset, split->images.height) *
                              padded(dataset, split->images.width);
    for (uint64_t i = 0; i < count; i++) {
        if (indices[i] >= split->images.count)
            return hox_error_set(error, HOX_INVALID_ARGUMENT, "record %llu of %llu in %s",
                                 (unsigned long long)indices[i],
                                 (unsigned long long)split->images.count, split->images.path);
        labels[i] = split->labels.bytes[indices[i]];
        if (images)
            write_image(dataset, split->images.bytes + indices[i] * record_size,
                        (uint8_t *)images + i * image_size);
    }
    return HOX_OK;
}

static const hox_field fields[] = {
    HOX_PATH(idx_options, train_images, FASHION_MNIST "train-images-idx3-ubyte.gz",
             "IDX file of training images, plain or gzip"),
    HOX_PATH(idx_options, train_labels, FASHION_MNIST "train-labels-idx1-ubyte.gz",
             "IDX file of their labels"),
    HOX_PATH(idx_options, test_images, FASHION_MNIST "t10k-images-idx3-ubyte.gz",
             "IDX file of test images; empty: there is no test split"),
    HOX_PATH(idx_options, test_labels, FASHION_MNIST "t10k-labels-idx1-ubyte.gz",
             "IDX file of their labels"),
    HOX_TEXT(idx_options, classes,
             "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot",
             "names of labels 0, 1, ..., between commas; empty: the numbers"),
    HOX_INT(idx_options, pad, 0, 0, 64, "pixels of zero added on each side"),
    HOX_INT(idx_options, replicate, 1, 1, 64, "channels, all the same image"),
};

static const hox_dataset_api api = {
    .struct_size = sizeof api,
    .open = idx_open,
    .close = idx_close,
    .info = idx_info,
    .read = idx_read,
};

HOX_DATASET_PLUGIN(&api, .name = "idx", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "IDX files (MNIST, Fashion-MNIST), plain or gzip",
                   HOX_OPTIONS(idx_options, fields));
