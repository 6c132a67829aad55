// cifar.c - dataset "cifar": CIFAR-10 and CIFAR-100 in their binary layout, whole in memory
// (A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009).
#include "block.h"
#include "cifar_layout.h"
#include "class_names.h"
#include "regular_file.h"

#include <errno.h>
#include <hox/plugin.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { MAX_NAMES_BYTES = 65536, PATH_BYTES = 8192 };
enum { FINE, COARSE };

typedef struct cifar_options {
    const char *folder, *train_files, *test_files;
    int32_t variant, labels;
} cifar_options;

typedef struct cifar_file {
    uint8_t *bytes;
    uint64_t size;
    uint64_t first, count; // records, numbered through the split
} cifar_file;

typedef struct cifar_split {
    const char *name, *option, *list; // "train", "train_files", its names between commas
    cifar_file *files;
    uint64_t file_count;
    uint64_t count; // records; 0: there is no such split
} cifar_split;

struct hox_dataset {
    const hox_host *host;
    const cifar_options *options;
    const cifar_layout *layout; // NULL until it is known
    cifar_split train, test;
    char *text; // behind class_names, where they are not ours
    uint64_t text_bytes;
    const char *class_names[CIFAR_MAX_CLASSES];
    uint64_t fingerprint[2];
};

static bool is_given(const char *text) {
    return text && *text;
}

// The label byte that counts: CIFAR-10 has but one.
static uint32_t label_index(const hox_dataset *dataset) {
    return dataset->options->labels == COARSE ? 0 : dataset->layout->label_count - 1;
}

static const cifar_label *kind_of_label(const hox_dataset *dataset) {
    return &dataset->layout->labels[label_index(dataset)];
}

// Lists of files -----------------------------------------------------------------------------

// Goes through the names of a list, which stand between commas.
typedef struct name_walk {
    const char *rest; // NULL at the end
    uint32_t index;   // of the name
    const char *name;
    int length;
} name_walk;

static bool next_name(name_walk *walk) {
    if (!walk->rest) return false;
    walk->index += walk->name != NULL;
    walk->name = walk->rest + strspn(walk->rest, " ");
    walk->length = (int)strcspn(walk->name, ",");
    walk->rest = walk->name[walk->length] ? walk->name + walk->length + 1 : NULL;
    while (walk->length > 0 && walk->name[walk->length - 1] == ' ')
        walk->length--;
    return true;
}

// Where a file of the folder is. A path too long for the system stays too long when it is cut.
static void path_in_folder(const hox_dataset *dataset, const char *name, int length,
                           char path[PATH_BYTES]) {
    const bool is_absolute = name[0] == '/';
    snprintf(path, PATH_BYTES, "%s%s%.*s", is_absolute ? "" : dataset->options->folder,
             is_absolute ? "" : "/", length, name);
}

static bool is_in_folder(const hox_dataset *dataset, const char *name, int length) {
    char path[PATH_BYTES];
    path_in_folder(dataset, name, length, path);
    return access(path, F_OK) == 0;
}

static hox_status next_path(const hox_dataset *dataset, const cifar_split *split, name_walk *walk,
                            char path[PATH_BYTES], hox_error *error) {
    if (walk->length == 0)
        return hox_error_set(error, HOX_BAD_OPTION, "%s: name %u is empty", split->option,
                             walk->index);
    if (walk->name[0] != '/' && !is_given(dataset->options->folder))
        return hox_error_set(error, HOX_BAD_OPTION,
                             "folder: none is given; it must be the one that holds %.*s",
                             walk->length, walk->name);
    path_in_folder(dataset, walk->name, walk->length, path);
    return HOX_OK;
}

// Which of the two it is ---------------------------------------------------------------------

// Are any of the files there that the archive has?
static bool has_layout(const hox_dataset *dataset, const cifar_layout *layout) {
    const char *const lists[] = {layout->train_files, layout->test_files};
    for (int i = 0; i < 2; i++)
        for (name_walk walk = {.rest = lists[i]}; next_name(&walk);)
            if (is_in_folder(dataset, walk.name, walk.length)) return true;
    return false;
}

