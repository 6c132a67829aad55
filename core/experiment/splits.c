#include "experiment/splits.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/rng.h"
#include "io/json_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_IMAGES = 64 };

const char *const split_names[SPLIT_COUNT] = {"refine", "select", "monitor", "test"};

// ---- classes ----

static hox_status find_class(const splits *s, const char *label, const char *pointer,
                             uint32_t *number, hox_error *error) {
    for (*number = 0; *number < s->info.class_count; ++*number)
        if (strcmp(s->info.class_names[*number], label) == 0) return HOX_OK;
    char *end;
    const unsigned long parsed = strtoul(label, &end, 10);
    if (*label >= '0' && *label <= '9' && *end == 0 && parsed < s->info.class_count) {
        *number = (uint32_t)parsed;
        return HOX_OK;
    }
    char names[300] = "";
    for (uint32_t i = 0; i < s->info.class_count; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                 s->info.class_names[i]);
    }
    return hox_error_set(error, HOX_BAD_OPTION, "%s: there is no class \"%.40s\"; there are: %s",
                         pointer, label, names);
}

static bool is_in_task(const splits *s, int32_t class) {
    return s->negative_class < 0 || class == (int32_t)s->positive_class ||
           class == s->negative_class;
}

// ---- cutting ----

static hox_status part_init(splits *s, uint32_t part, uint32_t source, uint64_t room,
                            hox_error *error) {
    split_part *p = &s->parts[part];
    *p = (split_part){.source = source,
                      .indices = array_create(room, sizeof *p->indices, error),
                      .labels = array_create(room, sizeof *p->labels, error),
                      .brightness = array_create(room, sizeof *p->brightness, error)};
    return p->indices && p->labels && p->brightness ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
}

