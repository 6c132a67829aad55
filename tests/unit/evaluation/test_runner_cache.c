// test_runner_cache.c - what is prepared, what is found again and what goes first, with a runtime
// that keeps accounts of its own.
#include "evaluation/runner_cache.h"
#include "random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- a runtime that counts ----

enum { MOST_RELEASED = 4096, LANE = 7 };

struct hox_runtime {
    uint32_t prepares; // that went well
    uint32_t alive;    // runners now
    uint32_t calls;    // of prepare
    hox_status failure;
    uint64_t released[MOST_RELEASED]; // names of structures, in order
    size_t released_count;
    hox_prepare_options options; // of the last call
    const hox_plan *plan;        // likewise
};

struct hox_runner {
    hox_runtime *runtime;
    uint64_t name;
    uint32_t capacity;
};

static hox_status prepare(hox_runtime *runtime, uint32_t lane, const hox_plan *plan,
                          const hox_prepare_options *options, hox_runner **runner,
                          hox_error *error) {
    static hox_runner nobody;
    cr_expect_eq(lane, LANE);
    runtime->calls++;
    runtime->options = *options;
    runtime->plan = plan;
    *runner = &nobody; // a runtime may leave anything there when it fails
    if (runtime->failure != HOX_OK)
        return hox_error_set(error, runtime->failure, "no room for %u", options->capacity);
    *runner = malloc(sizeof **runner);
    cr_assert_not_null(*runner);
    **runner = (hox_runner){runtime, plan->structure_hash[0], options->capacity};
    runtime->prepares++;
    runtime->alive++;
    return HOX_OK;
}

static void release(hox_runner *runner) {
    hox_runtime *runtime = runner->runtime;
    cr_assert_lt(runtime->released_count, MOST_RELEASED);
    runtime->released[runtime->released_count++] = runner->name;
    runtime->alive--;
    free(runner);
}

static const hox_runtime_api api = {
    .struct_size = sizeof api, .prepare = prepare, .release = release};

// ---- an allocator that can fail ----

void *__real_reallocarray(void *items, size_t count, size_t size);
void *__wrap_reallocarray(void *items, size_t count, size_t size);

static bool is_memory_out;

void *__wrap_reallocarray(void *items, size_t count, size_t size) {
    return is_memory_out ? NULL : __real_reallocarray(items, count, size);
}

// ---- a cache of it ----

static hox_runtime runtime;
static runner_cache cache;

static void set_up(void) {
    runtime = (hox_runtime){0};
    is_memory_out = false;
    runner_cache_init(&cache, &api, &runtime, LANE, HOX_PRECISION_FP32);
}

static void tear_down(void) {
    runner_cache_deinit(&cache);
    cr_expect_eq(runtime.alive, 0, "%u runners have no end", runtime.alive);
}

TestSuite(runner_cache, .init = set_up, .fini = tear_down);

static hox_plan plan_named(uint64_t name) {
    return (hox_plan){.struct_size = sizeof(hox_plan), .structure_hash = {name, 1}};
}

static hox_status acquire(const hox_plan *plan, uint32_t capacity, uint64_t most_capacity,
                          uint64_t bytes, hox_runner **runner, hox_error *error) {
    const runner_demand demand = {
        .plan = plan, .capacity = capacity, .most_capacity = most_capacity, .bytes = bytes};
    return runner_cache_acquire(&cache, &demand, runner, error);
}

// Pinned. It must go well and do what was asked for.
static hox_runner *get(uint64_t name, uint32_t capacity, uint64_t most_capacity, uint64_t bytes) {
    const hox_plan plan = plan_named(name);
    hox_error error = HOX_ERROR_INIT;
    hox_runner *runner = NULL;
    cr_assert_eq(acquire(&plan, capacity, most_capacity, bytes, &runner, &error), HOX_OK, "%s",
                 error.message);
    cr_assert_not_null(runner);
    cr_expect_eq(runner->name, name);
    cr_expect(runner->capacity >= capacity && runner->capacity <= most_capacity);
    return runner;
}

