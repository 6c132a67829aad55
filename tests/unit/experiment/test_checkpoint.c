// test_checkpoint.c - states to disk and back to the bit; damage of every kind is seen, said, and
// passed over.
#include "experiment/checkpoint.h"
#include "random.h"
#include "temp_folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <unistd.h>

enum { POPULATION = 5, GENERATIONS = 4 };

static temp_folder folder;
static evolution *evolved;
static genome *champion;
static char said[4096]; // warnings

// ---- a state that has everything ----

static evolution *create(void) {
    const mutation_config often = {.weights = 0.5,
                                   .weights_edge = 0.5,
                                   .weights_step = 0.1,
                                   .add_edge = 0.2,
                                   .add_node = 0.5,
                                   .resize_node = 0.2,
                                   .split_keeps_edge = 1,
                                   .tries = 20};
    const evolution_config config = {.population_size = POPULATION,
                                     .survival = 0.5,
                                     .crossover_rate = 0.5,
                                     .crossover_disabled = 0.75,
                                     .mutation = often,
                                     .species = {.threshold = 0.5,
                                                 .target_species = 3,
                                                 .threshold_factor = 1.15,
                                                 .threshold_least = 0.02,
                                                 .threshold_most = 5,
                                                 .stagnation = 15,
                                                 .protected_species = 2,
                                                 .champion_kept_from = 2},
                                     .distance = {.excess = 1, .disjoint = 1, .weights = 0.4}};
    const genome_config limits = {.output_size = {3, {3, 1, 1}},
                                  .allowed_channels = {1, {3}},
                                  .max_nodes = 16,
                                  .max_edges = 64};
    evolution *e;
    cr_assert_eq(evolution_create(&config, &limits, 7, (map_size){1, 4, 4}, &e, NULL), HOX_OK);
    return e;
}

// Fitness of the genome alone; some have none.
static void step(evolution *e) {
    const population *p;
    double fitness[POPULATION];
    cr_assert_eq(evolution_ask(e, &p, NULL), HOX_OK);
    for (size_t i = 0; i < p->count; i++) {
        test_random r = {p->items[i].genome->id};
        fitness[i] = random_below(&r, 7) ? random_below(&r, 1000) / 999.0 : NAN;
    }
    evolution_tell(e, fitness);
}

static run_state run_now(void) {
    return (run_state){
        .result = {.generation_count = evolution_generation(evolved) + 1,
                   .champion_id = champion->id,
                   .champion_generation = 1,
                   .champion_facts = {.struct_size = sizeof(hox_genome_facts),
                                      .node_count = 1,
                                      .edge_count = 2,
                                      .enabled_edge_count = 3,
                                      .executed_node_count = 4,
                                      .executed_edge_count = 5,
                                      .weight_count = 6,
                                      .flops_per_sample = UINT64_C(1) << 40},
                   .fitness = {[SPLIT_SELECT] = 0.1, [SPLIT_MONITOR] = 1.0 / 3},
                   .balanced_accuracy = {[SPLIT_SELECT] = NAN, [SPLIT_MONITOR] = 1e-310}},
        .champion = champion,
        .champion_monitor = 1.0 / 3,
        .evaluation_count = 77,
        .improved_generation = 2,
        .metrics_lines = 4,
        .genomes_lines = 20};
}

static void setup(void) {
    folder = temp_folder_make();
    evolved = create();
    for (int i = 0; i < GENERATIONS; i++)
        step(evolved);
    champion = genome_copy(evolution_champion(evolved)->genome, NULL);
}

static void teardown(void) {
    genome_destroy(champion);
    evolution_destroy(evolved);
    temp_folder_remove(&folder);
}

TestSuite(checkpoint, .init = setup, .fini = teardown);

static void save(void) {
    const run_state run = run_now();
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(checkpoint_save(folder.path, &run, evolution_state_of(evolved), &error), HOX_OK,
                 "%s", error.message);
}

static void keep_line(void *context, uint32_t level, const char *line) {
    (void)context;
    const size_t used = strlen(said);
    if (level == HOX_LOG_WARNING) snprintf(said + used, sizeof said - used, "%s\n", line);
}

static hox_status load(run_state *run, evolution_state *state, hox_error *error) {
    const log_sink log = {.level = HOX_LOG_DEBUG, .write = keep_line};
    said[0] = 0;
    return checkpoint_load(folder.path, 4, 20, &log, run, state, error);
}

