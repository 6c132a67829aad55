// imagefolder.c - dataset "imagefolder": PNG files, one folder a class, decoded and brought to one
// size when the dataset is opened.
#include "block.h"
#include "class_names.h"
#include "folder_list.h"
#include "regular_file.h"

#include <errno.h>
#include <hox/plugin.h>
#include <png.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { MAX_PIXELS = 1 << 26, MAX_CLASSES = 10000, PATH_BYTES = 8192 };
enum { RED, GREEN, BLUE, ALPHA, RGBA };

typedef struct imagefolder_options {
    const char *train, *test;
    int64_t size, channels;
} imagefolder_options;

typedef struct image_split {
    const char *root;
    uint64_t count;
    uint8_t *images; // count x channels x size x size
    int32_t *labels; // count
} image_split;

struct hox_dataset {
    const hox_host *host;
    const imagefolder_options *options;
    folder_list classes; // of train, sorted
    image_split train, test;
    uint64_t fingerprint[2];
};

static bool is_given(const char *text) {
    return text && *text;
}

static uint64_t image_bytes(const hox_dataset *dataset) {
    const imagefolder_options *options = dataset->options;
    return (uint64_t)(options->channels * options->size * options->size);
}

// Pixels -------------------------------------------------------------------------------------

// The share of a source pixel's side that lies in a target pixel, in 1/size: source i covers
// [i * size, (i + 1) * size), target t covers [t * side, (t + 1) * side).
static uint64_t overlap(uint64_t i, uint64_t size, uint64_t t, uint64_t side) {
    const uint64_t low = i * size > t * side ? i * size : t * side;
    const uint64_t high = (i + 1) * size < (t + 1) * side ? (i + 1) * size : (t + 1) * side;
    return high - low;
}

// The mean of the source under one target pixel, each source pixel by the area it has there. Exact:
// the areas sum to width * height, so the sum stays below 2^34.
static uint8_t area_mean(const uint8_t *source, uint64_t width, uint64_t height, uint64_t step,
                         uint64_t size, uint64_t x, uint64_t y) {
    uint64_t sum = 0;
    for (uint64_t v = y * height / size; v * size < (y + 1) * height; v++) {
        uint64_t row_sum = 0;
        for (uint64_t u = x * width / size; u * size < (x + 1) * width; u++)
            row_sum += overlap(u, size, x, width) * source[(v * width + u) * step];
        sum += overlap(v, size, y, height) * row_sum;
    }
    return (uint8_t)((sum + width * height / 2) / (width * height));
}

// Alpha over black; then, for one channel, the luma of Rec. 601 (ITU-R BT.601) in the place of red.
static void flatten(uint8_t *pixels, uint64_t count, bool to_gray) {
    for (uint8_t *pixel = pixels; pixel < pixels + RGBA * count; pixel += RGBA) {
        for (int c = RED; c <= BLUE; c++)
            pixel[c] = (uint8_t)((pixel[c] * pixel[ALPHA] + 127) / 255);
        if (to_gray)
            pixel[RED] =
                (uint8_t)((299 * pixel[RED] + 587 * pixel[GREEN] + 114 * pixel[BLUE] + 500) / 1000);
    }
}

static void resize(const hox_dataset *dataset, const uint8_t *pixels, uint64_t width,
                   uint64_t height, uint8_t *image) {
    const uint64_t size = (uint64_t)dataset->options->size;
    for (int64_t channel = 0; channel < dataset->options->channels; channel++)
        for (uint64_t y = 0; y < size; y++)
            for (uint64_t x = 0; x < size; x++)
                *image++ = area_mean(pixels + channel, width, height, RGBA, size, x, y);
}

// One file -----------------------------------------------------------------------------------

// Decoded pixels, RGBA; kept from file to file, and as large as the largest so far.
typedef struct pixel_buffer {
    uint8_t *bytes;
    uint64_t size;
} pixel_buffer;

static hox_status buffer_fit(pixel_buffer *buffer, const hox_host *host, uint64_t bytes,
                             hox_error *error) {
    if (buffer->size >= bytes) return HOX_OK;
    return_block(host, buffer->bytes, buffer->size);
    *buffer = (pixel_buffer){0};
    void *block;
    HOX_TRY(take_block(host, bytes, &block, error));
    *buffer = (pixel_buffer){block, bytes};
    return HOX_OK;
}

static hox_status not_decoded(const png_image *png, FILE *file, const char *path,
                              hox_error *error) {
    return hox_error_set(error, HOX_CORRUPT, "%s: cannot be decoded: %s", path,
                         feof(file) ? "the file is cut off" : png->message);
}

