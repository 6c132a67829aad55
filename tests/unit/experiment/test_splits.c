// test_splits.c - who gets which image, and how it is normalised, on a dataset made here.
#include "experiment/splits.h"
#include "random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

// ---- a dataset ----

enum { MOST_IMAGES = 700, HEIGHT = 2, WIDTH = 3, CHANNELS = 2, SIZE = CHANNELS * HEIGHT * WIDTH };

struct hox_dataset {
    hox_dataset_info info;
    int32_t classes[2][MOST_IMAGES]; // train, test
    hox_status read_status;
};

static void tell_info(const hox_dataset *d, hox_dataset_info *info) {
    *info = d->info;
}

// Pixel values that depend on image and place alone; channel 1 is constant.
static uint8_t pixel(uint32_t source, uint64_t image, uint32_t place) {
    test_random r = {source * UINT64_C(1000003) + image * 64 + place};
    return place >= HEIGHT * WIDTH ? 51 : (uint8_t)random_below(&r, 200);
}

static hox_status read_images(hox_dataset *d, uint32_t split, const uint64_t *indices,
                              uint64_t count, void *images, int32_t *labels, hox_error *error) {
    if (d->read_status != HOX_OK && images)
        return hox_error_set(error, d->read_status, "record 3 is damaged");
    for (uint64_t i = 0; i < count; i++) {
        labels[i] = d->classes[split - 1][indices[i]];
        for (uint32_t k = 0; images && k < SIZE; k++)
            if (d->info.pixel_type == HOX_PIXEL_U8)
                ((uint8_t *)images)[i * SIZE + k] = pixel(split, indices[i], k);
            else
                ((float *)images)[i * SIZE + k] = (float)pixel(split, indices[i], k);
    }
    return HOX_OK;
}

static const hox_dataset_api api = {
    .struct_size = sizeof api, .info = tell_info, .read = read_images};

static const char *const names[] = {"a", "b", "c"};

// Twelve of class a, twenty of b, six of c, in turns; of each again repeats times.
static hox_dataset make_dataset(uint64_t repeats, uint64_t test_count) {
    hox_dataset d = {.info = {.struct_size = sizeof d.info,
                              .pixel_type = HOX_PIXEL_U8,
                              .channels = CHANNELS,
                              .height = HEIGHT,
                              .width = WIDTH,
                              .class_count = 3,
                              .class_names = names,
                              .train_count = 38 * repeats,
                              .test_count = test_count}};
    for (uint64_t i = 0; i < d.info.train_count; i++) {
        const uint64_t place = i % 38;
        d.classes[0][i] = place % 2 && place < 24 ? 0 : place % 2 && place < 36 ? 2 : 1;
    }
    for (uint64_t i = 0; i < test_count; i++)
        d.classes[1][i] = (int32_t)(i % 3);
    return d;
}

static task_config make_task(const char *positive, const char *negative) {
    return (task_config){.positive_class = positive,
                         .negative_class = negative,
                         .split_fractions = {.count = 3, .values = {0.5, 0.35, 0.15}}};
}

static splits cut(hox_dataset *d, const task_config *task, uint64_t seed) {
    splits s;
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(splits_init(&s, &api, d, task, seed, NULL, &error), HOX_OK, "%s", error.message);
    return s;
}

static void check_refused(hox_dataset *d, const task_config *task, hox_status expected,
                          const char *message) {
    splits s;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(splits_init(&s, &api, d, task, 1, NULL, &error), expected, "%s", message);
    cr_expect(strstr(error.message, message), "%s: %s", message, error.message);
    splits_deinit(&s);
}

static void check_counts(const splits *s, const uint64_t counts[SPLIT_COUNT],
                         const uint64_t positives[SPLIT_COUNT]) {
    for (uint32_t part = 0; part < SPLIT_COUNT; part++) {
        cr_expect_eq(s->parts[part].count, counts[part], "%s: %zu images", split_names[part],
                     (size_t)s->parts[part].count);
        cr_expect_eq(s->parts[part].positive_count, positives[part], "%s: %zu positives",
                     split_names[part], (size_t)s->parts[part].positive_count);
    }
}

// Ascending, each image in one part at most, labels and counts right.
static uint64_t check_parts(const splits *s, const hox_dataset *d, int32_t positive) {
    bool is_taken[2][MOST_IMAGES] = {{false}};
    uint64_t taken_count = 0;
    for (uint32_t part = 0; part < SPLIT_COUNT; part++) {
        const split_part *p = &s->parts[part];
        uint64_t positives = 0;
        for (uint64_t i = 0; i < p->count; i++) {
            cr_expect(i == 0 || p->indices[i] > p->indices[i - 1], "%s", split_names[part]);
            cr_expect(!is_taken[p->source - 1][p->indices[i]], "%s", split_names[part]);
            is_taken[p->source - 1][p->indices[i]] = true;
            const int32_t class = d->classes[p->source - 1][p->indices[i]];
            cr_expect_eq(p->labels[i], class == positive, "%s", split_names[part]);
            positives += class == positive;
        }
        cr_expect_eq(p->positive_count, positives, "%s", split_names[part]);
        taken_count += p->count;
    }
    return taken_count;
}