// Ten images in ten bytes, idle afterwards.
static hox_runner *use(uint64_t name) {
    hox_runner *runner = get(name, 10, 10, 10);
    runner_cache_unpin(&cache);
    return runner;
}

static void expect_statistics(uint64_t hits, uint64_t prepares, uint64_t evictions,
                              uint64_t bytes) {
    const runner_statistics *s = &cache.statistics;
    cr_expect_eq(s->hits, hits, "%" PRIu64 " hits", s->hits);
    cr_expect_eq(s->prepares, prepares, "%" PRIu64 " prepares", s->prepares);
    cr_expect_eq(s->evictions, evictions, "%" PRIu64 " evictions", s->evictions);
    cr_expect_eq(s->bytes, bytes, "%" PRIu64 " bytes", s->bytes);
    cr_expect_eq(cache.count, prepares - evictions);
    cr_expect_eq(runtime.alive, prepares - evictions);
    cr_expect_eq(runtime.prepares, prepares);
}

// All that was released so far, one letter each, in order.
static void expect_released(const char *names) {
    char text[MOST_RELEASED + 1] = "";
    for (size_t i = 0; i < runtime.released_count; i++)
        text[i] = (char)runtime.released[i];
    cr_expect_str_eq(text, names);
}

static void mark_living(const char *names) {
    uint64_t hashes[32][2];
    const size_t count = strlen(names);
    cr_assert_leq(count, 32);
    for (size_t i = 0; i < count; i++)
        memcpy(hashes[i], plan_named((uint64_t)names[i]).structure_hash, sizeof hashes[i]);
    qsort(hashes, count, sizeof *hashes, structure_hash_compare);
    runner_cache_mark_living(&cache, (const uint64_t(*)[2])hashes, count);
}

// ---- found again ----

Test(runner_cache, is_empty_at_first) {
    expect_statistics(0, 0, 0, 0);
    runner_cache_unpin(&cache);
    runner_cache_release_idle(&cache);
    runner_cache_release_dead(&cache);
    runner_cache_release(&cache, NULL);
    runner_cache_set_bound(&cache, 0);
    mark_living("ab");
    expect_statistics(0, 0, 0, 0);
}

// SPEC 4: one lane, one job at a time, constant B.
Test(runner_cache, prepares_each_structure_once) {
    hox_runner *first[4] = {0};
    for (uint64_t generation = 0; generation < 5; generation++)
        for (uint64_t i = 0; i < 4; i++) {
            hox_runner *runner = use('a' + i);
            if (generation == 0) first[i] = runner;
            cr_expect_eq(runner, first[i]);
        }
    expect_statistics(16, 4, 0, 40);
    expect_released("");
}

Test(runner_cache, asks_for_a_runner_that_infers_in_fp32) {
    const hox_plan plan = plan_named('a');
    hox_runner *runner;
    cr_assert_eq(acquire(&plan, 33, 64, 5, &runner, NULL), HOX_OK);
    cr_expect_eq(runtime.plan, &plan);
    cr_expect_eq(runtime.options.struct_size, sizeof(hox_prepare_options));
    cr_expect_eq(runtime.options.capacity, 33);
    cr_expect_eq(runtime.options.precision, HOX_PRECISION_FP32);
    cr_expect_eq(runtime.options.purpose, HOX_PURPOSE_INFER);
}

Test(runner_cache, child_that_differs_in_weights_alone_prepares_nothing) {
    const hox_plan parent = plan_named('a');
    const uint64_t offsets[1] = {0};
    hox_plan child = plan_named('a');
    child.edge_weight_offset = offsets;
    hox_runner *of_parent, *of_child;
    cr_assert_eq(acquire(&parent, 10, 10, 10, &of_parent, NULL), HOX_OK);
    cr_assert_eq(acquire(&child, 10, 10, 10, &of_child, NULL), HOX_OK);
    cr_expect_eq(of_parent, of_child);
    expect_statistics(1, 1, 0, 10);
}