// 16 bits are cut to 8 as they are: files say nothing of their gamma more often than they are
// linear.
static hox_status decode_opened(const hox_dataset *dataset, pixel_buffer *buffer, png_image *png,
                                FILE *file, const char *path, uint8_t *image, hox_error *error) {
    if (!png_image_begin_read_from_stdio(png, file)) return not_decoded(png, file, path, error);
    const uint64_t pixels = (uint64_t)png->width * png->height;
    if (pixels > MAX_PIXELS)
        return hox_error_set(error, HOX_CORRUPT,
                             "%s: %u x %u pixels are too many, at most %d are read", path,
                             png->width, png->height, MAX_PIXELS);
    HOX_TRY(buffer_fit(buffer, dataset->host, RGBA * pixels, error));
    png->format = PNG_FORMAT_RGBA;
    png->flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    if (!png_image_finish_read(png, NULL, buffer->bytes, 0, NULL))
        return not_decoded(png, file, path, error);
    flatten(buffer->bytes, pixels, dataset->options->channels == 1);
    resize(dataset, buffer->bytes, png->width, png->height, image);
    return HOX_OK;
}

static hox_status decode(const hox_dataset *dataset, pixel_buffer *buffer, const char *path,
                         uint8_t *image, hox_error *error) {
    int descriptor;
    uint64_t file_bytes;
    const char *trouble = regular_file_open(path, &descriptor, &file_bytes);
    if (trouble) return hox_error_set(error, HOX_IO, "%s: %s", path, trouble);
    FILE *file = fdopen(descriptor, "rb");
    if (!file) {
        close(descriptor);
        return hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "%s: no memory to read it", path);
    }
    png_image png = {.version = PNG_IMAGE_VERSION};
    const hox_status status = decode_opened(dataset, buffer, &png, file, path, image, error);
    png_image_free(&png);
    fclose(file);
    return status;
}

// What lies in the folders -------------------------------------------------------------------

// A split while it is read: its folders, and the files of each.
typedef struct split_lists {
    folder_list folders;
    folder_list *files; // folders.count
} split_lists;

static void lists_deinit(split_lists *lists, const hox_host *host) {
    for (uint64_t i = 0; lists->files && i < lists->folders.count; i++)
        folder_list_deinit(&lists->files[i]);
    return_block(host, lists->files, lists->folders.count * sizeof *lists->files);
    folder_list_deinit(&lists->folders);
}

// file may be NULL. Never too long: root could be opened, and a name has at most 255 bytes.
static void path_of(const char *root, const char *class, const char *file, char path[PATH_BYTES]) {
    snprintf(path, PATH_BYTES, "%s/%s%s%s", root, class, file ? "/" : "", file ? file : "");
}

static bool is_png(const char *name) {
    const size_t length = strlen(name);
    return length > 4 && strcasecmp(name + length - 4, ".png") == 0;
}

// NULL where the path leads to a folder or, as wanted, to anything else; else what is wrong.
static const char *kind_trouble(const char *path, bool is_folder_wanted) {
    struct stat facts;
    if (stat(path, &facts) != 0) return strerror(errno);
    if (S_ISDIR(facts.st_mode) == is_folder_wanted) return NULL;
    return is_folder_wanted
               ? "not a folder; each class has a folder of its own, which holds its .png files"
               : "a folder in the folder of a class; these hold .png files only";
}

static hox_status read_folders(const hox_dataset *dataset, const char *root, folder_list *folders,
                               hox_error *error) {
    HOX_TRY(folder_list_read(folders, dataset->host, root, error));
    for (uint64_t i = 0; i < folders->count; i++) {
        char path[PATH_BYTES];
        path_of(root, folders->names[i], NULL, path);
        const char *trouble = kind_trouble(path, true);
        if (trouble) return hox_error_set(error, HOX_CORRUPT, "%s: %s", path, trouble);
    }
    return HOX_OK;
}

static hox_status read_files(const hox_dataset *dataset, const char *root, const char *class,
                             folder_list *files, hox_error *error) {
    const hox_host *host = dataset->host;
    char path[PATH_BYTES];
    path_of(root, class, NULL, path);
    HOX_TRY(folder_list_read(files, host, path, error));
    for (uint64_t i = 0; i < files->count; i++) {
        path_of(root, class, files->names[i], path);
        const char *trouble = kind_trouble(path, false);
        if (!trouble && !is_png(files->names[i])) trouble = "not a .png file; no others are read";
        if (trouble) return hox_error_set(error, HOX_CORRUPT, "%s: %s", path, trouble);
    }
    if (files->count == 0 && host->log_level >= HOX_LOG_WARNING) {
        char message[PATH_BYTES];
        snprintf(message, sizeof message, "%s/%s: no images of this class", root, class);
        host->log(host, HOX_LOG_WARNING, message);
    }
    return HOX_OK;
}

