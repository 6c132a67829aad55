// json_value.h - values that JSON has no word for. The caller owns the references; NULL without
// memory.
#pragma once

#include <jansson.h>
#include <stdint.h>

json_t *json_value_real(double value);            // null where it is not finite
json_t *json_value_hash(const uint64_t words[2]); // 32 hex digits
