// descriptor.h - whether a plugin's constant can be trusted: all that is checked before any of its
// functions is called.
#pragma once

#include <hox/plugin.h>

// kind and name: what the file name says; 0 and NULL = anything. Errors: VERSION, with expected and
// found values. [any]
hox_status descriptor_check(const hox_plugin *plugin, uint32_t kind, const char *name,
                            hox_error *error) HOX_MUST_CHECK;

const char *descriptor_kind_name(uint32_t kind); // "runtime", "dataset", "fitness"; NULL = unknown
uint32_t descriptor_kind_of(const char *name, size_t length); // 0 = unknown
