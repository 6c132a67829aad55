// test_device_memory.c - what a device is said to have, by runtimes that say much, little or
// nothing.
#include "evaluation/device_memory.h"

#include "base/memory_limit.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stddef.h>

// ---- a machine of the test's own ----

memory_limit __real_memory_limit_read(const char *root);
memory_limit __wrap_memory_limit_read(const char *root);

static const memory_limit *machine; // NULL: this one

memory_limit __wrap_memory_limit_read(const char *root) {
    return machine ? *machine : __real_memory_limit_read(root);
}

// ---- a runtime that says what the test wants ----

struct hox_runtime {
    hox_memory says;
    hox_status failure;
    uint64_t trimmed; // bytes that were asked for
};

static hox_status memory(const hox_runtime *runtime, hox_memory *out, hox_error *error) {
    cr_expect_eq(out->struct_size, sizeof *out);
    if (runtime->failure != HOX_OK)
        return hox_error_set(error, runtime->failure, "the device does not answer");
    *out = runtime->says;
    return HOX_OK;
}

static uint64_t trim(hox_runtime *runtime, uint64_t bytes) {
    runtime->trimmed = bytes;
    return 77;
}

static const hox_runtime_api talks = {.struct_size = sizeof talks, .memory = memory, .trim = trim};
static const hox_runtime_api silent = {.struct_size = sizeof silent};
// What an older header knows ends here; what lies behind is none of its members.
static const hox_runtime_api before_memory = {
    .struct_size = offsetof(hox_runtime_api, memory), .memory = memory, .trim = trim};
static const hox_runtime_api before_trim = {
    .struct_size = offsetof(hox_runtime_api, trim), .memory = memory, .trim = trim};
static const hox_runtime_api half_of_memory = {
    .struct_size = offsetof(hox_runtime_api, memory) + 4, .memory = memory, .trim = trim};

typedef struct device {
    hox_plugin plugin;
    instance instance;
    hox_runtime runtime;
    device_memory memory;
} device;

// reserved: by the runtime, so far.
static void start(device *d, const hox_runtime_api *api, uint32_t kind, uint64_t info_total,
                  uint64_t reserved, uint64_t cap) {
    *d = (device){.plugin = {.name = "double", .runtime = api}};
    hox_error error = HOX_ERROR_INIT;
    cr_assert_eq(instance_init(&d->instance, &d->plugin, "", NULL, &error), HOX_OK);
    d->memory = (device_memory){.plugin = &d->instance,
                                .runtime = &d->runtime,
                                .device = {.struct_size = sizeof(hox_device_info),
                                           .kind = kind,
                                           .total_bytes = info_total,
                                           .address = "double:0"},
                                .cap = cap};
    const hox_host *host = &d->instance.services.host;
    cr_assert_eq(host->reserve(host, "double:0", reserved, NULL), HOX_OK);
    cr_assert_eq(host->reserve(host, "another", 1000000, NULL), HOX_OK); // none of ours
    cr_assert_eq(host->reserve(host, "cpu", 60, NULL), HOX_OK);
    machine = NULL;
}

static void say(device *d, uint64_t total, uint64_t left, uint64_t cached) {
    d->runtime.says = (hox_memory){.struct_size = sizeof(hox_memory),
                                   .total_bytes = total,
                                   .free_bytes = left,
                                   .cached_bytes = cached};
}

static void expect_reading(device *d, const char *what, uint64_t total, uint64_t left,
                           uint64_t used) {
    vram_reading reading = {1, 2, 3};
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(device_memory_read(&d->memory, &reading, &error), HOX_OK, "%s: %s", what,
                 error.message);
    cr_expect_eq(reading.total, total, "%s: total %" PRIu64, what, reading.total);
    cr_expect_eq(reading.free, left, "%s: free %" PRIu64, what, reading.free);
    cr_expect_eq(reading.used, used, "%s: used %" PRIu64, what, reading.used);
}

