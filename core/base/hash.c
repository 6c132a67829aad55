#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

hash128 hash_bytes(const void *bytes, size_t size) {
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);
    return (hash128){{hash.high64, hash.low64}};
}

void hash_print(const uint64_t words[2], char text[HASH_TEXT_SIZE]) {
    snprintf(text, HASH_TEXT_SIZE, "%016" PRIx64 "%016" PRIx64, words[0], words[1]);
}
