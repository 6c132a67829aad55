#include "io/json_value.h"

#include "base/hash.h"

#include <math.h>

json_t *json_value_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_value_hash(const uint64_t words[2]) {
    char text[HASH_TEXT_SIZE];
    hash_print(words, text);
    return json_string(text);
}