Test(runner_cache, structures_differ_in_either_word) {
    static const uint64_t hashes[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, UINT64_C(1) << 63}};
    enum { COUNT = sizeof hashes / sizeof *hashes };
    hox_runner *runners[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        hox_plan plan = {.struct_size = sizeof plan};
        memcpy(plan.structure_hash, hashes[i], sizeof hashes[i]);
        cr_assert_eq(acquire(&plan, 10, 10, 10, &runners[i], NULL), HOX_OK);
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(runners[i], runners[k]);
    }
    expect_statistics(0, COUNT, 0, 10 * COUNT);
}

Test(runner_cache, capacity_serves_down_to_less_and_up_to_the_most) {
    static const struct {
        uint32_t prepared, wanted;
        uint64_t most;
        bool serves;
    } rows[] = {
        {10, 10, 10, true},
        {10, 1, 10, true},
        {10, 9, 1000, true},
        {10, 10, UINT64_MAX, true},
        {10, 11, 11, false},
        {10, 11, 1000, false},
        {10, 5, 9, false},
        {10, 9, 9, false},
        {UINT32_MAX, 1, UINT32_MAX, true},
        {1, UINT32_MAX, UINT64_MAX, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tear_down();
        set_up();
        const hox_runner *old = get('a', rows[i].prepared, UINT64_MAX, 10);
        runner_cache_unpin(&cache);
        const hox_runner *runner = get('a', rows[i].wanted, rows[i].most, 10);
        cr_expect_eq(runner == old, rows[i].serves, "row %zu", i);
        if (rows[i].serves)
            expect_statistics(1, 1, 0, 10);
        else
            expect_statistics(0, 2, 0, 20);
        if (!rows[i].serves) cr_expect_eq(runner->capacity, rows[i].wanted, "row %zu", i);
    }
}

Test(runner_cache, finds_the_one_that_fits_among_capacities) {
    const hox_runner *large = get('a', 100, 100, 10);
    const hox_runner *small = get('a', 10, 50, 10);
    cr_expect_neq(large, small);
    cr_expect_eq(get('a', 60, 100, 10), large);
    cr_expect_eq(get('a', 5, 50, 10), small);
    expect_statistics(2, 2, 0, 20);
}

Test(runner_cache, holds_many) {
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 1000; i++)
            use(1000 + i);
    expect_statistics(1000, 1000, 0, 10000);
}

// ---- what goes first ----

Test(runner_cache, out_of_date_goes_first_then_dead_then_least_recently_used) {
    get('a', 10, 20, 10);
    get('b', 10, 20, 10);
    get('c', 20, 20, 10);
    get('d', 10, 20, 10);
    get('e', 20, 20, 10);
    get('f', 10, 20, 10);
    get('a', 10, 20, 10); // used again
    runner_cache_unpin(&cache);
    mark_living("abce"); // d and f are dead, c and e are too large now
    static const char *const released[] = {"c", "ce", "ced", "cedf", "cedfb", "cedfba"};
    runner_cache_set_bound(&cache, 60);
    for (uint64_t i = 0; i < 6; i++) {
        get('A' + i, 10, 10, 10);
        expect_released(released[i]);
    }
    expect_statistics(1, 12, 6, 60);
}

Test(runner_cache, out_of_date_and_dead_is_as_good_as_out_of_date) {
    get('a', 20, 20, 10); // dead, too large
    get('b', 20, 20, 10); // living, too large
    get('c', 10, 20, 10); // dead
    runner_cache_unpin(&cache);
    get('a', 20, 20, 10); // after b
    runner_cache_unpin(&cache);
    mark_living("b");
    cache.bound = 30;
    get('A', 10, 10, 10);
    expect_released("b");
    get('B', 10, 10, 10);
    expect_released("ba");
    get('C', 10, 10, 10);
    expect_released("bac");
}

