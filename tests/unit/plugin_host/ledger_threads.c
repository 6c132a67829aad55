// ledger_threads.c - eight threads at one budget: never over it, and nothing stays.
#include "plugin_host/ledger.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 8, ROUNDS = 5000, BUDGET = 120 };

typedef struct thread {
    pthread_t id;
    ledger *accounts;
    uint64_t refused_count;
    uint32_t number;
} thread;

static void *work(void *argument) {
    thread *self = argument;
    char device[16];
    for (uint32_t i = 0; i < ROUNDS; i++) {
        snprintf(device, sizeof device, "other:%u", i % 20); // accounts are opened on the way
        uint64_t held[2];
        for (uint32_t k = 0; k < 2; k++) { // two at a time: one thread alone is refused at times
            held[k] = 1 + (self->number * 31 + i + 50 * k) % 100;
            if (ledger_reserve(self->accounts, "cpu", held[k], NULL) == HOX_OK) continue;
            self->refused_count++;
            held[k] = 0;
        }
        ledger_release(self->accounts, "cpu", held[0]);
        ledger_release(self->accounts, "cpu", held[1]);
        if (ledger_reserve(self->accounts, device, 1, NULL) == HOX_OK)
            ledger_release(self->accounts, device, 1);
    }
    return NULL;
}

int main(void) {
    ledger *accounts = ledger_create(NULL);
    thread threads[THREADS] = {0};
    if (!accounts || ledger_set_budget(accounts, "cpu", BUDGET, NULL) != HOX_OK) return 1;
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i].accounts = accounts;
        threads[i].number = i;
        if (pthread_create(&threads[i].id, NULL, work, &threads[i]) != 0) return 1;
    }
    uint64_t refused_count = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i].id, NULL);
        refused_count += threads[i].refused_count;
    }
    const uint64_t used = ledger_used(accounts, "cpu"), peak = ledger_peak(accounts, "cpu");
    printf("used %llu, peak %llu of %d, refused %llu\n", (unsigned long long)used,
           (unsigned long long)peak, BUDGET, (unsigned long long)refused_count);
    const int failed = used != 0 || peak > BUDGET || refused_count == 0;
    ledger_destroy(accounts);
    return failed;
}
