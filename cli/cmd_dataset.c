// cmd_dataset.c - hox dataset info: what an experiment's dataset holds and how it is cut.
#include "command.h"
#include "loading.h"
#include "result.h"

#include "base/array.h"
#include "base/hash.h"
#include "experiment/splits.h"
#include "io/contact_sheet.h"

#include <stdio.h>
#include <stdlib.h>

enum { SHEET_COLUMNS = 10 };

// Images of each class in both splits of the dataset; [split - 1][class].
typedef struct class_counts {
    uint64_t *of[2];
    int32_t *train_labels; // of every image
} class_counts;

static const char *const source_names[] = {"train", "test"};

static uint64_t source_count(const hox_dataset_info *info, int source) {
    return source == 0 ? info->train_count : info->test_count;
}

static hox_status read_labels(const splits *s, int source, int32_t **labels, hox_error *error) {
    const uint64_t count = source_count(&s->info, source);
    uint64_t *indices = array_create(count, sizeof *indices, error);
    *labels = array_create(count, sizeof **labels, error);
    hox_status status = indices && *labels ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
    for (uint64_t i = 0; status == HOX_OK && i < count; i++)
        indices[i] = i;
    if (status == HOX_OK)
        status = s->api->read(s->dataset, (uint32_t)source + HOX_SPLIT_TRAIN, indices, count, NULL,
                              *labels, error);
    free(indices);
    return status;
}

static hox_status count_classes(const splits *s, class_counts *counts, hox_error *error) {
    for (int source = 0; source < 2; source++) {
        counts->of[source] = array_create(s->info.class_count, sizeof(uint64_t), error);
        if (!counts->of[source]) return HOX_OUT_OF_HOST_MEMORY;
        if (source_count(&s->info, source) == 0) continue;
        int32_t *labels = NULL;
        const hox_status status = read_labels(s, source, &labels, error);
        for (uint64_t i = 0; status == HOX_OK && i < source_count(&s->info, source); i++)
            counts->of[source][labels[i]]++; // splits_init has checked the labels
        if (source == 0)
            counts->train_labels = labels;
        else
            free(labels);
        if (status != HOX_OK) return status;
    }
    return HOX_OK;
}

static void class_counts_deinit(class_counts *counts) {
    free(counts->of[0]);
    free(counts->of[1]);
    free(counts->train_labels);
}

// ---- the contact sheet: the first images of each class of train ----

static void to_bytes(const hox_dataset_info *info, const void *raw, uint8_t *bytes) {
    const size_t size = (size_t)info->channels * info->height * info->width;
    for (size_t i = 0; i < size; i++) {
        const float value = info->pixel_type == HOX_PIXEL_U8 ? ((const uint8_t *)raw)[i]
                                                             : ((const float *)raw)[i] * 255.0f;
        bytes[i] = (uint8_t)(value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value);
    }
}

static hox_status fill_sheet(const splits *s, const class_counts *counts, void *raw,
                             uint8_t *images, uint32_t *filled, hox_error *error) {
    const hox_dataset_info *info = &s->info;
    const size_t size = (size_t)info->channels * info->height * info->width;
    for (uint64_t i = 0; i < info->train_count; i++) {
        const int32_t class = counts->train_labels[i];
        if (filled[class] == SHEET_COLUMNS) continue;
        int32_t label;
        HOX_TRY(s->api->read(s->dataset, HOX_SPLIT_TRAIN, &i, 1, raw, &label, error));
        to_bytes(info, raw, images + ((size_t) class * SHEET_COLUMNS + filled[class]++) * size);
    }
    return HOX_OK;
}

static hox_status save_sheet(const splits *s, const class_counts *counts, const char *path,
                             hox_error *error) {
    const hox_dataset_info *info = &s->info;
    const size_t size = (size_t)info->channels * info->height * info->width;
    void *raw = array_create(size, sizeof(float), error);
    uint8_t *images = array_create(SHEET_COLUMNS * (size_t)info->class_count, size, error);
    uint32_t *filled = array_create(info->class_count, sizeof *filled, error);
    const contact_sheet sheet = {.row_count = info->class_count,
                                 .column_count = SHEET_COLUMNS,
                                 .channels = info->channels,
                                 .height = info->height,
                                 .width = info->width,
                                 .names = info->class_names,
                                 .images = images,
                                 .filled = filled};
    hox_status status = raw && images && filled ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
    if (status == HOX_OK) status = fill_sheet(s, counts, raw, images, filled, error);
    if (status == HOX_OK) status = contact_sheet_save(path, &sheet, error);
    free(raw);
    free(images);
    free(filled);
    return status;
}