Test(runner_cache, one_at_the_most_capacity_is_not_out_of_date) {
    get('a', 10, 20, 10);
    get('b', 20, 20, 10);
    runner_cache_unpin(&cache);
    runner_cache_set_bound(&cache, 20);
    get('c', 10, 20, 10);
    expect_released("a");
}

Test(runner_cache, makes_no_more_room_than_is_needed) {
    static const struct {
        uint64_t bound, bytes;
        const char *released;
    } rows[] = {
        {50, 20, ""},
        {49, 20, "a"},
        {40, 20, "a"},
        {39, 20, "ab"},
        {30, 20, "ab"},
        {29, 20, "abc"},
        {20, 20, "abc"},
        {19, 20, "abc"},
        {0, 20, "abc"},
        {0, 0, "abc"},
        {30, 0, ""},
        {29, 0, "a"},
        {UINT64_MAX, UINT32_MAX, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tear_down();
        set_up();
        use('a');
        use('b');
        use('c');
        cache.bound = rows[i].bound;
        get('d', 10, 10, rows[i].bytes); // above the bound, too: the genome must run
        expect_released(rows[i].released);
        const uint64_t gone = strlen(rows[i].released);
        expect_statistics(0, 4, gone, 30 - 10 * gone + rows[i].bytes);
    }
}

Test(runner_cache, hit_makes_no_room) {
    use('a');
    use('b');
    cache.bound = 5;
    use('a');
    expect_released("");
    expect_statistics(1, 2, 0, 20);
}

Test(runner_cache, hit_keeps_a_runner_longer) {
    use('a');
    use('b');
    use('c');
    use('a');
    use('b');
    runner_cache_set_bound(&cache, 20);
    expect_released("c");
    runner_cache_set_bound(&cache, 10);
    expect_released("ca");
}

Test(runner_cache, pinned_ones_never_go_and_the_bound_gives_way) {
    runner_cache_set_bound(&cache, 15);
    const hox_runner *a = get('a', 20, 20, 10);
    get('b', 10, 10, 10);
    get('c', 10, 10, 10);
    mark_living(""); // dead, and the first is out of date; it is in use all the same
    runner_cache_set_bound(&cache, 0);
    runner_cache_release_idle(&cache);
    runner_cache_release_dead(&cache);
    get('d', 10, 10, 10);
    expect_released("");
    expect_statistics(0, 4, 0, 40);
    cr_expect_eq(get('a', 20, 20, 10), a);
    runner_cache_unpin(&cache);
    expect_released("");
    runner_cache_set_bound(&cache, 0);
    expect_statistics(1, 4, 4, 0);
}

Test(runner_cache, goes_on_beside_pinned_ones) {
    use('a');
    get('b', 10, 10, 10);
    runner_cache_set_bound(&cache, 20);
    use('c'); // unpins b as well
    expect_released("a");
    get('b', 10, 10, 10);
    get('d', 10, 10, 10); // c is the only one that nobody uses
    expect_released("ac");
    get('e', 10, 10, 10);
    expect_released("ac");
    expect_statistics(1, 5, 2, 30);
}

// ---- the bound ----

Test(runner_cache, lower_bound_releases_what_is_above_it) {
    static const struct {
        uint64_t bound;
        const char *released;
    } rows[] = {
        {UINT64_MAX, ""}, {50, ""},    {49, "d"},    {40, "d"},    {39, "db"},
        {30, "db"},       {20, "dba"}, {10, "dbac"}, {1, "dbace"}, {0, "dbace"},
    };
    uint32_t capacity = 10; // no demand, so none is too large
    for (const char *name = "dabce"; *name; name++, capacity += 10)
        get((uint64_t)*name, capacity, capacity, 10);
    runner_cache_unpin(&cache);
    mark_living("ace"); // b and d are dead
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        runner_cache_set_bound(&cache, rows[i].bound);
        expect_released(rows[i].released);
        const uint64_t gone = strlen(rows[i].released);
        expect_statistics(0, 5, gone, 50 - 10 * gone);
    }
}