// lists starts zeroed; on failure, too, lists_deinit frees what it holds.
static hox_status read_lists(const hox_dataset *dataset, image_split *split, split_lists *lists,
                             hox_error *error) {
    HOX_TRY(read_folders(dataset, split->root, &lists->folders, error));
    const folder_list *folders = &lists->folders;
    if (folders->count > 0) {
        const uint64_t bytes = folders->count * sizeof *lists->files;
        void *block;
        HOX_TRY(take_block(dataset->host, bytes, &block, error));
        lists->files = memset(block, 0, bytes);
    }
    for (uint64_t i = 0; i < folders->count; i++) {
        const char *class = folders->names[i];
        if (folder_list_find(&dataset->classes, class) < 0)
            return hox_error_set(error, HOX_CORRUPT, "%s/%s: %s has no such class", split->root,
                                 class, dataset->train.root);
        HOX_TRY(read_files(dataset, split->root, class, &lists->files[i], error));
        split->count += lists->files[i].count;
    }
    if (split->count > 0) return HOX_OK;
    return hox_error_set(error, HOX_CORRUPT,
                         "%s: no images; each class has a folder of its own, "
                         "which holds its .png files",
                         split->root);
}

// Splits and classes -------------------------------------------------------------------------

static hox_status decode_lists(const hox_dataset *dataset, const image_split *split,
                               const split_lists *lists, pixel_buffer *buffer, hox_error *error) {
    uint64_t index = 0;
    for (uint64_t i = 0; i < lists->folders.count; i++) {
        const char *class = lists->folders.names[i];
        const int64_t label = folder_list_find(&dataset->classes, class);
        for (uint64_t j = 0; j < lists->files[i].count; j++, index++) {
            char path[PATH_BYTES];
            path_of(split->root, class, lists->files[i].names[j], path);
            uint8_t *image = split->images + index * image_bytes(dataset);
            HOX_TRY(decode(dataset, buffer, path, image, error));
            split->labels[index] = (int32_t)label;
        }
    }
    return HOX_OK;
}

static hox_status decode_split(const hox_dataset *dataset, image_split *split,
                               const split_lists *lists, hox_error *error) {
    void *block;
    HOX_TRY(take_block(dataset->host, split->count * image_bytes(dataset), &block, error));
    split->images = block;
    HOX_TRY(take_block(dataset->host, split->count * sizeof *split->labels, &block, error));
    split->labels = block;
    pixel_buffer buffer = {0};
    const hox_status status = decode_lists(dataset, split, lists, &buffer, error);
    return_block(dataset->host, buffer.bytes, buffer.size);
    return status;
}

static hox_status split_read(const hox_dataset *dataset, image_split *split, hox_error *error) {
    split_lists lists = {0};
    hox_status status = read_lists(dataset, split, &lists, error);
    if (status == HOX_OK) status = decode_split(dataset, split, &lists, error);
    lists_deinit(&lists, dataset->host);
    return status;
}

static void split_free(const hox_dataset *dataset, image_split *split) {
    return_block(dataset->host, split->images, split->count * image_bytes(dataset));
    return_block(dataset->host, split->labels, split->count * sizeof *split->labels);
}

static hox_status name_classes(hox_dataset *dataset, hox_error *error) {
    const char *root = dataset->train.root;
    HOX_TRY(read_folders(dataset, root, &dataset->classes, error));
    if (dataset->classes.count > MAX_CLASSES)
        return hox_error_set(error, HOX_CORRUPT,
                             "%s: %llu folders are too many classes, at most %d", root,
                             (unsigned long long)dataset->classes.count, MAX_CLASSES);
    uint32_t index;
    const char *const *names = dataset->classes.names;
    const char *trouble = class_names_trouble(names, (uint32_t)dataset->classes.count, &index);
    if (!trouble) return HOX_OK;
    return hox_error_set(error, HOX_CORRUPT, "%s/%s: the name %s", root, names[index], trouble);
}

