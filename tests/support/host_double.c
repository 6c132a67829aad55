// host_double.c - see host_double.h.
#include "host_double.h"

#include <pthread.h>

static pthread_mutex_t mutex =
    PTHREAD_MUTEX_INITIALIZER; // guards all ledgers: lanes reserve at once

static host_double *from_host(const hox_host *host) {
    return host->context;
}

static void double_log(const hox_host *host, uint32_t level, const char *message) {
    (void)level;
    snprintf(from_host(host)->last_log, sizeof from_host(host)->last_log, "%s", message);
}

static hox_status reserve(host_double *self, const char *device, uint64_t bytes, hox_error *error) {
    const uint64_t left = self->budget_bytes - self->live_bytes;
    self->reserve_count++;
    if (bytes > left || self->reserve_count == self->fail_at_reserve) {
        if (error && error->status == HOX_OK) {
            error->bytes_requested = bytes;
            error->bytes_available = left;
        }
        return hox_error_set(error, HOX_OUT_OF_DEVICE_MEMORY, "%s: %llu bytes asked for, %llu left",
                             device, (unsigned long long)bytes, (unsigned long long)left);
    }
    self->live_bytes += bytes;
    if (self->live_bytes > self->peak_bytes) self->peak_bytes = self->live_bytes;
    return HOX_OK;
}

static hox_status double_reserve(const hox_host *host, const char *device, uint64_t bytes,
                                 hox_error *error) {
    pthread_mutex_lock(&mutex);
    const hox_status status = reserve(from_host(host), device, bytes, error);
    pthread_mutex_unlock(&mutex);
    return status;
}

// Releasing more than was reserved wraps, and then live_bytes never comes back to 0.
static void double_release(const hox_host *host, const char *device, uint64_t bytes) {
    (void)device;
    pthread_mutex_lock(&mutex);
    from_host(host)->live_bytes -= bytes;
    pthread_mutex_unlock(&mutex);
}

// Philox4x32-10, from the paper.
static void double_random(const hox_host *host, uint64_t key, const uint32_t counter[4],
                          uint32_t words[4]) {
    (void)host;
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t a = UINT64_C(0xD2511F53) * x0, b = UINT64_C(0xCD9E8D57) * x2;
        x0 = (uint32_t)(b >> 32) ^ x1 ^ k0;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ k1;
        x1 = (uint32_t)b;
        x3 = (uint32_t)a;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    words[0] = x0, words[1] = x1, words[2] = x2, words[3] = x3;
}

void host_double_init(host_double *host) {
    *host = (host_double){
        .host =
            {
                .struct_size = sizeof(hox_host),
                .log_level = HOX_LOG_DEBUG,
                .context = host,
                .log = double_log,
                .reserve = double_reserve,
                .release = double_release,
                .random = double_random,
            },
        .budget_bytes = UINT64_C(1) << 32,
    };
}