// What the ledger lets the runtime have in all; UINT64_MAX = anything.
static uint64_t budget_of(const device *d) {
    ledger *accounts = d->instance.services.ledger;
    const uint64_t left = ledger_left(accounts, "double:0");
    return left == UINT64_MAX ? left : left + ledger_used(accounts, "double:0");
}

static void expect_budget(device *d, const char *what, uint64_t budget) {
    hox_error error = HOX_ERROR_INIT;
    cr_expect_eq(device_memory_set_budget(&d->memory, &error), HOX_OK, "%s", error.message);
    cr_expect_eq(budget_of(d), budget, "%s: budget %" PRIu64, what, budget_of(d));
}

// ---- other devices than the CPU ----

static const struct {
    const char *what;
    uint64_t total, left, cached; // by the runtime
    uint64_t reserved, cap;
    vram_reading reading; // total, free, used
    uint64_t budget;
} told[] = {
    {"empty", 1000, 1000, 0, 0, 0, {1000, 1000, 0}, UINT64_MAX},
    {"others take of it, too", 1000, 600, 0, 100, 0, {1000, 600, 400}, UINT64_MAX},
    {"cached is free", 1000, 600, 50, 150, 0, {1000, 650, 350}, UINT64_MAX},
    {"all is cached", 1000, 0, 1000, 1000, 0, {1000, 1000, 0}, UINT64_MAX},
    {"full", 1000, 0, 0, 1000, 0, {1000, 0, 1000}, UINT64_MAX},
    {"more free than there is", 1000, 1100, 0, 0, 0, {1000, 1100, 0}, UINT64_MAX},
    {"no total", 0, 600, 50, 150, 0, {0, 650, 100}, UINT64_MAX},
    {"more cached than reserved", 0, 600, 50, 30, 0, {0, 650, 0}, UINT64_MAX},
    {"no end", UINT64_MAX, UINT64_MAX, 1, 0, 0, {UINT64_MAX, UINT64_MAX, 0}, UINT64_MAX},
    {"cap above the total", 1000, 600, 0, 100, 5000, {1000, 600, 100}, 5000},
    {"cap above the free", 1000, 600, 0, 100, 800, {800, 600, 100}, 800},
    {"cap below the free", 1000, 600, 0, 100, 500, {500, 400, 100}, 500},
    {"cap and cached", 1000, 600, 50, 150, 500, {500, 400, 100}, 500},
    {"cap is reached", 1000, 600, 0, 500, 500, {500, 0, 500}, 500},
    {"cap is passed", 1000, 600, 0, 501, 500, {500, 0, 501}, 500},
    {"cap without a total", 0, 600, 0, 100, 500, {500, 400, 100}, 500},
    {"cap of the total", 1000, 600, 0, 100, 1000, {1000, 600, 100}, 1000},
};

Test(device_memory, goes_by_what_the_runtime_tells) {
    static const uint32_t kinds[] = {HOX_DEVICE_CUDA, HOX_DEVICE_OTHER};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
            device d;
            start(&d, &talks, kinds[k], 123456, told[i].reserved, told[i].cap);
            say(&d, told[i].total, told[i].left, told[i].cached);
            const vram_reading *r = &told[i].reading;
            expect_reading(&d, told[i].what, r->total, r->free, r->used);
            if (told[i].reserved <= told[i].budget) expect_budget(&d, told[i].what, told[i].budget);
            instance_deinit(&d.instance);
        }
}

static const struct {
    const char *what;
    uint64_t info_total, reserved, cap;
    vram_reading reading; // total, free, used
    uint64_t budget;
} untold[] = {
    {"empty", 1000, 0, 0, {1000, 1000, 0}, UINT64_MAX},
    {"the ledger's bytes are used", 1000, 300, 0, {1000, 700, 300}, UINT64_MAX},
    {"full", 1000, 1000, 0, {1000, 0, 1000}, UINT64_MAX},
    {"more reserved than there is", 1000, 1001, 0, {1000, 0, 1000}, UINT64_MAX},
    {"total unknown", 0, 300, 0, {0, UINT64_MAX, 300}, UINT64_MAX},
    {"cap", 1000, 300, 600, {600, 300, 300}, 600},
    {"cap above the free", 1000, 300, 1000, {1000, 700, 300}, 1000},
    {"total unknown, but a cap", 0, 300, 600, {600, 300, 300}, 600},
};