Test(runner_cache, bound_that_rises_keeps_more) {
    runner_cache_set_bound(&cache, 10);
    use('a');
    use('b');
    runner_cache_set_bound(&cache, 30);
    use('c');
    use('d');
    expect_released("a");
    expect_statistics(0, 4, 1, 30);
}

// ---- released by name ----

Test(runner_cache, one_is_released_whether_pinned_or_not) {
    hox_runner *a = use('a');
    hox_runner *b = use('b');
    hox_runner *c = get('c', 10, 10, 10);
    hox_runner stranger = {.runtime = &runtime};
    runner_cache_release(&cache, &stranger);
    expect_released("");
    runner_cache_release(&cache, c);
    expect_released("c");
    runner_cache_release(&cache, a);
    expect_released("ca");
    cr_expect_eq(use('b'), b);
    expect_statistics(1, 3, 2, 10);
    use('a');
    expect_statistics(1, 4, 2, 20);
    runner_cache_release(&cache, b);
    expect_released("cab");
}

Test(runner_cache, idle_ones_are_released) {
    use('a');
    use('b');
    use('c');
    get('b', 10, 10, 10);
    runner_cache_release_idle(&cache);
    cr_expect_eq(cache.count, 1);
    expect_statistics(1, 3, 2, 10);
    get('b', 10, 10, 10);
    expect_statistics(2, 3, 2, 10);
    runner_cache_unpin(&cache);
    runner_cache_release_idle(&cache);
    expect_statistics(2, 3, 3, 0);
}

