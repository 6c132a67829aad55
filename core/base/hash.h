// hash.h - 128-bit content hashes (XXH3, canonical byte order of its result; not cryptographic).
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct hash128 {
    uint64_t words[2]; // high, low
} hash128;

enum { HASH_TEXT_SIZE = 33 };

hash128 hash_bytes(const void *bytes, size_t size);
void hash_print(const uint64_t words[2], char text[HASH_TEXT_SIZE]); // 32 hex digits and a 0