Test(device_memory, goes_by_device_info_and_ledger_where_the_runtime_tells_nothing) {
    static const hox_runtime_api *const apis[] = {&silent, &before_memory, &half_of_memory};
    for (size_t k = 0; k < sizeof apis / sizeof *apis; k++)
        for (size_t i = 0; i < sizeof untold / sizeof *untold; i++) {
            device d;
            start(&d, apis[k], HOX_DEVICE_CUDA, untold[i].info_total, untold[i].reserved,
                  untold[i].cap);
            d.runtime.failure = HOX_INTERNAL; // not to be asked
            const vram_reading *r = &untold[i].reading;
            expect_reading(&d, untold[i].what, r->total, r->free, r->used);
            expect_budget(&d, untold[i].what, untold[i].budget);
            instance_deinit(&d.instance);
        }
}

// ---- the CPU ----

// An eighth of the free bytes is ours: 37 of 300.
static const struct {
    const char *what;
    memory_limit machine; // total, free
    uint64_t cached, reserved, cap;
    vram_reading reading; // total, free, used
    uint64_t budget;
} cpus[] = {
    {"others use most of it", {1000, 300}, 0, 0, 0, {1000, 300, 0}, 263},
    {"used is what we have reserved", {1000, 300}, 0, 200, 0, {1000, 300, 200}, 463},
    {"nothing is left", {1000, 0}, 0, 200, 0, {1000, 0, 200}, 200},
    {"cached is free, and reserved", {1000, 300}, 50, 200, 0, {1000, 350, 150}, 463},
    {"unknown", {0, 0}, 0, 200, 0, {0, UINT64_MAX, 200}, UINT64_MAX},
    {"cap above the free", {1000, 300}, 0, 200, 900, {900, 300, 200}, 463},
    {"cap below the free", {1000, 300}, 0, 200, 400, {400, 200, 200}, 400},
    {"cap is reached", {1000, 300}, 0, 200, 200, {200, 0, 200}, 200},
    {"cap alone", {0, 0}, 0, 200, 400, {400, 200, 200}, 400},
    {"no end",
     {UINT64_MAX, UINT64_MAX - 100},
     0,
     200,
     0,
     {UINT64_MAX, UINT64_MAX - 100, 200},
     UINT64_MAX},
};

Test(device_memory, asks_the_system_for_the_cpu) {
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        device d;
        start(&d, cpus[i].cached ? &talks : &silent, HOX_DEVICE_CPU, 123456, cpus[i].reserved,
              cpus[i].cap);
        say(&d, 7, 7, cpus[i].cached); // total and free of no interest here
        machine = &cpus[i].machine;
        const vram_reading *r = &cpus[i].reading;
        expect_reading(&d, cpus[i].what, r->total, r->free, r->used);
        expect_budget(&d, cpus[i].what, cpus[i].budget);
        instance_deinit(&d.instance);
    }
}

Test(device_memory, knows_this_machine) {
    device d;
    start(&d, &silent, HOX_DEVICE_CPU, 0, 4096, 0);
    vram_reading reading;
    cr_assert_eq(device_memory_read(&d.memory, &reading, NULL), HOX_OK);
    cr_expect_gt(reading.total, 0);
    cr_expect_gt(reading.free, 0);
    cr_expect_leq(reading.free, reading.total);
    cr_expect_eq(reading.used, 4096);
    cr_assert_eq(device_memory_set_budget(&d.memory, NULL), HOX_OK);
    cr_expect_gt(budget_of(&d), 4096);
    cr_expect_lt(budget_of(&d), UINT64_MAX);
    cr_expect(device_memory_fits(&d.memory, 1));
    instance_deinit(&d.instance);
}