// ---- for people ----

static void print_text(const splits *s, const class_counts *counts, const instance *plugin) {
    const hox_dataset_info *info = &s->info;
    char fingerprint[HASH_TEXT_SIZE];
    hash_print(info->fingerprint, fingerprint);
    printf("dataset %s, %u x %u x %u pixels, fingerprint %s\n", plugin->plugin->name,
           info->channels, info->height, info->width, fingerprint);
    printf("%-4s %-24s %10s %10s\n", "", "class", "train", "test");
    for (uint32_t i = 0; i < info->class_count; i++)
        printf("%-4u %-24s %10llu %10llu\n", i, info->class_names[i],
               (unsigned long long)counts->of[0][i], (unsigned long long)counts->of[1][i]);
    printf("%-29s %10llu %10llu\n", "all", (unsigned long long)info->train_count,
           (unsigned long long)info->test_count);
    printf("\ntask: \"%s\" against %s\n", info->class_names[s->positive_class],
           s->negative_class < 0 ? "the rest" : info->class_names[s->negative_class]);
    for (uint32_t part = 0; part < SPLIT_COUNT; part++)
        printf("  %-10s %10llu images, %llu positive\n", split_names[part],
               (unsigned long long)s->parts[part].count,
               (unsigned long long)s->parts[part].positive_count);
    puts("pixels of refine and select, 0..1, by channel");
    for (uint32_t c = 0; c < info->channels; c++)
        printf("  mean %.6f, standard deviation %.6f\n", s->means[c], s->deviations[c]);
}

// ---- for programs ----

static json_t *classes_json(const splits *s, const class_counts *counts) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->info.class_count; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "name", s->info.class_names[i],
                                              source_names[0], (json_int_t)counts->of[0][i],
                                              source_names[1], (json_int_t)counts->of[1][i]));
    return list;
}

static json_t *info_json(const splits *s, const class_counts *counts, const instance *plugin) {
    json_t *json = splits_json(s);
    json_object_set_new(json, "plugin", json_string(plugin->plugin->name));
    json_object_set_new(json, "classes", classes_json(s, counts));
    return json;
}

// ---- the command ----

static hox_status report(const splits *s, const instance *plugin, const command_line *line,
                         hox_error *error) {
    const char *sheet = command_line_value(line, "sheet");
    class_counts counts = {0};
    hox_status status = count_classes(s, &counts, error);
    if (status == HOX_OK && sheet) status = save_sheet(s, &counts, sheet, error);
    if (status == HOX_OK && command_line_has(line, "json"))
        result_print(info_json(s, &counts, plugin));
    else if (status == HOX_OK)
        print_text(s, &counts, plugin);
    class_counts_deinit(&counts);
    return status;
}

static hox_status open_and_report(loading *l, const command_line *line, hox_error *error) {
    const instance *plugin = &l->config.dataset;
    const hox_dataset_api *api = plugin->plugin->dataset;
    hox_dataset *dataset;
    splits s;
    HOX_TRY(api->open(&plugin->services.host, plugin->options, &dataset, error));
    hox_status status = splits_init(&s, api, dataset, &l->config.task, l->config.head.seed,
                                    &l->terminal->log, error);
    if (status == HOX_OK) {
        status = report(&s, plugin, line, error);
        splits_deinit(&s);
    }
    api->close(dataset);
    return status;
}

int cmd_dataset_info(const command_line *line, terminal *t) {
    loading l;
    int code = loading_open(&l, line->words.items[0], line, t);
    if (code != EXIT_OK) return code;
    hox_error error = HOX_ERROR_INIT;
    if (open_and_report(&l, line, &error) != HOX_OK) code = loading_explain(&l, &error, false);
    loading_close(&l);
    return code;
}
