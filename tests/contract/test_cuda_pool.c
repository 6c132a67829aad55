// test_cuda_pool.c - the pool of a GPU's memory, on the fake driver.
#include "cuda/pool.h"
#include "fake_cuda.h"
#include "host_double.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MIB = 1 << 20 };

typedef struct bench {
    host_double host;
    cuda_device device;
    cuda_pool pool;
} bench;

static bench self;

static void set_up(void) {
    hox_error error = HOX_ERROR_INIT;
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake_cuda_reset();
    fake_cuda_set_memory(16 * MIB);
    host_double_init(&self.host);
    cr_assert_eq(cuda_device_open(&self.device, 0, &error), HOX_OK, "%s", error.message);
    cr_assert_eq(cuda_device_enter(&self.device, &error), HOX_OK, "%s", error.message);
    cuda_pool_init(&self.pool, &self.host.host, &self.device);
}

static void tear_down(void) {
    cuda_pool_deinit(&self.pool);
    cuda_device_leave(&self.device);
    cuda_device_close(&self.device);
    cr_expect_eq(self.host.live_bytes, 0);
    cr_expect_eq(fake_cuda_count().device_blocks, 0);
    cr_expect_eq(fake_cuda_count().contexts, 0);
}

TestSuite(cuda_pool, .init = set_up, .fini = tear_down);

static cuda_block *take(uint64_t bytes) {
    hox_error error = HOX_ERROR_INIT;
    cuda_block *block = NULL;
    cr_assert_eq(cuda_pool_take(&self.pool, bytes, &block, &error), HOX_OK, "%s", error.message);
    cr_expect_geq(block->bytes, bytes);
    return block;
}

static void expect_pool(uint64_t in_use, uint64_t cached, uint64_t peak) {
    cr_expect_eq(self.pool.in_use, in_use, "in use: %d", (int)self.pool.in_use);
    cr_expect_eq(self.pool.cached, cached, "cached: %d", (int)self.pool.cached);
    cr_expect_eq(self.pool.peak, peak, "peak: %d", (int)self.pool.peak);
}

Test(cuda_pool, keeps_what_is_given_back) {
    cuda_block *a = take(MIB), *b = take(2 * MIB);
    const CUdeviceptr address = a->address;
    expect_pool(3 * MIB, 0, 3 * MIB);
    cuda_pool_give(&self.pool, a);
    expect_pool(2 * MIB, MIB, 3 * MIB);
    const uint64_t calls = fake_cuda_count().calls;
    a = take(MIB - 1000);
    cr_expect_eq(a->address, address);
    cr_expect_eq(fake_cuda_count().calls, calls, "the driver was asked");
    expect_pool(3 * MIB, 0, 3 * MIB);
    cuda_pool_give(&self.pool, a);
    cuda_pool_give(&self.pool, b);
    cuda_pool_give(&self.pool, NULL);
    expect_pool(0, 3 * MIB, 3 * MIB);
}

// The smallest that is large enough, and none that would waste much.
Test(cuda_pool, wastes_little) {
    cuda_block *small = take(MIB), *large = take(4 * MIB);
    const CUdeviceptr address = large->address;
    cuda_pool_give(&self.pool, small);
    cuda_pool_give(&self.pool, large);
    cuda_block *middle = take(2 * MIB);
    cr_expect_neq(middle->address, address);
    large = take(4 * MIB - MIB / 2);
    cr_expect_eq(large->address, address);
    cuda_pool_give(&self.pool, middle);
    cuda_pool_give(&self.pool, large);
}

Test(cuda_pool, trims_no_more_than_it_must) {
    cuda_block *blocks[3];
    for (size_t i = 0; i < 3; i++)
        blocks[i] = take(MIB);
    for (size_t i = 0; i < 3; i++)
        cuda_pool_give(&self.pool, blocks[i]);
    cr_expect_eq(cuda_pool_trim(&self.pool, MIB + 1), 2 * MIB);
    expect_pool(0, MIB, 3 * MIB);
    cr_expect_eq(self.host.live_bytes, MIB + sizeof(cuda_block));
    cr_expect_eq(cuda_pool_trim(&self.pool, UINT64_MAX), MIB);
    cr_expect_eq(cuda_pool_trim(&self.pool, UINT64_MAX), 0);
    cr_expect_eq(fake_cuda_count().device_bytes, 0);
}

// What it keeps goes before the answer is no; then the answer says how much there was.
Test(cuda_pool, gives_way_before_it_refuses) {
    hox_error error = HOX_ERROR_INIT;
    cuda_block *held = take(6 * MIB), *refused = held;
    cuda_pool_give(&self.pool, take(8 * MIB));
    cuda_block *other = take(10 * MIB);
    expect_pool(16 * MIB, 0, 16 * MIB);
    cr_expect_eq(cuda_pool_take(&self.pool, MIB, &refused, &error), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_null(refused);
    cr_expect_eq(error.bytes_requested, MIB);
    cr_expect_eq(error.bytes_available, 0);
    cr_expect_eq(error.native_code, CUDA_ERROR_OUT_OF_MEMORY);
    cr_expect_str_eq(error.message,
                     "out of memory on cuda:0: 1048576 bytes needed, the driver has 0 left");
    cuda_pool_give(&self.pool, held);
    cuda_pool_give(&self.pool, other);
}

Test(cuda_pool, asks_the_ledger_first) {
    hox_error error = HOX_ERROR_INIT;
    cuda_block *refused;
    self.host.budget_bytes = MIB;
    const uint64_t calls = fake_cuda_count().calls;
    cr_expect_eq(cuda_pool_take(&self.pool, MIB, &refused, &error), HOX_OUT_OF_DEVICE_MEMORY);
    cr_expect_eq(fake_cuda_count().calls, calls);
    cr_expect_eq(self.host.live_bytes, 0);
    cr_expect_eq(cuda_pool_take(&self.pool, UINT64_MAX, &refused, NULL), HOX_OUT_OF_DEVICE_MEMORY);
}

// It stays kept, and goes with the next trim.
Test(cuda_pool, loses_nothing_that_the_driver_does_not_take_back) {
    cuda_pool_give(&self.pool, take(MIB));
    fake_cuda_fail_call(1, CUDA_ERROR_OUT_OF_MEMORY);
    cr_expect_eq(cuda_pool_trim(&self.pool, UINT64_MAX), 0);
    expect_pool(0, MIB, MIB);
    cr_expect_eq(cuda_pool_trim(&self.pool, UINT64_MAX), MIB);
}

// Its memory is gone with it, and the ledger hears of that.
Test(cuda_pool, ends_well_on_a_lost_device) {
    hox_error error = HOX_ERROR_INIT;
    cuda_block *block = take(MIB), *other = NULL;
    fake_cuda_fail_call(1, CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_expect_eq(cuda_pool_take(&self.pool, 4 * MIB, &other, &error), HOX_DEVICE_LOST);
    cr_expect_eq(error.native_code, CUDA_ERROR_ILLEGAL_ADDRESS);
    cuda_pool_give(&self.pool, block);
}