// Nothing is valid, and the one file there is was skipped for this reason ("" = any).
static void check_skipped(const char *why, const char *what, size_t where) {
    run_state run;
    evolution_state state;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(load(&run, &state, &error), HOX_CORRUPT, "%s %zu", what, where);
    cr_expect(strstr(error.message, "none of the 1 checkpoints can be read"), "%s", error.message);
    cr_expect(strstr(said, "00000003.safetensors is skipped: "), "%s %zu: %s", what, where, said);
    cr_expect(strstr(said, why), "%s %zu: %s", what, where, said);
}

// The state as text with its weights behind it.
typedef struct printed {
    json_t *json;
    char *text;
    kernel_values values;
} printed;

static printed print(const run_state *run, const evolution_state *state) {
    printed p;
    p.json = checkpoint_state_print(run, state, &p.values, NULL);
    cr_assert_not_null(p.json);
    p.text = json_dumps(p.json, JSON_COMPACT);
    return p;
}

static void printed_deinit(printed *p) {
    json_decref(p->json);
    free(p->text);
    free(p->values.values);
}

static bool printed_equal(const printed *a, const printed *b) {
    return strcmp(a->text, b->text) == 0 && a->values.count == b->values.count &&
           memcmp(a->values.values, b->values.values, a->values.count * sizeof(float)) == 0;
}

static void file_path(uint32_t generation, char path[128]) {
    snprintf(path, 128, "%s/%08u.safetensors", folder.path, generation);
}

static char *read_file(uint32_t generation, size_t *size) {
    char path[128];
    file_path(generation, path);
    return temp_read(path, size);
}