Test(runner_cache, dead_ones_are_released) {
    static const struct {
        const char *living, *stay;
    } rows[] = {{"", ""},           {"a", "a"},         {"c", "c"},
                {"e", "e"},         {"x", ""},          {"ace", "ace"},
                {"edcba", "abcde"}, {"zyxdwvub", "bd"}, {"aabbccaa", "abc"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tear_down();
        set_up();
        for (const char *name = "abcde"; *name; name++)
            use((uint64_t)*name);
        mark_living(rows[i].living);
        expect_released("");
        runner_cache_release_dead(&cache);
        const uint64_t stay = strlen(rows[i].stay);
        expect_statistics(0, 5, 5 - stay, 10 * stay);
        for (const char *name = rows[i].stay; *name; name++)
            use((uint64_t)*name);
        expect_statistics(stay, 5, 5 - stay, 10 * stay);
    }
}

Test(runner_cache, dead_one_in_use_stays) {
    use('a');
    get('b', 10, 10, 10);
    mark_living("");
    runner_cache_release_dead(&cache);
    expect_released("a");
    runner_cache_unpin(&cache);
    runner_cache_release_dead(&cache);
    expect_released("ab");
}

Test(runner_cache, structure_lives_again_when_it_is_marked_again) {
    use('a');
    use('b');
    mark_living("b");
    mark_living("ab");
    runner_cache_release_dead(&cache);
    expect_released("");
}

Test(runner_cache, new_ones_are_living) {
    mark_living("");
    use('a');
    runner_cache_release_dead(&cache);
    expect_released("");
}

Test(runner_cache, living_are_told_by_both_words) {
    enum { COUNT = 400 };
    static uint64_t hashes[COUNT][2], living[COUNT][2];
    test_random random = {5};
    size_t living_count = 0;
    for (size_t i = 0; i < COUNT; i++) {
        hox_plan plan = {.struct_size = sizeof plan,
                         .structure_hash = {random_below(&random, 20), i}};
        if (random_below(&random, 2)) plan.structure_hash[0] <<= 56;
        memcpy(hashes[i], plan.structure_hash, sizeof hashes[i]);
        hox_runner *runner;
        cr_assert_eq(acquire(&plan, 10, 10, 10, &runner, NULL), HOX_OK);
        if (random_below(&random, 2)) memcpy(living[living_count++], hashes[i], sizeof hashes[i]);
    }
    runner_cache_unpin(&cache);
    qsort(living, living_count, sizeof *living, structure_hash_compare);
    runner_cache_mark_living(&cache, (const uint64_t(*)[2])living, living_count);
    runner_cache_release_dead(&cache);
    expect_statistics(0, COUNT, COUNT - living_count, 10 * living_count);
    for (size_t i = 0; i < living_count; i++) {
        hox_plan plan = {.struct_size = sizeof plan};
        memcpy(plan.structure_hash, living[i], sizeof living[i]);
        hox_runner *runner;
        cr_assert_eq(acquire(&plan, 10, 10, 10, &runner, NULL), HOX_OK);
    }
    expect_statistics(living_count, COUNT, COUNT - living_count, 10 * living_count);
}

Test(runner_cache, order_of_hashes_is_an_order) {
    static const uint64_t hashes[][2] = {{0, 0},   {0, 1},   {1, 0},          {1, 1},
                                         {256, 0}, {0, 256}, {UINT64_MAX, 0}, {0, UINT64_MAX}};
    enum { COUNT = sizeof hashes / sizeof *hashes };
    for (size_t a = 0; a < COUNT; a++)
        for (size_t b = 0; b < COUNT; b++) {
            const int ab = structure_hash_compare(hashes[a], hashes[b]);
            const int ba = structure_hash_compare(hashes[b], hashes[a]);
            cr_expect_eq(ab == 0, a == b);
            cr_expect_eq(ab<0, ba> 0);
            for (size_t c = 0; c < COUNT; c++)
                if (ab < 0 && structure_hash_compare(hashes[b], hashes[c]) < 0)
                    cr_expect_lt(structure_hash_compare(hashes[a], hashes[c]), 0);
        }
}

// ---- failures ----

static void expect_no_runner(uint64_t name, hox_status expected, const char *message) {
    static hox_runner nobody;
    const hox_plan plan = plan_named(name);
    hox_error error = HOX_ERROR_INIT;
    hox_runner *runner = &nobody;
    cr_expect_eq(acquire(&plan, 10, 10, 10, &runner, &error), expected);
    cr_expect_null(runner);
    cr_expect_eq(error.status, expected);
    cr_expect(strstr(error.message, message), "%s", error.message);
    runner = &nobody;
    cr_expect_eq(acquire(&plan, 10, 10, 10, &runner, NULL), expected, "without an error, too");
    cr_expect_null(runner);
}

Test(runner_cache, failing_prepare_leaves_nothing) {
    static const hox_status failures[] = {HOX_OUT_OF_DEVICE_MEMORY, HOX_UNSUPPORTED,
                                          HOX_DEVICE_LOST, 12345};
    hox_runner *a = use('a');
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        runtime.failure = failures[i];
        expect_no_runner('b', failures[i], "no room for 10");
        expect_statistics(i, 1, 0, 10);
        cr_expect_eq(use('a'), a, "what there is goes on");
    }
    runtime.failure = HOX_OK;
    use('b');
    expect_statistics(4, 2, 0, 20);
}

Test(runner_cache, failing_prepare_has_made_room_all_the_same) {
    use('a');
    runner_cache_set_bound(&cache, 10);
    runtime.failure = HOX_OUT_OF_DEVICE_MEMORY;
    expect_no_runner('b', HOX_OUT_OF_DEVICE_MEMORY, "no room");
    expect_released("a");
    expect_statistics(0, 1, 1, 0);
}

Test(runner_cache, memory_that_is_out_at_first_leaves_nothing) {
    is_memory_out = true;
    expect_no_runner('a', HOX_OUT_OF_HOST_MEMORY, "out of memory");
    cr_expect_eq(runtime.calls, 0, "nothing was prepared that has no place");
    expect_statistics(0, 0, 0, 0);
    is_memory_out = false;
    use('a');
    expect_statistics(0, 1, 0, 10);
}