// ---- cutting ----

// Running shares 0.5 and 0.85: of 12 up to 6 and 10.2, of 20 up to 10 and 17, of 6 up to 3 and 5.1.
Test(splits, are_stratified_by_class) {
    hox_dataset d = make_dataset(1, 9);
    const task_config task = make_task("a", NULL);
    splits s = cut(&d, &task, 1);
    check_counts(&s, (const uint64_t[]){19, 13, 6, 9}, (const uint64_t[]){6, 4, 2, 3});
    cr_expect_eq(check_parts(&s, &d, 0), 38 + 9);
    uint64_t c_count[SPLIT_COUNT] = {0};
    for (uint32_t part = 0; part < SPLIT_TEST; part++)
        for (uint64_t i = 0; i < s.parts[part].count; i++)
            c_count[part] += d.classes[0][s.parts[part].indices[i]] == 2;
    cr_expect_eq(c_count[SPLIT_REFINE], 3);
    cr_expect_eq(c_count[SPLIT_SELECT], 2);
    cr_expect_eq(c_count[SPLIT_MONITOR], 1);
    cr_expect_eq(s.negative_class, -1);
    splits_deinit(&s);
}

Test(splits, depend_on_the_seed_alone) {
    hox_dataset d = make_dataset(4, 0);
    const task_config task = make_task("a", NULL);
    splits first = cut(&d, &task, 1), again = cut(&d, &task, 1), other = cut(&d, &task, 2);
    for (uint32_t part = 0; part < SPLIT_TEST; part++) {
        const size_t size = first.parts[part].count * sizeof(uint64_t);
        cr_expect_arr_eq(first.parts[part].indices, again.parts[part].indices, size);
        cr_expect_eq(first.parts[part].count, other.parts[part].count);
        cr_expect_arr_neq(first.parts[part].indices, other.parts[part].indices, size);
    }
    splits_deinit(&first);
    splits_deinit(&again);
    splits_deinit(&other);
}

Test(splits, leave_out_classes_that_are_not_in_the_task) {
    hox_dataset d = make_dataset(1, 9);
    const task_config task = make_task("a", "c");
    splits s = cut(&d, &task, 1);
    check_counts(&s, (const uint64_t[]){9, 6, 3, 6}, (const uint64_t[]){6, 4, 2, 3});
    cr_expect_eq(check_parts(&s, &d, 0), 18 + 6);
    cr_expect_eq(s.negative_class, 2);
    splits_deinit(&s);
}

// A class is called by its name, else by its number.
Test(splits, find_classes_by_name_then_number) {
    hox_dataset d = make_dataset(1, 0);
    task_config task = make_task("2", NULL);
    splits s = cut(&d, &task, 1);
    cr_expect_eq(s.positive_class, 2);
    splits_deinit(&s);
    static const char *const numbers[] = {"2", "0", "1"};
    d.info.class_names = numbers;
    s = cut(&d, &task, 1);
    cr_expect_eq(s.positive_class, 0);
    splits_deinit(&s);
}

Test(splits, refuse_a_task_that_cannot_be) {
    static const struct {
        const char *positive, *negative, *message;
    } rows[] = {
        {"z", NULL, "/task/positive_class: there is no class \"z\"; there are: a, b, c"},
        {"3", NULL, "/task/positive_class: there is no class \"3\""},
        {"", NULL, "/task/positive_class: there is no class \"\""},
        {"1a", NULL, "/task/positive_class: there is no class \"1a\""},
        {"-1", NULL, "/task/positive_class: there is no class \"-1\""},
        {"a", "d", "/task/negative_class: there is no class \"d\"; there are: a, b, c"},
        {"a", "0", "/task/negative_class: it is the positive class"},
    };
    hox_dataset d = make_dataset(1, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const task_config task = make_task(rows[i].positive, rows[i].negative);
        check_refused(&d, &task, HOX_BAD_OPTION, rows[i].message);
    }
}