// Not even one: is it a folder, is it the archive itself, is it Python's?
static hox_status nothing_found(const hox_dataset *dataset, hox_error *error) {
    const char *const names[] = {"", cifar_layouts[CIFAR_10].python_file,
                                 cifar_layouts[CIFAR_100].python_file};
    const char *folder = dataset->options->folder;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s%s%s", folder, *names[i] ? "/" : "", names[i]);
        const char *words = cifar_stranger_at(path);
        if (words) return hox_error_set(error, HOX_CORRUPT, "%s: %s", path, words);
    }
    if (!is_in_folder(dataset, ".", 1))
        return hox_error_set(error, HOX_IO, "%s: %s", folder, strerror(errno));
    return hox_error_set(error, HOX_IO,
                         "%s: neither data_batch_1.bin (CIFAR-10) nor train.bin (CIFAR-100) is "
                         "there; train_files can name others",
                         folder);
}

static hox_status choose_by_folder(hox_dataset *dataset, hox_error *error) {
    if (!is_given(dataset->options->folder))
        return hox_error_set(error, HOX_BAD_OPTION,
                             "folder: none is given; it must be the one that holds "
                             "data_batch_1.bin (CIFAR-10) or train.bin (CIFAR-100)");
    const bool is_10 = has_layout(dataset, &cifar_layouts[CIFAR_10]);
    const bool is_100 = has_layout(dataset, &cifar_layouts[CIFAR_100]);
    if (is_10 && is_100)
        return hox_error_set(error, HOX_BAD_OPTION,
                             "variant: %s holds files of both CIFAR-10 and CIFAR-100; say which",
                             dataset->options->folder);
    if (!is_10 && !is_100) return nothing_found(dataset, error);
    dataset->layout = &cifar_layouts[is_10 ? CIFAR_10 : CIFAR_100];
    return HOX_OK;
}

static hox_status choose_by_size(hox_dataset *dataset, const char *path, uint64_t size,
                                 hox_error *error) {
    const bool is_10 = size % cifar_record_bytes(&cifar_layouts[CIFAR_10]) == 0;
    const bool is_100 = size % cifar_record_bytes(&cifar_layouts[CIFAR_100]) == 0;
    if (is_10 && is_100)
        return hox_error_set(error, HOX_BAD_OPTION,
                             "variant: by its size %s may be CIFAR-10 or CIFAR-100; say which",
                             path);
    if (!is_10 && !is_100)
        return hox_error_set(error, HOX_CORRUPT,
                             "%s: %llu bytes are no number of whole records (3073 bytes in "
                             "CIFAR-10, 3074 in CIFAR-100)",
                             path, (unsigned long long)size);
    dataset->layout = &cifar_layouts[is_10 ? CIFAR_10 : CIFAR_100];
    return HOX_OK;
}

// The layout, where it shows before a file is opened, and the lists.
static hox_status choose_files(hox_dataset *dataset, hox_error *error) {
    const cifar_options *options = dataset->options;
    if (options->variant != CIFAR_AUTO)
        dataset->layout = &cifar_layouts[options->variant];
    else if (!options->train_files)
        HOX_TRY(choose_by_folder(dataset, error));
    const bool is_archive = !options->train_files;
    dataset->train = (cifar_split){"train", "train_files", options->train_files, NULL, 0, 0};
    dataset->test = (cifar_split){"test", "test_files", options->test_files, NULL, 0, 0};
    if (is_archive) dataset->train.list = dataset->layout->train_files;
    if (is_archive && !options->test_files) dataset->test.list = dataset->layout->test_files;
    if (is_given(dataset->train.list)) return HOX_OK;
    return hox_error_set(error, HOX_BAD_OPTION, "train_files: no file is named");
}

// Reading one file ---------------------------------------------------------------------------

static hox_status corrupt(const char *path, uint64_t offset, uint64_t record, const char *what,
                          hox_error *error) {
    return hox_error_set(error, HOX_CORRUPT, "%s: offset %llu, record %llu: %s", path,
                         (unsigned long long)offset, (unsigned long long)record, what);
}

// Instead of data_batch_1.bin there may be data_batch_1, which is Python's.
static hox_status check_is_not_pythons(const char *path, hox_error *error) {
    const size_t length = strlen(path);
    if (length <= 4 || strcmp(path + length - 4, ".bin") != 0 || access(path, F_OK) == 0)
        return HOX_OK;
    char bare[PATH_BYTES];
    snprintf(bare, sizeof bare, "%.*s", (int)length - 4, path);
    const char *words = cifar_stranger_at(bare);
    return words ? hox_error_set(error, HOX_CORRUPT, "%s: %s", bare, words) : HOX_OK;
}

