#include "plugin_host/instance.h"

#include "base/array.h"

#include <stdlib.h>

hox_status instance_init(instance *i, const hox_plugin *plugin, const char *path,
                         const log_sink *log, hox_error *error) {
    *i = (instance){.plugin = plugin, .path = path};
    ledger *accounts = ledger_create(error);
    if (!accounts) return HOX_OUT_OF_HOST_MEMORY;
    services_init(&i->services, log, accounts, plugin->name);
    if (plugin->field_count > 0) {
        i->options = array_create(1, plugin->options_size, error);
        if (!i->options) return HOX_OUT_OF_HOST_MEMORY;
    }
    return HOX_OK;
}

void instance_deinit(instance *i) {
    free(i->options);
    ledger_destroy(i->services.ledger);
    *i = (instance){0};
}