Test(runner_cache, memory_that_is_out_later_leaves_what_there_is) {
    hox_runner *first = use('a');
    is_memory_out = true;
    uint64_t count = 1;
    while (count < 1000) { // the places that are left
        const hox_plan plan = plan_named('a' + count);
        hox_runner *runner;
        if (acquire(&plan, 10, 10, 10, &runner, NULL) != HOX_OK) break;
        count++;
    }
    cr_assert_lt(count, 1000);
    expect_no_runner('a' + count, HOX_OUT_OF_HOST_MEMORY, "out of memory");
    expect_statistics(0, count, 0, 10 * count);
    cr_expect_eq(runtime.calls, count);
    cr_expect_eq(use('a'), first);
    is_memory_out = false;
    use('a' + count);
    expect_statistics(1, count + 1, 0, 10 * (count + 1));
}

// ---- the end ----

Test(runner_cache, end_releases_all_pinned_ones_too) {
    use('a');
    get('b', 10, 10, 10);
    get('c', 10, 10, 10);
    runner_cache_deinit(&cache);
    cr_expect_eq(runtime.alive, 0);
    cr_expect_eq(runtime.released_count, 3);
    cr_expect_eq(cache.count, 0);
    cr_expect_null(cache.items);
    runner_cache_deinit(&cache); // {0} too
    cr_expect_eq(runtime.released_count, 3);
}

// ---- all together ----

static uint64_t bytes_of_items(void) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < cache.count; i++)
        bytes += cache.items[i].bytes;
    return bytes;
}

static bool is_any_idle(void) {
    for (size_t i = 0; i < cache.count; i++)
        if (!cache.items[i].is_pinned) return true;
    return false;
}

// Fails now and then.
static bool acquire_at_random(test_random *random) {
    const hox_plan plan = plan_named('a' + random_below(random, 12));
    const uint32_t capacity = 1 + random_below(random, 8);
    const uint64_t most_capacity = capacity + random_below(random, 4);
    const uint64_t hits = cache.statistics.hits;
    hox_runner *runner;
    runtime.failure = random_below(random, 8) == 0 ? HOX_OUT_OF_DEVICE_MEMORY : HOX_OK;
    const hox_status status =
        acquire(&plan, capacity, most_capacity, 1 + random_below(random, 50), &runner, NULL);
    cr_assert_eq(runner == NULL, status != HOX_OK);
    if (!runner) return false;
    cr_assert_eq(runner->name, plan.structure_hash[0]);
    cr_assert(runner->capacity >= capacity && runner->capacity <= most_capacity);
    if (cache.statistics.hits == hits) // something was prepared: room was made first
        cr_assert(cache.statistics.bytes <= cache.bound || !is_any_idle());
    return true;
}

static void do_at_random(test_random *random, uint64_t *acquired) {
    switch (random_below(random, 16)) {
        case 0: runner_cache_unpin(&cache); break;
        case 1: runner_cache_release_dead(&cache); break;
        case 2:
            mark_living((const char *[]){"abcdef", "ghijkl", "aceg"}[random_below(random, 3)]);
            break;
        case 3: runner_cache_set_bound(&cache, random_below(random, 300)); break;
        case 4:
            if (random_below(random, 4) == 0) runner_cache_release_idle(&cache);
            break;
        case 5:
            if (cache.count == 0) break;
            runner_cache_release(&cache,
                                 cache.items[random_below(random, (uint32_t)cache.count)].runner);
            break;
        default: *acquired += acquire_at_random(random); break;
    }
}

Test(runner_cache, accounts_are_right_after_anything) {
    for (uint64_t seed = 1; seed <= 30; seed++) {
        tear_down();
        set_up();
        test_random random = {seed};
        uint64_t acquired = 0;
        for (int step = 0; step < 500; step++) {
            do_at_random(&random, &acquired);
            const runner_statistics *s = &cache.statistics;
            cr_assert_eq(s->bytes, bytes_of_items());
            cr_assert_eq(s->hits + s->prepares, acquired);
            cr_assert_eq(s->prepares, runtime.prepares);
            cr_assert_eq(s->evictions, runtime.released_count);
            cr_assert_eq(s->prepares - s->evictions, runtime.alive);
            cr_assert_eq(cache.count, runtime.alive);
        }
    }
}