static hox_status check_size(hox_dataset *dataset, const char *path, uint64_t size,
                             hox_error *error) {
    if (!dataset->layout) HOX_TRY(choose_by_size(dataset, path, size, error));
    if (dataset->options->labels == COARSE && dataset->layout->label_count == 1)
        return hox_error_set(error, HOX_BAD_OPTION, "labels: only CIFAR-100 has coarse ones");
    const uint64_t record_size = cifar_record_bytes(dataset->layout);
    if (size % record_size == 0) return HOX_OK;
    return hox_error_set(
        error, HOX_CORRUPT,
        "%s: offset %llu, record %llu: the file is cut off; a record of %s has %u bytes", path,
        (unsigned long long)size, (unsigned long long)(size / record_size), dataset->layout->name,
        (unsigned)record_size);
}

// The bytes, and then the end of the file.
static hox_status read_contents(int descriptor, const char *path, uint64_t record_size,
                                const cifar_file *file, hox_error *error) {
    const uint64_t got = regular_file_read(descriptor, file->bytes, file->size);
    if (errno != 0) return hox_error_set(error, HOX_IO, "%s: %s", path, strerror(errno));
    if (got < file->size)
        return corrupt(path, got, got / record_size, "the file became shorter while it was read",
                       error);
    uint8_t extra;
    if (regular_file_read(descriptor, &extra, 1) > 0)
        return corrupt(path, got, got / record_size, "the file became longer while it was read",
                       error);
    return HOX_OK;
}

// All labels, those that do not count too: one out of range means that it is no such file.
static hox_status check_labels(const cifar_layout *layout, const char *path, const cifar_file *file,
                               hox_error *error) {
    const uint64_t record_size = cifar_record_bytes(layout);
    for (uint64_t offset = 0; offset < file->size; offset += record_size)
        for (uint32_t i = 0; i < layout->label_count; i++)
            if (file->bytes[offset + i] >= layout->labels[i].class_count)
                return hox_error_set(
                    error, HOX_CORRUPT,
                    "%s: offset %llu, record %llu: label %u, but there are %u classes", path,
                    (unsigned long long)(offset + i), (unsigned long long)(offset / record_size),
                    file->bytes[offset + i], layout->labels[i].class_count);
    return HOX_OK;
}

static hox_status read_opened(hox_dataset *dataset, int descriptor, const char *path, uint64_t size,
                              cifar_file *file, hox_error *error) {
    const char *words = cifar_stranger_in(descriptor);
    if (words) return hox_error_set(error, HOX_CORRUPT, "%s: %s", path, words);
    HOX_TRY(check_size(dataset, path, size, error));
    void *block;
    HOX_TRY(take_block(dataset->host, size, &block, error));
    file->bytes = block;
    file->size = size;
    file->count = size / cifar_record_bytes(dataset->layout);
    HOX_TRY(read_contents(descriptor, path, cifar_record_bytes(dataset->layout), file, error));
    return check_labels(dataset->layout, path, file, error);
}

// file starts zeroed; on failure, too, it holds what split_free frees.
static hox_status file_read(hox_dataset *dataset, const char *path, cifar_file *file,
                            hox_error *error) {
    HOX_TRY(check_is_not_pythons(path, error));
    int descriptor;
    uint64_t size;
    const char *trouble = regular_file_open(path, &descriptor, &size);
    if (trouble) return hox_error_set(error, HOX_IO, "%s: %s", path, trouble);
    const hox_status status = read_opened(dataset, descriptor, path, size, file, error);
    close(descriptor);
    return status;
}

// Splits and classes -------------------------------------------------------------------------

static hox_status split_read(hox_dataset *dataset, cifar_split *split, hox_error *error) {
    uint64_t file_count = 0;
    for (name_walk walk = {.rest = split->list}; next_name(&walk);)
        file_count++;
    void *block;
    HOX_TRY(take_block(dataset->host, file_count * sizeof *split->files, &block, error));
    split->files = memset(block, 0, file_count * sizeof *split->files);
    split->file_count = file_count;
    for (name_walk walk = {.rest = split->list}; next_name(&walk);) {
        char path[PATH_BYTES];
        cifar_file *file = &split->files[walk.index];
        HOX_TRY(next_path(dataset, split, &walk, path, error));
        HOX_TRY(file_read(dataset, path, file, error));
        file->first = split->count;
        split->count += file->count;
    }
    return HOX_OK;
}

static void split_free(const hox_host *host, cifar_split *split) {
    for (uint64_t i = 0; i < split->file_count; i++)
        return_block(host, split->files[i].bytes, split->files[i].size);
    return_block(host, split->files, split->file_count * sizeof *split->files);
}

