// settings_schema.h - all that an experiment file may say, as JSON Schema (draft-07), for editors
// and validators.
#pragma once

#include "plugin_host/catalog.h"

#include <jansson.h>

// With the options of every usable plugin of the scanned catalog. The caller owns the reference.
// NULL without memory.
json_t *settings_schema(const catalog *plugins);
