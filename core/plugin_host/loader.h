// loader.h - opens a shared object and accepts it only if host and plugin agree. Never unloads one.
#pragma once

#include <hox/plugin.h>

// path: any way to the file; loaded by its real absolute path. kind and name as in
// descriptor_check. *plugin lives as long as the process. Errors: VERSION, the message begins with
// the path. [main]
hox_status loader_open(const char *path, uint32_t kind, const char *name, const hox_plugin **plugin,
                       hox_error *error) HOX_MUST_CHECK;