static void write_file(uint32_t generation, const char *bytes, size_t size) {
    char path[128];
    file_path(generation, path);
    FILE *file = fopen(path, "w");
    cr_assert(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

// ---- there and back ----

Test(checkpoint, gives_back_every_bit) {
    const run_state run = run_now();
    printed before = print(&run, evolution_state_of(evolved));
    cr_expect(strstr(before.text, "null"), "somebody has no fitness");
    save();
    run_state loaded;
    evolution_state state;
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(load(&loaded, &state, &error), HOX_OK, "%s\n%s", error.message, said);
    cr_expect_str_empty(said);
    printed after = print(&loaded, &state);
    cr_expect(printed_equal(&before, &after), "%s\n%s", before.text, after.text);
    cr_expect(isnan(loaded.result.balanced_accuracy[SPLIT_SELECT]));
    cr_expect_eq(loaded.result.balanced_accuracy[SPLIT_MONITOR], 1e-310);
    printed_deinit(&before);
    printed_deinit(&after);
    genome_destroy(loaded.champion);
    evolution_state_deinit(&state);
    evolution_state_deinit(&state);
}

Test(checkpoint, goes_on_as_the_original_does) {
    save();
    run_state run;
    evolution_state state;
    cr_assert_eq(load(&run, &state, NULL), HOX_OK, "%s", said);
    evolution *resumed = create();
    evolution_restore(resumed, &state);
    for (int i = 0; i < 6; i++) {
        step(evolved);
        step(resumed);
        const run_state none = {.champion_monitor = -INFINITY}; // its champion shares kernels
        printed a = print(&none, evolution_state_of(evolved));
        printed b = print(&none, evolution_state_of(resumed));
        cr_expect(printed_equal(&a, &b), "%d more", i + 1);
        printed_deinit(&a);
        printed_deinit(&b);
    }
    evolution_destroy(resumed);
    genome_destroy(run.champion);
    evolution_state_deinit(&state);
}

// ---- sharing ----

static size_t list_kernels(const genome *g, const kernel **list, size_t count) {
    for (size_t i = 0; i < g->edge_count; i++)
        list[count++] = g->edges[i].kernel;
    return count;
}

// Kernels of all genomes, edge by edge.
static size_t list_all(const genome *best, const evolution_state *s, const kernel **list) {
    size_t count = list_kernels(best, list, 0);
    for (size_t i = 0; i < s->population.count; i++)
        count = list_kernels(s->population.items[i].genome, list, count);
    for (size_t i = 0; i < s->species.count; i++)
        count = list_kernels(s->species.items[i].representative, list, count);
    return count;
}

Test(checkpoint, keeps_shared_kernels_shared) {
    static const kernel *before[4096], *after[4096];
    save();
    run_state run;
    evolution_state state;
    cr_assert_eq(load(&run, &state, NULL), HOX_OK, "%s", said);
    const size_t count = list_all(champion, evolution_state_of(evolved), before);
    cr_assert_eq(list_all(run.champion, &state, after), count);
    size_t shared = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t users = 0;
        for (size_t k = 0; k < count; k++) {
            cr_expect_eq(before[i] == before[k], after[i] == after[k], "edges %zu and %zu", i, k);
            users += after[i] == after[k];
        }
        cr_expect_eq(atomic_load(&after[i]->reference_count), users, "nobody else holds edge %zu",
                     i);
        shared += users > 1;
    }
    cr_expect_gt(shared, 10, "the test needs kernels that are shared");
    genome_destroy(run.champion);
    evolution_state_deinit(&state);
}

// ---- saving ----

Test(checkpoint, is_a_pure_read) {
    const run_state run = run_now();
    static const kernel *kernels[4096];
    static uint_fast32_t references[4096];
    printed before = print(&run, evolution_state_of(evolved));
    const size_t count = list_all(champion, evolution_state_of(evolved), kernels);
    for (size_t i = 0; i < count; i++)
        references[i] = atomic_load(&kernels[i]->reference_count);
    save();
    size_t first_size, second_size;
    char *first = read_file(GENERATIONS - 1, &first_size);
    save();
    char *second = read_file(GENERATIONS - 1, &second_size);
    cr_expect_eq(first_size, second_size);
    cr_expect_arr_eq(first, second, first_size);
    printed after = print(&run, evolution_state_of(evolved));
    cr_expect(printed_equal(&before, &after));
    for (size_t i = 0; i < count; i++)
        cr_expect_eq(references[i], atomic_load(&kernels[i]->reference_count));
    free(first);
    free(second);
    printed_deinit(&before);
    printed_deinit(&after);
}

static bool is_there(const char *name) {
    char *path = temp_path(&folder, name);
    const bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

Test(checkpoint, keeps_the_newest_two_and_what_is_not_its_own) {
    static const char *const others[] = {"volatile.json", "0000000.safetensors",
                                         "00000000.safetensors.tmp", "000000000.safetensors",
                                         "0000000a.safetensors"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char *path = temp_path(&folder, others[i]);
        temp_write(path, "mine");
        free(path);
    }
    save();
    for (int i = 0; i < 3; i++) {
        step(evolved);
        save();
    }
    cr_expect_not(is_there("00000003.safetensors"));
    cr_expect_not(is_there("00000004.safetensors"));
    cr_expect(is_there("00000005.safetensors"));
    cr_expect(is_there("00000006.safetensors"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect(is_there(others[i]), "%s", others[i]);
}

// Damaged ones of a run that had come further must not push out what is new.
Test(checkpoint, gives_way_to_an_earlier_one_that_is_saved_later) {
    static const char *const later[] = {"00000008.safetensors", "00000009.safetensors"};
    for (size_t i = 0; i < 2; i++) {
        char *path = temp_path(&folder, later[i]);
        temp_write(path, "damaged");
        free(path);
    }
    save();
    cr_expect(is_there("00000003.safetensors"));
    cr_expect_not(is_there(later[0]));
    cr_expect_not(is_there(later[1]));
}

// A save that was killed may have left one too many.
Test(checkpoint, drops_what_a_save_left_when_it_is_loaded) {
    run_state run;
    evolution_state state;
    for (int i = 0; i < 3; i++) {
        save();
        step(evolved);
    }
    size_t size;
    char *bytes = read_file(4, &size);
    write_file(3, bytes, size); // the third
    cr_assert_eq(load(&run, &state, NULL), HOX_OK);
    cr_expect_not(is_there("00000003.safetensors"));
    cr_expect(is_there("00000004.safetensors"));
    cr_expect(is_there("00000005.safetensors"));
    genome_destroy(run.champion);
    evolution_state_deinit(&state);

    // not where it may be needed
    write_file(3, bytes, size);
    write_file(5, "", 0);
    cr_assert_eq(load(&run, &state, NULL), HOX_OK);
    cr_expect(is_there("00000003.safetensors"));
    genome_destroy(run.champion);
    evolution_state_deinit(&state);
    free(bytes);
}

Test(checkpoint, says_where_it_cannot_be_saved) {
    const run_state run = run_now();
    hox_error error = HOX_ERROR_INIT;
    char *nowhere = temp_path(&folder, "nowhere");
    cr_expect_eq(checkpoint_save(nowhere, &run, evolution_state_of(evolved), &error), HOX_IO);
    cr_expect(strstr(error.message, nowhere), "%s", error.message);
    free(nowhere);
}

// ---- damage ----

Test(checkpoint, sees_where_it_was_cut_off) {
    size_t size;
    save();
    char *bytes = read_file(3, &size);
    for (size_t cut = 0; cut < size; cut += cut < 64 || cut + 16 >= size ? 1 : 83) {
        write_file(3, bytes, cut);
        check_skipped("", "cut at", cut);
    }
    write_file(3, "", 0);
    check_skipped("it is cut off", "empty", 0);
    free(bytes);
}

Test(checkpoint, sees_bytes_behind_its_end) {
    size_t size;
    save();
    char *bytes = read_file(3, &size), *longer = calloc(1, size + 8);
    memcpy(longer, bytes, size);
    for (size_t more = 1; more <= 8; more++) {
        write_file(3, longer, size + more);
        check_skipped("", "more bytes", more);
    }
    free(bytes);
    free(longer);
}

// Every byte of the parts that are small, each with another bit; the rest in steps.
Test(checkpoint, sees_a_changed_byte_wherever_it_is) {
    size_t size;
    save();
    char *bytes = read_file(3, &size);
    const char *state = strstr(bytes + 8, "\"state\"");
    cr_assert_not_null(state);
    const size_t header_size = (unsigned char)bytes[0] | (size_t)(unsigned char)bytes[1] << 8;
    for (size_t i = 0; i < size;) {
        const char was = bytes[i];
        for (int bit = 0; bit < (i < 8 ? 8 : 1); bit++) {
            bytes[i] = (char)(was ^ 1 << (i + (size_t)bit) % 8);
            write_file(3, bytes, size);
            check_skipped("", "changed byte", i);
        }
        bytes[i] = was;
        const bool is_small =
            i < (size_t)(state - bytes) || (i + 256 > 8 + header_size && i < 8 + header_size + 16);
        i += is_small ? 1 : 29;
    }
    write_file(3, bytes, size);
    run_state run;
    evolution_state loaded;
    cr_expect_eq(load(&run, &loaded, NULL), HOX_OK, "as it was");
    genome_destroy(run.champion);
    evolution_state_deinit(&loaded);
    free(bytes);
}

static void replace(char *bytes, size_t size, const char *old, const char *new) {
    char *at = memmem(bytes, size, old, strlen(old));
    cr_assert_not_null(at, "no %s", old);
    memcpy(at, new, strlen(new));
}

Test(checkpoint, says_why_it_skips) {
    static const struct {
        const char *old, *new, *why;
    } rows[] = {
        {"hox-checkpoint/1", "hox-checkpoint/2", "\"hox-checkpoint/2\" where \"hox-checkpoint/1\""},
        {"\"format\"", "\"formal\"", "its format is \"\""},
        {"\"xxh128\"", "\"xxh129\"", "its checksum is wrong"},
        {"\"dtype\":\"F32\"", "\"dtype\":\"F16\"", "its checksum is wrong"},
        {"\"state\"", "\"stale\"", "its state is missing"},
        {"\"next_id", "\"next_ix", "its checksum is wrong"},
        {"{\"__metadata__", "[\"__metadata__", "its header is no JSON"},
    };
    size_t size;
    save();
    char *bytes = read_file(3, &size), *copy = malloc(size);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(copy, bytes, size);
        if (strstr(rows[i].old, "next_id")) // quoted inside the state
            replace(copy, size, "next_id", "next_ix");
        else
            replace(copy, size, rows[i].old, rows[i].new);
        write_file(3, copy, size);
        check_skipped(rows[i].why, rows[i].new, i);
    }
    free(copy);
    free(bytes);
}

Test(checkpoint, skips_what_is_no_file) {
    char path[128];
    file_path(3, path);
    mkdir(path, 0777);
    check_skipped("not a regular file", "folder", 0);
    rmdir(path);
    mkfifo(path, 0666);
    check_skipped("not a regular file", "fifo", 0);
    unlink(path);
    cr_assert_eq(symlink("nowhere", path), 0);
    check_skipped("cannot open", "dangling link", 0);
}

Test(checkpoint, needs_the_lines_it_counts_on) {
    static const uint64_t lines[][2] = {{3, 20}, {4, 19}, {0, 0}};
    const log_sink log = {.level = HOX_LOG_DEBUG, .write = keep_line};
    run_state run;
    evolution_state state;
    save();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        said[0] = 0;
        cr_expect_eq(
            checkpoint_load(folder.path, lines[i][0], lines[i][1], &log, &run, &state, NULL),
            HOX_CORRUPT);
        cr_expect(strstr(said, "metrics.jsonl or genomes.jsonl is shorter"), "%s", said);
    }
    cr_expect_eq(checkpoint_load(folder.path, 5, 100, &log, &run, &state, NULL), HOX_OK);
    genome_destroy(run.champion);
    evolution_state_deinit(&state);
}

Test(checkpoint, takes_the_one_before_where_the_newest_is_damaged) {
    size_t size;
    save();
    step(evolved);
    save();
    char *bytes = read_file(4, &size);
    bytes[size - 1] ^= 1;
    write_file(4, bytes, size);
    run_state run;
    evolution_state state;
    cr_assert_eq(load(&run, &state, NULL), HOX_OK);
    cr_expect_eq(state.generation, 3);
    cr_expect(strstr(said, "00000004.safetensors is skipped: its checksum is wrong"), "%s", said);
    genome_destroy(run.champion);
    evolution_state_deinit(&state);
    free(bytes);
}

Test(checkpoint, says_that_there_is_none) {
    run_state run;
    evolution_state state;
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(load(&run, &state, &error), HOX_NOT_FOUND);
    cr_expect(strstr(error.message, folder.path), "%s", error.message);
    cr_expect_str_empty(said);
    rmdir(folder.path);
    error = (hox_error)HOX_ERROR_INIT;
    cr_expect_eq(load(&run, &state, &error), HOX_NOT_FOUND, "no folder");
}

// ---- forgery: a right checksum over a wrong state must not do harm ----

static size_t forgery_count;

static void read_forgery(const json_t *root, const kernel_values *values) {
    run_state run;
    evolution_state state;
    hox_error error = HOX_ERROR_INIT;
    const hox_status status =
        checkpoint_state_read(root, values->values, values->count, &run, &state, &error);
    cr_expect(status == HOX_OK || status == HOX_CORRUPT || status == HOX_INVALID_ARGUMENT, "%d: %s",
              status, error.message);
    forgery_count++;
    if (status != HOX_OK) return;
    genome_destroy(run.champion);
    evolution_state_deinit(&state);
}

// Puts what does not belong there in the place of one value after the other.
static void forge(const json_t *root, json_t *place, const kernel_values *values) {
    json_t *const wrongs[] = {json_null(),     json_integer(-1), json_integer(4294967297),
                              json_integer(3), json_string("x"), json_array()};
    const size_t count = json_is_object(place) ? json_object_size(place) : json_array_size(place);
    void *at = json_is_object(place) ? json_object_iter(place) : NULL;
    for (size_t i = 0; i < count; i++) {
        const char *key = at ? json_object_iter_key(at) : NULL;
        json_t *old = json_incref(key ? json_object_get(place, key) : json_array_get(place, i));
        for (size_t w = 0; w < sizeof wrongs / sizeof *wrongs; w++) {
            if (i > 2 && !key && w != i % 6) continue; // lists are long
            if (key)
                json_object_set(place, key, wrongs[w]);
            else
                json_array_set(place, i, wrongs[w]);
            read_forgery(root, values);
        }
        if (key)
            json_object_set(place, key, old);
        else
            json_array_set(place, i, old);
        if (i < 3 || key) forge(root, old, values);
        json_decref(old);
        at = at ? json_object_iter_next(place, at) : NULL;
    }
    for (size_t w = 0; w < sizeof wrongs / sizeof *wrongs; w++)
        json_decref(wrongs[w]);
}

Test(checkpoint, takes_no_harm_from_a_forged_state) {
    const run_state run = run_now();
    printed p = print(&run, evolution_state_of(evolved));
    read_forgery(p.json, &p.values);
    forge(p.json, p.json, &p.values);
    char *text = json_dumps(p.json, JSON_COMPACT);
    cr_expect_str_eq(text, p.text, "it is itself again");
    cr_expect_gt(forgery_count, 500);
    free(text);
    printed_deinit(&p);
}