static int by_index(const void *a, const void *b) {
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void take(splits *s, uint32_t part, const uint64_t *indices, uint64_t count) {
    split_part *p = &s->parts[part];
    if (count > 0) memcpy(p->indices + p->count, indices, count * sizeof *indices);
    p->count += count;
}

static void shuffle(uint64_t *items, uint64_t count, rng *r) {
    for (uint64_t i = count; i > 1; i--) {
        const uint64_t other = rng_below(r, i), kept = items[i - 1];
        items[i - 1] = items[other];
        items[other] = kept;
    }
}

// Deals one class's images, shuffled, to the parts by rounded running shares.
static void deal_class(splits *s, uint64_t *indices, uint64_t count, const hox_real_list *shares,
                       rng *r) {
    shuffle(indices, count, r);
    double running = 0.0;
    uint64_t begin = 0;
    for (uint32_t part = 0; part < shares->count; part++) {
        running += shares->values[part];
        uint64_t end = (uint64_t)(running * (double)count + 0.5);
        if (end > count) end = count;
        take(s, part, indices + begin, end - begin);
        begin = end;
    }
}

// Leaves at most most images (0 = all), chosen at random from each class in its share.
static hox_status thin_part(splits *s, uint32_t part, const int32_t *classes, uint64_t most,
                            uint64_t seed, hox_error *error) {
    split_part *p = &s->parts[part];
    const uint64_t all = p->count;
    if (most == 0 || all <= most) return HOX_OK;
    uint64_t *quotas = array_create(s->info.class_count, sizeof *quotas, error);
    if (!quotas) return HOX_OUT_OF_HOST_MEMORY;
    for (uint64_t i = 0; i < all; i++)
        quotas[classes[p->indices[i]]]++;
    uint64_t seen = 0, given = 0;
    for (uint32_t class = 0; class < s->info.class_count; class ++) {
        seen += quotas[class];
        quotas[class] = seen * most / all - given;
        given += quotas[class];
    }
    rng r = rng_stream(seed, 1, part, RNG_PURPOSE_SPLIT);
    shuffle(p->indices, all, &r);
    p->count = 0;
    for (uint64_t i = 0; i < all; i++) {
        uint64_t *quota = &quotas[classes[p->indices[i]]];
        if (*quota == 0) continue;
        --*quota;
        p->indices[p->count++] = p->indices[i];
    }
    free(quotas);
    return HOX_OK;
}

static void label_part(splits *s, uint32_t part, const int32_t *classes) {
    split_part *p = &s->parts[part];
    qsort(p->indices, p->count, sizeof *p->indices, by_index);
    for (uint64_t i = 0; i < p->count; i++) {
        p->labels[i] = classes[p->indices[i]] == (int32_t)s->positive_class;
        p->positive_count += p->labels[i];
        p->brightness[i] = NAN;
    }
}

static hox_status finish_part(splits *s, uint32_t part, const int32_t *classes,
                              const task_config *task, uint64_t seed, hox_error *error) {
    HOX_TRY(thin_part(s, part, classes, (uint64_t)task->max_images, seed, error));
    label_part(s, part, classes);
    return HOX_OK;
}

static hox_status read_classes(splits *s, uint32_t source, uint64_t count, int32_t **classes,
                               uint64_t **indices, hox_error *error) {
    *classes = array_create(count, sizeof **classes, error);
    *indices = array_create(count, sizeof **indices, error);
    if (!*classes || !*indices) return HOX_OUT_OF_HOST_MEMORY;
    for (uint64_t i = 0; i < count; i++)
        (*indices)[i] = i;
    HOX_TRY(s->api->read(s->dataset, source, *indices, count, NULL, *classes, error));
    for (uint64_t i = 0; i < count; i++)
        if ((*classes)[i] < 0 || (uint32_t)(*classes)[i] >= s->info.class_count)
            return hox_error_set(error, HOX_CORRUPT,
                                 "the dataset gives image %" PRIu64 " class %d of %u", i,
                                 (*classes)[i], s->info.class_count);
    return HOX_OK;
}

static hox_status cut_train(splits *s, const task_config *task, uint64_t seed, hox_error *error) {
    const hox_real_list *shares = &task->split_fractions;
    const uint64_t count = s->info.train_count;
    for (uint32_t part = 0; part < shares->count; part++)
        HOX_TRY(part_init(s, part, HOX_SPLIT_TRAIN, count, error));
    int32_t *classes;
    uint64_t *indices;
    hox_status status = read_classes(s, HOX_SPLIT_TRAIN, count, &classes, &indices, error);
    for (uint32_t class = 0; status == HOX_OK && class < s->info.class_count; class ++) {
        uint64_t members = 0;
        for (uint64_t i = 0; i < count; i++)
            if (classes[i] == (int32_t) class && is_in_task(s, classes[i])) indices[members++] = i;
        rng r = rng_stream(seed, 0, class, RNG_PURPOSE_SPLIT);
        deal_class(s, indices, members, shares, &r);
    }
    for (uint32_t part = 0; status == HOX_OK && part < shares->count; part++)
        status = finish_part(s, part, classes, task, seed, error);
    free(classes);
    free(indices);
    return status;
}

static hox_status take_test(splits *s, const task_config *task, uint64_t seed, hox_error *error) {
    const uint64_t count = s->info.test_count;
    HOX_TRY(part_init(s, SPLIT_TEST, HOX_SPLIT_TEST, count, error));
    int32_t *classes;
    uint64_t *indices;
    hox_status status = read_classes(s, HOX_SPLIT_TEST, count, &classes, &indices, error);
    for (uint64_t i = 0; status == HOX_OK && i < count; i++)
        if (is_in_task(s, classes[i])) take(s, SPLIT_TEST, &i, 1);
    if (status == HOX_OK) status = finish_part(s, SPLIT_TEST, classes, task, seed, error);
    free(classes);
    free(indices);
    return status;
}

static hox_status check_parts(const splits *s, const log_sink *log, hox_error *error) {
    for (uint32_t part = 0; part < SPLIT_COUNT; part++) {
        const split_part *p = &s->parts[part];
        if (p->count == 0 && (part == SPLIT_SELECT || part == SPLIT_MONITOR))
            return hox_error_set(error, HOX_BAD_OPTION,
                                 "/task/split_fractions: no image is left for %s",
                                 split_names[part]);
        if (p->count == 0 && part == SPLIT_TEST)
            log_line(log, HOX_LOG_WARNING,
                     "no test split: give task.split_fractions a fourth number to measure on test");
        if (p->count > 0 && (p->positive_count == 0 || p->positive_count == p->count))
            log_line(log, HOX_LOG_WARNING,
                     "the %s split holds no image of the %s class; its share counts 0 in balanced "
                     "accuracy",
                     split_names[part], p->positive_count ? "negative" : "positive");
    }
    return HOX_OK;
}

// ---- reading ----

typedef struct reader {
    void *raw;     // as the dataset gives them
    float *images; // 0..1
    int32_t *classes;
    uint64_t image_size; // pixels of all channels
} reader;

static hox_status reader_init(reader *r, const splits *s, hox_error *error) {
    const uint64_t pixel_bytes = s->info.pixel_type == HOX_PIXEL_U8 ? 1 : sizeof(float);
    const uint64_t size = (uint64_t)s->info.channels * s->info.height * s->info.width;
    *r = (reader){.raw = array_create(BLOCK_IMAGES * size, pixel_bytes, error),
                  .images = array_create(BLOCK_IMAGES * size, sizeof(float), error),
                  .classes = array_create(BLOCK_IMAGES, sizeof(int32_t), error),
                  .image_size = size};
    return r->raw && r->images && r->classes ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
}

static void reader_deinit(reader *r) {
    free(r->raw);
    free(r->images);
    free(r->classes);
}

static void scale_pixels(const splits *s, reader *r, uint64_t count) {
    const uint64_t size = count * r->image_size;
    if (s->info.pixel_type == HOX_PIXEL_U8)
        for (uint64_t i = 0; i < size; i++)
            r->images[i] = (float)((const uint8_t *)r->raw)[i] / 255.0f;
    else
        memcpy(r->images, r->raw, size * sizeof *r->images);
}

// Images first .. of a part into r->images, and their brightness into the part.
static hox_status read_block(splits *s, reader *r, split_part *p, uint64_t first, uint64_t count,
                             hox_error *error) {
    HOX_TRY(
        s->api->read(s->dataset, p->source, p->indices + first, count, r->raw, r->classes, error));
    scale_pixels(s, r, count);
    for (uint64_t i = 0; i < count; i++) {
        double sum = 0.0;
        for (uint64_t k = 0; k < r->image_size; k++)
            sum += (double)r->images[i * r->image_size + k];
        p->brightness[first + i] = sum / (double)r->image_size;
    }
    return HOX_OK;
}

// Sums over a block for one channel: pixels and their squares.
static void add_channel(const splits *s, const reader *r, uint64_t count, uint32_t channel,
                        double *sum, double *square_sum) {
    const uint64_t map = (uint64_t)s->info.height * s->info.width;
    for (uint64_t i = 0; i < count; i++) {
        const float *pixels = r->images + i * r->image_size + channel * map;
        for (uint64_t k = 0; k < map; k++) {
            *sum += (double)pixels[k];
            *square_sum += (double)pixels[k] * (double)pixels[k];
        }
    }
}

static uint64_t block_size(uint64_t end, uint64_t first) {
    return end - first < BLOCK_IMAGES ? end - first : BLOCK_IMAGES;
}

// Turns the sums in means and deviations into what their names say.
static void finish_normalisation(splits *s, uint64_t image_count) {
    const double pixels = (double)image_count * s->info.height * s->info.width;
    for (uint32_t c = 0; c < s->info.channels; c++) {
        s->means[c] /= pixels;
        const double variance = s->deviations[c] / pixels - s->means[c] * s->means[c];
        s->deviations[c] = variance > 1e-12 ? sqrt(variance) : 1.0;
    }
}

static hox_status measure(splits *s, hox_error *error) {
    s->means = array_create(s->info.channels, sizeof *s->means, error);
    s->deviations = array_create(s->info.channels, sizeof *s->deviations, error);
    reader r;
    hox_status status = reader_init(&r, s, error);
    if (!s->means || !s->deviations) status = HOX_OUT_OF_HOST_MEMORY;
    for (uint32_t part = SPLIT_REFINE; part <= SPLIT_SELECT; part++) {
        split_part *p = &s->parts[part];
        for (uint64_t at = 0; at < p->count && status == HOX_OK; at += BLOCK_IMAGES) {
            status = read_block(s, &r, p, at, block_size(p->count, at), error);
            for (uint32_t c = 0; c < s->info.channels && status == HOX_OK; c++)
                add_channel(s, &r, block_size(p->count, at), c, &s->means[c], &s->deviations[c]);
        }
    }
    if (status == HOX_OK)
        finish_normalisation(s, s->parts[SPLIT_REFINE].count + s->parts[SPLIT_SELECT].count);
    reader_deinit(&r);
    return status;
}

static void normalise(const splits *s, reader *r, uint64_t count) {
    const uint64_t map = (uint64_t)s->info.height * s->info.width;
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < s->info.channels; c++) {
            float *pixels = r->images + i * r->image_size + c * map;
            for (uint64_t k = 0; k < map; k++)
                pixels[k] = (float)(((double)pixels[k] - s->means[c]) / s->deviations[c]);
        }
}