Test(device_memory, cpu_budget_refuses_before_the_kernel_kills) {
    static const memory_limit small = {1000, 300}, smaller = {1000, 100};
    device d;
    start(&d, &silent, HOX_DEVICE_CPU, 0, 200, 0);
    const hox_host *host = &d.instance.services.host;
    machine = &small;
    expect_budget(&d, "small", 463);
    cr_expect_eq(host->reserve(host, "double:0", 264, NULL), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(host->reserve(host, "double:0", 263, NULL), HOX_OK);
    host->release(host, "double:0", 263);
    machine = &smaller;                // as it is now, not as it was
    expect_budget(&d, "smaller", 288); // 100 - 12 + 200
    instance_deinit(&d.instance);
}

// An eighth of the free bytes stays with us.
Test(device_memory, another_device_leaves_the_hosts_memory_what_there_is) {
    static const memory_limit small = {1000, 300}, unknown = {0, 0};
    device d;
    start(&d, &silent, HOX_DEVICE_CUDA, 5000, 200, 100);
    ledger *accounts = d.instance.services.ledger;
    machine = &small;
    cr_assert_eq(device_memory_set_budget(&d.memory, NULL), HOX_OK);
    cr_expect_eq(ledger_left(accounts, "cpu"), 263, "whatever the device's cap");
    cr_expect_eq(ledger_left(accounts, "double:0"), 0);
    machine = &unknown;
    cr_assert_eq(device_memory_set_budget(&d.memory, NULL), HOX_OK);
    cr_expect_eq(ledger_left(accounts, "cpu"), UINT64_MAX);
    instance_deinit(&d.instance);
}

// ---- does it fit ----

Test(device_memory, fits_what_device_and_budget_have_left) {
    static const struct {
        const char *what;
        uint32_t kind;
        uint64_t left, cached, reserved, cap, bytes;
        bool fits;
    } rows[] = {
        {"to the byte", HOX_DEVICE_CUDA, 600, 0, 100, 0, 600, true},
        {"a byte more", HOX_DEVICE_CUDA, 600, 0, 100, 0, 601, false},
        {"what the pool has not given back", HOX_DEVICE_CUDA, 600, 50, 100, 0, 601, false},
        {"nothing", HOX_DEVICE_CUDA, 0, 0, 1000, 0, 0, true},
        {"to the cap", HOX_DEVICE_CUDA, 600, 0, 100, 500, 400, true},
        {"above the cap", HOX_DEVICE_CUDA, 600, 0, 100, 500, 401, false},
        {"above the free, below the cap", HOX_DEVICE_CUDA, 600, 0, 100, 900, 601, false},
        {"all there can be", HOX_DEVICE_CUDA, 600, 0, 100, 0, UINT64_MAX, false},
        {"CPU, to the byte", HOX_DEVICE_CPU, 600, 0, 100, 0, 525, true},
        {"CPU, a byte more", HOX_DEVICE_CPU, 600, 0, 100, 0, 526, false},
        {"CPU, above the cap", HOX_DEVICE_CPU, 600, 0, 100, 500, 401, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        device d;
        const memory_limit here = {1000, rows[i].left};
        start(&d, &talks, rows[i].kind, 0, rows[i].reserved, rows[i].cap);
        say(&d, 1000, rows[i].left, rows[i].cached);
        machine = &here;
        cr_assert_eq(device_memory_set_budget(&d.memory, NULL), HOX_OK);
        cr_expect_eq(device_memory_fits(&d.memory, rows[i].bytes), rows[i].fits, "%s",
                     rows[i].what);
        instance_deinit(&d.instance);
    }
}

Test(device_memory, fits_asks_the_budget_that_was_set) {
    static const memory_limit small = {1000, 300}, large = {1000, 900};
    device d;
    start(&d, &silent, HOX_DEVICE_CPU, 0, 100, 0);
    machine = &small;
    cr_assert_eq(device_memory_set_budget(&d.memory, NULL), HOX_OK);
    machine = &large; // others have gone; the budget is the generation's
    cr_expect(device_memory_fits(&d.memory, 263));
    cr_expect_not(device_memory_fits(&d.memory, 264));
    instance_deinit(&d.instance);
}

Test(device_memory, fits_anything_where_nothing_is_known) {
    device d;
    start(&d, &silent, HOX_DEVICE_OTHER, 0, 100, 0);
    cr_assert_eq(device_memory_set_budget(&d.memory, NULL), HOX_OK);
    cr_expect(device_memory_fits(&d.memory, UINT64_MAX));
    instance_deinit(&d.instance);
}

// ---- what fails ----

Test(device_memory, passes_the_loss_of_the_device_up) {
    static const uint32_t kinds[] = {HOX_DEVICE_CPU, HOX_DEVICE_CUDA, HOX_DEVICE_OTHER};
    for (size_t i = 0; i < 3; i++) {
        device d;
        start(&d, &talks, kinds[i], 1000, 10, 500);
        d.runtime.failure = HOX_DEVICE_LOST;
        vram_reading reading;
        hox_error error = HOX_ERROR_INIT, other = HOX_ERROR_INIT;
        cr_expect_eq(device_memory_read(&d.memory, &reading, &error), HOX_DEVICE_LOST);
        cr_expect_eq(error.status, HOX_DEVICE_LOST);
        cr_expect_str_eq(error.message, "the device does not answer");
        cr_expect_eq(device_memory_set_budget(&d.memory, &other), HOX_DEVICE_LOST);
        cr_expect_str_eq(other.message, "the device does not answer");
        cr_expect_eq(budget_of(&d), UINT64_MAX, "no budget was set");
        cr_expect_not(device_memory_fits(&d.memory, 0));
        instance_deinit(&d.instance);
    }
}

// Of whichever other kind the failure is: a reading is not worth a run.
Test(device_memory, goes_by_device_info_and_ledger_where_the_runtime_fails_to_tell) {
    static const hox_status failures[] = {HOX_OUT_OF_DEVICE_MEMORY, HOX_DEVICE, HOX_INTERNAL, 99};
    for (size_t k = 0; k < sizeof failures / sizeof *failures; k++) {
        device d;
        start(&d, &talks, HOX_DEVICE_CUDA, 1000, 300, 0);
        say(&d, 7, 7, 7);
        d.runtime.failure = failures[k];
        expect_reading(&d, "known by device_info", 1000, 700, 300);
        expect_budget(&d, "known by device_info", UINT64_MAX);
        cr_expect(device_memory_fits(&d.memory, 700));
        cr_expect_not(device_memory_fits(&d.memory, 701));
        instance_deinit(&d.instance);
        start(&d, &talks, HOX_DEVICE_CUDA, 0, 300, 0);
        d.runtime.failure = failures[k];
        expect_reading(&d, "unknown", 0, UINT64_MAX, 300);
        instance_deinit(&d.instance);
    }
}

// ---- trimming ----

Test(device_memory, trims_all_and_says_how_much) {
    device d;
    start(&d, &talks, HOX_DEVICE_CUDA, 1000, 10, 0);
    cr_expect_eq(device_memory_trim(&d.memory), 77);
    cr_expect_eq(d.runtime.trimmed, UINT64_MAX);
    instance_deinit(&d.instance);
}

Test(device_memory, trims_nothing_where_the_runtime_does_not) {
    static const hox_runtime_api *const apis[] = {&silent, &before_memory, &before_trim};
    for (size_t i = 0; i < sizeof apis / sizeof *apis; i++) {
        device d;
        start(&d, apis[i], HOX_DEVICE_CUDA, 1000, 10, 0);
        cr_expect_eq(device_memory_trim(&d.memory), 0);
        cr_expect_eq(d.runtime.trimmed, 0);
        instance_deinit(&d.instance);
    }
}

// memory is there though trim is not.
Test(device_memory, asks_a_table_for_each_member_alone) {
    device d;
    start(&d, &before_trim, HOX_DEVICE_CUDA, 5, 100, 0);
    say(&d, 1000, 600, 0);
    expect_reading(&d, "before trim", 1000, 600, 400);
    instance_deinit(&d.instance);
}
