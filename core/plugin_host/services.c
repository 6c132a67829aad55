#include "plugin_host/services.h"

#include "base/rng.h"

static void host_log(const hox_host *host, uint32_t level, const char *message) {
    const services *s = host->context;
    log_line(s->log, level, "%s: %s", s->name, message);
}

static hox_status host_reserve(const hox_host *host, const char *device, uint64_t bytes,
                               hox_error *error) {
    const services *s = host->context;
    return ledger_reserve(s->ledger, device, bytes, error);
}

static void host_release(const hox_host *host, const char *device, uint64_t bytes) {
    const services *s = host->context;
    ledger_release(s->ledger, device, bytes);
}

static void host_random(const hox_host *host, uint64_t key, const uint32_t counter[4],
                        uint32_t words[4]) {
    (void)host;
    rng_philox((const uint32_t[]){(uint32_t)key, (uint32_t)(key >> 32)}, counter, words);
}

void services_init(services *s, const log_sink *log, ledger *accounts, const char *name) {
    *s = (services){.host = {.struct_size = sizeof(hox_host),
                             .log_level = log ? log->level : 0,
                             .context = s,
                             .log = host_log,
                             .reserve = host_reserve,
                             .release = host_release,
                             .random = host_random},
                    .log = log,
                    .ledger = accounts,
                    .name = name};
}