hox_status splits_read(splits *s, uint32_t part, uint64_t first, uint64_t count,
                       image_consumer *consume, void *consumer, hox_error *error) {
    split_part *p = &s->parts[part];
    reader r;
    hox_status status = reader_init(&r, s, error);
    for (uint64_t at = first; at < first + count && status == HOX_OK; at += BLOCK_IMAGES) {
        const uint64_t block = block_size(first + count, at);
        status = read_block(s, &r, p, at, block, error);
        if (status != HOX_OK) break;
        normalise(s, &r, block);
        status = consume(consumer, at, block, r.images, error);
    }
    reader_deinit(&r);
    return status;
}

// ---- all of it ----

static hox_status check_info(const hox_dataset_info *info, hox_error *error) {
    const bool is_sane = info->channels && info->height && info->width && info->class_count &&
                         info->class_names && info->channels <= 4096 && info->height <= 65536 &&
                         info->width <= 65536 &&
                         (info->pixel_type == HOX_PIXEL_U8 || info->pixel_type == HOX_PIXEL_F32);
    if (is_sane && info->train_count > 0) return HOX_OK;
    return hox_error_set(error, HOX_CORRUPT,
                         "the dataset holds no images: %" PRIu64 " of %u x %u x %u in %u classes",
                         info->train_count, info->channels, info->height, info->width,
                         info->class_count);
}