Test(splits, may_leave_images_unused) {
    hox_dataset d = make_dataset(1, 0);
    task_config task = make_task("b", NULL);
    task.split_fractions = (hox_real_list){3, {0.25, 0.25, 0.25}}; // of 12, 20 and 6 (1.5 3 4.5)
    splits s = cut(&d, &task, 1);
    cr_expect_eq(s.parts[SPLIT_REFINE].positive_count, 5);
    cr_expect_eq(s.parts[SPLIT_SELECT].positive_count, 5);
    cr_expect_eq(s.parts[SPLIT_MONITOR].positive_count, 5);
    cr_expect_lt(check_parts(&s, &d, 1), 30);
    splits_deinit(&s);
    task.split_fractions = (hox_real_list){3, {0, 0.5, 0.5}};
    s = cut(&d, &task, 1);
    check_counts(&s, (const uint64_t[]){0, 19, 19, 0}, (const uint64_t[]){0, 10, 10, 0});
    splits_deinit(&s);
}

Test(splits, cut_a_test_part_only_where_there_is_none) {
    hox_dataset d = make_dataset(5, 0); // 60, 100 and 30
    task_config task = make_task("a", NULL);
    task.split_fractions = (hox_real_list){4, {0.4, 0.3, 0.2, 0.1}};
    splits s = cut(&d, &task, 1);
    check_counts(&s, (const uint64_t[]){76, 57, 38, 19}, (const uint64_t[]){24, 18, 12, 6});
    cr_expect_eq(check_parts(&s, &d, 0), 190);
    cr_expect_eq(s.parts[SPLIT_TEST].source, HOX_SPLIT_TRAIN);
    splits_deinit(&s);
    hox_dataset with_test = make_dataset(5, 3);
    check_refused(&with_test, &task, HOX_BAD_OPTION, "/task/split_fractions: four numbers");
}

Test(splits, need_images_to_select_and_monitor_by) {
    hox_dataset d = make_dataset(1, 0);
    task_config task = make_task("a", NULL);
    task.split_fractions = (hox_real_list){3, {0.9, 0.01, 0.09}};
    check_refused(&d, &task, HOX_BAD_OPTION, "/task/split_fractions: no image is left for select");
    task.split_fractions = (hox_real_list){3, {0.5, 0.49, 0.001}};
    check_refused(&d, &task, HOX_BAD_OPTION, "/task/split_fractions: no image is left for monitor");
}

Test(splits, take_at_most_so_many_images) {
    hox_dataset d = make_dataset(10, 9);
    task_config task = make_task("a", NULL);
    splits whole = cut(&d, &task, 1);
    task.max_images = 10;
    splits s = cut(&d, &task, 1);
    for (uint32_t part = 0; part < SPLIT_COUNT; part++) {
        const split_part *p = &s.parts[part], *all = &whole.parts[part];
        cr_expect_eq(p->count, part == SPLIT_TEST ? 9 : 10);
        uint64_t at = 0;
        for (uint64_t i = 0; i < p->count; i++)
            while (at < all->count && all->indices[at] != p->indices[i])
                at++;
        cr_expect_lt(at, all->count, "%s: an image of another part", split_names[part]);
        // Each class in its share: of 10 images no fewer positives than the rounded-down share.
        cr_expect_geq(p->positive_count, all->positive_count * p->count / all->count);
        cr_expect_leq(p->positive_count, all->positive_count * p->count / all->count + 1);
    }
    check_parts(&s, &d, 0);
    splits_deinit(&whole);
    splits_deinit(&s);
}

// ---- warnings ----

static void count_line(void *context, uint32_t level, const char *line) {
    char *kept = context;
    if (level == HOX_LOG_WARNING) snprintf(kept + strlen(kept), 1024 - strlen(kept), "%s\n", line);
}

Test(splits, warn_of_what_is_missing) {
    char lines[1024] = "";
    const log_sink log = {.level = HOX_LOG_DEBUG, .write = count_line, .context = lines};
    hox_dataset d = make_dataset(1, 0);
    const task_config task = make_task("c", NULL);
    for (uint64_t i = 0; i < 38; i++) // one image of class c: no part but one has it
        if (d.classes[0][i] == 2 && i != 25) d.classes[0][i] = 1;
    splits s;
    cr_assert_eq(splits_init(&s, &api, &d, &task, 1, &log, NULL), HOX_OK);
    cr_expect(strstr(lines, "no test split"), "%s", lines);
    cr_expect(strstr(lines, "the select split holds no image of the positive class"), "%s", lines);
    cr_expect(strstr(lines, "the monitor split holds no image of the positive class"), "%s", lines);
    cr_expect_null(strstr(lines, "the refine split"), "%s", lines);
    splits_deinit(&s);
}

// ---- what a dataset may do wrong ----