// The record with that number, which is below count: the last file that begins at or before it.
static const uint8_t *record_at(const hox_dataset *dataset, const cifar_split *split,
                                uint64_t record) {
    uint64_t low = 0, high = split->file_count;
    while (high - low > 1) {
        const uint64_t middle = (low + high) / 2;
        if (split->files[middle].first <= record)
            low = middle;
        else
            high = middle;
    }
    const cifar_file *file = &split->files[low];
    return file->bytes + (record - file->first) * cifar_record_bytes(dataset->layout);
}

static hox_status take_text(hox_dataset *dataset, uint64_t bytes, hox_error *error) {
    void *block;
    HOX_TRY(take_block(dataset->host, bytes, &block, error));
    dataset->text = block;
    dataset->text_bytes = bytes;
    return HOX_OK;
}

// Text files from elsewhere: no carriage returns, no blank lines at the end.
static void tidy_lines(char *text) {
    char *end = text;
    for (const char *from = text; *from; from++)
        if (*from != '\r') *end++ = *from;
    while (end > text && (end[-1] == '\n' || end[-1] == ' '))
        end--;
    *end = '\0';
}

static hox_status read_names(hox_dataset *dataset, const char *path, int descriptor, uint64_t size,
                             hox_error *error) {
    if (size > MAX_NAMES_BYTES)
        return hox_error_set(error, HOX_CORRUPT, "%s: too long for the names of classes", path);
    HOX_TRY(take_text(dataset, size + 1, error));
    const uint64_t got = regular_file_read(descriptor, dataset->text, size);
    if (errno != 0) return hox_error_set(error, HOX_IO, "%s: %s", path, strerror(errno));
    dataset->text[got] = '\0';
    tidy_lines(dataset->text);

    const uint32_t wanted = kind_of_label(dataset)->class_count;
    const uint32_t count = class_names_cut(dataset->text, "\n", dataset->class_names, wanted);
    if (count != wanted)
        return hox_error_set(error, HOX_CORRUPT, "%s: %u names for the %u classes of %s", path,
                             count, wanted, dataset->layout->name);
    uint32_t index;
    const char *trouble = class_names_trouble(dataset->class_names, count, &index);
    if (!trouble) return HOX_OK;
    return hox_error_set(error, HOX_CORRUPT, "%s: line %u: the name %s", path, index + 1, trouble);
}

static hox_status name_by_file(hox_dataset *dataset, const char *path, hox_error *error) {
    int descriptor;
    uint64_t size;
    const char *trouble = regular_file_open(path, &descriptor, &size);
    if (trouble) return hox_error_set(error, HOX_IO, "%s: %s", path, trouble);
    const hox_status status = read_names(dataset, path, descriptor, size, error);
    close(descriptor);
    return status;
}

static hox_status name_classes(hox_dataset *dataset, hox_error *error) {
    const cifar_label *kind = kind_of_label(dataset);
    if (is_given(dataset->options->folder)) {
        char path[PATH_BYTES];
        path_in_folder(dataset, kind->names_file, (int)strlen(kind->names_file), path);
        if (access(path, F_OK) == 0) return name_by_file(dataset, path, error);
    }
    if (!kind->names) {
        HOX_TRY(take_text(dataset, kind->class_count * (uint64_t)CLASS_NUMBER_BYTES, error));
        class_names_number(dataset->class_names, kind->class_count, dataset->text);
        return HOX_OK;
    }
    memcpy(dataset->class_names, kind->names, kind->class_count * sizeof *kind->names);
    return HOX_OK;
}

// Record by record, so that it does not matter how they are spread over files.
static XXH128_hash_t hash_split(const hox_dataset *dataset, const cifar_split *split) {
    XXH128_hash_t hash = {0};
    const uint64_t record_size = cifar_record_bytes(dataset->layout);
    for (uint64_t i = 0; i < split->file_count; i++)
        for (uint64_t offset = 0; offset < split->files[i].size; offset += record_size) {
            const XXH128_hash_t pair[2] = {
                hash, XXH3_128bits(split->files[i].bytes + offset, record_size)};
            hash = XXH3_128bits(pair, sizeof pair);
        }
    return hash;
}