static hox_status cut(splits *s, const task_config *task, uint64_t seed, const log_sink *log,
                      hox_error *error) {
    HOX_TRY(check_info(&s->info, error));
    HOX_TRY(find_class(s, task->positive_class, "/task/positive_class", &s->positive_class, error));
    if (task->negative_class) {
        uint32_t negative;
        HOX_TRY(find_class(s, task->negative_class, "/task/negative_class", &negative, error));
        if (negative == s->positive_class)
            return hox_error_set(error, HOX_BAD_OPTION,
                                 "/task/negative_class: it is the positive class");
        s->negative_class = negative;
    }
    if (s->info.test_count > 0 && task->split_fractions.count == 4)
        return hox_error_set(error, HOX_BAD_OPTION,
                             "/task/split_fractions: four numbers, but the dataset has a test "
                             "split of its own; give three");
    HOX_TRY(cut_train(s, task, seed, error));
    if (s->info.test_count > 0) HOX_TRY(take_test(s, task, seed, error));
    HOX_TRY(check_parts(s, log, error));
    return measure(s, error);
}

hox_status splits_init(splits *s, const hox_dataset_api *api, hox_dataset *dataset,
                       const task_config *task, uint64_t seed, const log_sink *log,
                       hox_error *error) {
    *s = (splits){.api = api,
                  .dataset = dataset,
                  .info = {.struct_size = sizeof s->info},
                  .negative_class = -1};
    api->info(dataset, &s->info);
    const hox_status status = cut(s, task, seed, log, error);
    if (status != HOX_OK) splits_deinit(s);
    return status;
}

void splits_deinit(splits *s) {
    for (uint32_t part = 0; part < SPLIT_COUNT; part++) {
        free(s->parts[part].indices);
        free(s->parts[part].labels);
        free(s->parts[part].brightness);
    }
    free(s->means);
    free(s->deviations);
    *s = (splits){0};
}

// ---- as JSON ----

static json_t *parts_json(const splits *s) {
    json_t *json = json_object();
    for (uint32_t part = 0; part < SPLIT_COUNT; part++) {
        const split_part *p = &s->parts[part];
        const hash128 hash = hash_bytes(p->indices, p->count * sizeof *p->indices);
        json_object_set_new(json, split_names[part],
                            json_pack("{s:I, s:I, s:o}", "images", (json_int_t)p->count, "positive",
                                      (json_int_t)p->positive_count, "xxh128",
                                      json_value_hash(hash.words)));
    }
    return json;
}

static json_t *reals_json(const double *values, uint32_t count) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(array, json_real(values[i]));
    return array;
}

json_t *splits_json(const splits *s) {
    const char *negative = s->negative_class < 0 ? NULL : s->info.class_names[s->negative_class];
    return json_pack("{s:[I,I,I], s:s, s:s?, s:o, s:o, s:o, s:o}", "size",
                     (json_int_t)s->info.channels, (json_int_t)s->info.height,
                     (json_int_t)s->info.width, "positive_class",
                     s->info.class_names[s->positive_class], "negative_class", negative,
                     "fingerprint", json_value_hash(s->info.fingerprint), "splits", parts_json(s),
                     "mean", reals_json(s->means, s->info.channels), "deviation",
                     reals_json(s->deviations, s->info.channels));
}
