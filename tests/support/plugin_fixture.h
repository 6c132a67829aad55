// plugin_fixture.h - the plugins of this build, and their options, without the host's loader.
#pragma once

#include <hox/plugin.h>

// The constant of <file>.so; ends the process where it does not load.
const hox_plugin *plugin_load(const char *file);

// The options at their defaults (NULL without fields); free() after the instance is closed.
void *plugin_options(const hox_plugin *plugin);

void plugin_set_int(const hox_plugin *plugin, void *options, const char *name, int64_t value);
void plugin_set_real(const hox_plugin *plugin, void *options, const char *name, double value);
// Text, path or label. The value is borrowed.
void plugin_set_text(const hox_plugin *plugin, void *options, const char *name, const char *value);
void plugin_set_choice(const hox_plugin *plugin, void *options, const char *name,
                       const char *value);