static void take_fingerprint(hox_dataset *dataset) {
    const XXH128_hash_t parts[] = {
        hash_split(dataset, &dataset->train),
        hash_split(dataset, &dataset->test),
        class_names_hash(dataset->class_names, kind_of_label(dataset)->class_count),
        {dataset->layout->label_count, label_index(dataset)},
    };
    const XXH128_hash_t whole = XXH3_128bits(parts, sizeof parts);
    dataset->fingerprint[0] = whole.low64;
    dataset->fingerprint[1] = whole.high64;
}

// The dataset --------------------------------------------------------------------------------

static void cifar_close(hox_dataset *dataset) {
    if (!dataset) return;
    split_free(dataset->host, &dataset->train);
    split_free(dataset->host, &dataset->test);
    return_block(dataset->host, dataset->text, dataset->text_bytes);
    return_block(dataset->host, dataset, sizeof *dataset);
}

static hox_status load(hox_dataset *dataset, hox_error *error) {
    HOX_TRY(choose_files(dataset, error));
    HOX_TRY(split_read(dataset, &dataset->train, error));
    if (is_given(dataset->test.list)) HOX_TRY(split_read(dataset, &dataset->test, error));
    HOX_TRY(name_classes(dataset, error));
    take_fingerprint(dataset);
    return HOX_OK;
}

static hox_status cifar_open(const hox_host *host, const void *options, hox_dataset **dataset,
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
        cifar_close(opened);
    return status;
}

static void cifar_info(const hox_dataset *dataset, hox_dataset_info *info) {
    *info = (hox_dataset_info){
        .struct_size = sizeof *info,
        .pixel_type = HOX_PIXEL_U8,
        .channels = CIFAR_CHANNELS,
        .height = CIFAR_SIDE,
        .width = CIFAR_SIDE,
        .class_count = kind_of_label(dataset)->class_count,
        .train_count = dataset->train.count,
        .test_count = dataset->test.count,
        .class_names = dataset->class_names,
        .fingerprint = {dataset->fingerprint[0], dataset->fingerprint[1]},
    };
}

static const cifar_split *find_split(const hox_dataset *dataset, uint32_t split_id) {
    if (split_id == HOX_SPLIT_TRAIN) return &dataset->train;
    if (split_id == HOX_SPLIT_TEST && dataset->test.count > 0) return &dataset->test;
    return NULL;
}

static hox_status cifar_read(hox_dataset *dataset, uint32_t split_id, const uint64_t *indices,
                             uint64_t count, void *images, int32_t *labels, hox_error *error) {
    const cifar_split *split = find_split(dataset, split_id);
    if (!split) return hox_error_set(error, HOX_INVALID_ARGUMENT, "there is no split %u", split_id);
    const uint32_t label_count = dataset->layout->label_count, label = label_index(dataset);
    for (uint64_t i = 0; i < count; i++) {
        if (indices[i] >= split->count)
            return hox_error_set(error, HOX_INVALID_ARGUMENT, "record %llu of %llu in %s",
                                 (unsigned long long)indices[i], (unsigned long long)split->count,
                                 split->name);
        const uint8_t *record = record_at(dataset, split, indices[i]);
        labels[i] = record[label];
        if (images)
            memcpy((uint8_t *)images + i * CIFAR_IMAGE_BYTES, record + label_count,
                   CIFAR_IMAGE_BYTES);
    }
    return HOX_OK;
}

static const char *const variant_names[] = {"auto", "cifar10", "cifar100", NULL};
static const char *const label_names[] = {"fine", "coarse", NULL};

static const hox_field fields[] = {
    HOX_PATH(cifar_options, folder, "",
             "folder of the binary version: data_batch_1.bin ... or train.bin, test.bin"),
    HOX_TEXT(cifar_options, train_files, NULL,
             "names of other files, in folder or absolute, between commas; null: the archive's"),
    HOX_TEXT(
        cifar_options, test_files, NULL,
        "likewise; empty: no test split; null: the archive's, none where train_files is given"),
    HOX_CHOICE(cifar_options, variant, "auto", variant_names,
               "auto: by the files in folder; with train_files by the size of the first"),
    HOX_CHOICE(cifar_options, labels, "fine", label_names,
               "CIFAR-100: its 100 fine or 20 coarse classes"),
};

static const hox_dataset_api api = {
    .struct_size = sizeof api,
    .open = cifar_open,
    .close = cifar_close,
    .info = cifar_info,
    .read = cifar_read,
};

HOX_DATASET_PLUGIN(&api, .name = "cifar", .version = "1.0.0", .licence = "Apache-2.0",
                   .summary = "CIFAR-10 and CIFAR-100, binary version",
                   HOX_OPTIONS(cifar_options, fields));