Test(splits, pass_on_what_the_dataset_says) {
    const task_config task = make_task("a", NULL);
    hox_dataset d = make_dataset(1, 0);
    d.classes[0][5] = 3;
    check_refused(&d, &task, HOX_CORRUPT, "image 5 class 3 of 3");
    d.classes[0][5] = -1;
    check_refused(&d, &task, HOX_CORRUPT, "image 5 class -1 of 3");
    d = make_dataset(1, 0);
    d.read_status = HOX_IO;
    check_refused(&d, &task, HOX_IO, "record 3 is damaged");
    d = make_dataset(0, 0);
    check_refused(&d, &task, HOX_CORRUPT, "the dataset holds no images");
    d = make_dataset(1, 0);
    d.info.pixel_type = 9;
    check_refused(&d, &task, HOX_CORRUPT, "the dataset holds no images");
}

// ---- normalisation ----

typedef struct reading {
    const splits *s;
    uint32_t part;
    uint64_t count;
    double scale; // of a raw pixel
} reading;

static hox_status check_block(void *context, uint64_t first, uint64_t count, const float *images,
                              hox_error *error) {
    reading *r = context;
    const split_part *p = &r->s->parts[r->part];
    (void)error;
    cr_expect_eq(first, r->count, "blocks in order");
    for (uint64_t i = 0; i < count; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < SIZE; k++) {
            const double raw = pixel(p->source, p->indices[first + i], k) * r->scale;
            const uint32_t c = k / (HEIGHT * WIDTH);
            cr_assert_float_eq((double)images[i * SIZE + k],
                               (raw - r->s->means[c]) / r->s->deviations[c], 1e-5);
            sum += raw;
        }
        cr_assert_float_eq(p->brightness[first + i], sum / SIZE, 1e-6 * r->scale * 255);
    }
    r->count += count;
    return HOX_OK;
}

// The definition, over refine and select.
static void naive_normalisation(const splits *s, double scale, double *mean, double *deviation) {
    double sum = 0, square_sum = 0, count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t part = SPLIT_REFINE; part <= SPLIT_SELECT; part++)
            for (uint64_t i = 0; i < s->parts[part].count; i++)
                for (uint32_t k = 0; k < HEIGHT * WIDTH; k++) {
                    const double raw = pixel(HOX_SPLIT_TRAIN, s->parts[part].indices[i], k) * scale;
                    if (pass == 0)
                        sum += raw, count++;
                    else
                        square_sum += (raw - sum / count) * (raw - sum / count);
                }
    *mean = sum / count;
    *deviation = sqrt(square_sum / count);
}

static void check_normalisation(uint32_t pixel_type, double scale) {
    hox_dataset d = make_dataset(18, 12); // 684 images: refine takes two blocks of reading
    d.info.pixel_type = pixel_type;
    const task_config task = make_task("a", NULL);
    splits s = cut(&d, &task, 1);
    double mean, deviation;
    naive_normalisation(&s, scale, &mean, &deviation);
    cr_expect_float_eq(s.means[0], mean, 1e-6 * scale * 255);
    cr_expect_float_eq(s.deviations[0], deviation, 1e-6 * scale * 255);
    cr_expect_float_eq(s.means[1], 51 * scale, 1e-6 * scale * 255);
    cr_expect_eq(s.deviations[1], 1, "a constant channel");
    cr_expect_not(isnan(s.parts[SPLIT_SELECT].brightness[0]), "read to be measured");
    cr_expect(isnan(s.parts[SPLIT_TEST].brightness[0]), "not read yet");
    for (uint32_t part = 0; part < SPLIT_COUNT; part++) {
        reading r = {&s, part, 0, scale};
        cr_expect_eq(splits_read(&s, part, 0, s.parts[part].count, check_block, &r, NULL), HOX_OK);
        cr_expect_eq(r.count, s.parts[part].count);
    }
    splits_deinit(&s);
}

Test(splits, normalise_bytes_by_refine_and_select) {
    check_normalisation(HOX_PIXEL_U8, 1.0 / 255);
}

Test(splits, normalise_floats_as_they_are) {
    check_normalisation(HOX_PIXEL_F32, 1);
}

static hox_status refuse_block(void *context, uint64_t first, uint64_t count, const float *images,
                               hox_error *error) {
    (void)context, (void)first, (void)count, (void)images;
    return hox_error_set(error, HOX_OUT_OF_DEVICE_MEMORY, "no room");
}

Test(splits, pass_on_what_the_consumer_says) {
    hox_dataset d = make_dataset(1, 0);
    const task_config task = make_task("a", NULL);
    splits s = cut(&d, &task, 1);
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(splits_read(&s, SPLIT_SELECT, 0, 1, refuse_block, NULL, &error),
                 HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_str_eq(error.message, "no room");
    splits_deinit(&s);
}