static void take_fingerprint(hox_dataset *dataset) {
    const image_split *train = &dataset->train, *test = &dataset->test;
    const uint64_t size = image_bytes(dataset);
    const XXH128_hash_t parts[] = {
        XXH3_128bits(train->images, train->count * size),
        XXH3_128bits(train->labels, train->count * sizeof *train->labels),
        XXH3_128bits(test->images, test->count * size),
        XXH3_128bits(test->labels, test->count * sizeof *test->labels),
        class_names_hash(dataset->classes.names, (uint32_t)dataset->classes.count),
        {(uint64_t)dataset->options->size, (uint64_t)dataset->options->channels},
    };
    const XXH128_hash_t whole = XXH3_128bits(parts, sizeof parts);
    dataset->fingerprint[0] = whole.low64;
    dataset->fingerprint[1] = whole.high64;
}

// The dataset --------------------------------------------------------------------------------

static void imagefolder_close(hox_dataset *dataset) {
    if (!dataset) return;
    split_free(dataset, &dataset->train);
    split_free(dataset, &dataset->test);
    folder_list_deinit(&dataset->classes);
    return_block(dataset->host, dataset, sizeof *dataset);
}

static hox_status load(hox_dataset *dataset, hox_error *error) {
    const imagefolder_options *options = dataset->options;
    if (!is_given(options->train))
        return hox_error_set(
            error, HOX_BAD_OPTION,
            "train: none is given; it must be a folder with a folder for each class");
    if (options->channels == 2)
        return hox_error_set(error, HOX_BAD_OPTION, "channels: 2 is neither 1 nor 3");
    dataset->train.root = options->train;
    dataset->test.root = options->test;
    HOX_TRY(name_classes(dataset, error));
    HOX_TRY(split_read(dataset, &dataset->train, error));
    if (is_given(options->test)) HOX_TRY(split_read(dataset, &dataset->test, error));
    take_fingerprint(dataset);
    return HOX_OK;
}

static hox_status imagefolder_open(const hox_host *host, const void *options, hox_dataset **dataset,
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
        imagefolder_close(opened);
    return status;
}

static void imagefolder_info(const hox_dataset *dataset, hox_dataset_info *info) {
    *info = (hox_dataset_info){
        .struct_size = sizeof *info,
        .pixel_type = HOX_PIXEL_U8,
        .channels = (uint32_t)dataset->options->channels,
        .height = (uint32_t)dataset->options->size,
        .width = (uint32_t)dataset->options->size,
        .class_count = (uint32_t)dataset->classes.count,
        .train_count = dataset->train.count,
        .test_count = dataset->test.count,
        .class_names = dataset->classes.names,
        .fingerprint = {dataset->fingerprint[0], dataset->fingerprint[1]},
    };
}

static const image_split *find_split(const hox_dataset *dataset, uint32_t split_id) {
    if (split_id == HOX_SPLIT_TRAIN) return &dataset->train;
    if (split_id == HOX_SPLIT_TEST && dataset->test.count > 0) return &dataset->test;
    return NULL;
}

static hox_status imagefolder_read(hox_dataset *dataset, uint32_t split_id, const uint64_t *indices,
                                   uint64_t count, void *images, int32_t *labels,
                                   hox_error *error) {
    const image_split *split = find_split(dataset, split_id);
    if (!split) return hox_error_set(error, HOX_INVALID_ARGUMENT, "there is no split %u", split_id);
    const uint64_t size = image_bytes(dataset);
    for (uint64_t i = 0; i < count; i++) {
        if (indices[i] >= split->count)
            return hox_error_set(error, HOX_INVALID_ARGUMENT, "image %llu of %llu in %s",
                                 (unsigned long long)indices[i], (unsigned long long)split->count,
                                 split->root);
        labels[i] = split->labels[indices[i]];
        if (images) memcpy((uint8_t *)images + i * size, split->images + indices[i] * size, size);
    }
    return HOX_OK;
}

static const hox_field fields[] = {
    HOX_PATH(imagefolder_options, train, "", "folder that holds a folder of PNG files per class"),
    HOX_PATH(imagefolder_options, test, "", "likewise, of the same classes; empty: no test split"),
    HOX_INT(imagefolder_options, size, 32, 1, 1024, "height and width that images are brought to"),
    HOX_INT(imagefolder_options, channels, 3, 1, 3, "3: red, green, blue; 1: luma"),
};

static const hox_dataset_api api = {
    .struct_size = sizeof api,
    .open = imagefolder_open,
    .close = imagefolder_close,
    .info = imagefolder_info,
    .read = imagefolder_read,
};

HOX_DATASET_PLUGIN(&api, .name = "imagefolder", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "PNG files, one folder a class, brought to one size",
                   HOX_OPTIONS(imagefolder_options, fields));
