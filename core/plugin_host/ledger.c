#include "plugin_host/ledger.h"

#include "base/array.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct account {
    char device[32];
    uint64_t budget, used, peak;
} account;

struct ledger {
    pthread_mutex_t mutex; // guards all below
    account *accounts;
    size_t account_count, account_capacity;
};

ledger *ledger_create(hox_error *error) {
    ledger *l = array_create(1, sizeof *l, error);
    if (l) pthread_mutex_init(&l->mutex, NULL);
    return l;
}

void ledger_destroy(ledger *l) {
    if (!l) return;
    pthread_mutex_destroy(&l->mutex);
    free(l->accounts);
    free(l);
}

static account *find(ledger *l, const char *device) {
    for (size_t i = 0; i < l->account_count; i++)
        if (strncmp(l->accounts[i].device, device, sizeof l->accounts[i].device - 1) == 0)
            return &l->accounts[i];
    return NULL;
}

static account *find_or_open(ledger *l, const char *device, hox_error *error) {
    account *found = find(l, device);
    if (found) return found;
    account *accounts = array_grow(l->accounts, &l->account_capacity, l->account_count + 1,
                                   sizeof *accounts, error);
    if (!accounts) return NULL;
    l->accounts = accounts;
    account *opened = &accounts[l->account_count++];
    *opened = (account){.budget = UINT64_MAX};
    snprintf(opened->device, sizeof opened->device, "%s", device);
    return opened;
}

hox_status ledger_set_budget(ledger *l, const char *device, uint64_t bytes, hox_error *error) {
    pthread_mutex_lock(&l->mutex);
    account *a = find_or_open(l, device, error);
    if (a) a->budget = bytes;
    pthread_mutex_unlock(&l->mutex);
    return a ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
}

static uint64_t left_of(const account *a) {
    if (a->budget == UINT64_MAX) return UINT64_MAX;
    return a->budget > a->used ? a->budget - a->used : 0;
}

static hox_status refuse(const account *a, uint64_t bytes, hox_error *error) {
    const uint64_t left = left_of(a);
    if (error && error->status == HOX_OK) {
        error->bytes_requested = bytes;
        error->bytes_available = left;
    }
    return hox_error_set(error, HOX_OUT_OF_DEVICE_MEMORY,
                         "out of memory on %s: %" PRIu64 " bytes needed, %" PRIu64 " of %" PRIu64
                         " left",
                         a->device, bytes, left, a->budget);
}

hox_status ledger_reserve(ledger *l, const char *device, uint64_t bytes, hox_error *error) {
    pthread_mutex_lock(&l->mutex);
    account *a = find_or_open(l, device, error);
    hox_status status = a ? HOX_OK : HOX_OUT_OF_HOST_MEMORY;
    if (a && (a->used > a->budget || bytes > a->budget - a->used)) status = refuse(a, bytes, error);
    if (status == HOX_OK) {
        a->used += bytes;
        if (a->used > a->peak) a->peak = a->used;
    }
    pthread_mutex_unlock(&l->mutex);
    return status;
}

void ledger_release(ledger *l, const char *device, uint64_t bytes) {
    pthread_mutex_lock(&l->mutex);
    account *a = find(l, device);
    if (a) a->used -= bytes < a->used ? bytes : a->used; // a plugin may lie; we do not wrap
    pthread_mutex_unlock(&l->mutex);
}

uint64_t ledger_used(ledger *l, const char *device) {
    pthread_mutex_lock(&l->mutex);
    const account *a = find(l, device);
    const uint64_t used = a ? a->used : 0;
    pthread_mutex_unlock(&l->mutex);
    return used;
}

uint64_t ledger_peak(ledger *l, const char *device) {
    pthread_mutex_lock(&l->mutex);
    const account *a = find(l, device);
    const uint64_t peak = a ? a->peak : 0;
    pthread_mutex_unlock(&l->mutex);
    return peak;
}

uint64_t ledger_left(ledger *l, const char *device) {
    pthread_mutex_lock(&l->mutex);
    const account *a = find(l, device);
    const uint64_t left = a ? left_of(a) : UINT64_MAX;
    pthread_mutex_unlock(&l->mutex);
    return left;
}
