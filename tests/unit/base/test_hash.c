// test_hash.c - the published values of XXH3's 128 bits, in canonical order.
#include "base/hash.h"

#include <criterion/criterion.h>

static void expect_hash(const void *bytes, size_t size, const char *expected) {
    char text[HASH_TEXT_SIZE];
    const hash128 hash = hash_bytes(bytes, size);
    hash_print(hash.words, text);
    cr_expect_str_eq(text, expected);
}

Test(hash, gives_the_published_values) {
    expect_hash("", 0, "99aa06d3014798d86001c324468d497f");
    expect_hash("abc", 3, "06b05ab6733a618578af5f94892f3950");
}

Test(hash, prints_high_word_first_with_all_its_zeros) {
    char text[HASH_TEXT_SIZE];
    hash_print((const uint64_t[]){1, 0xabcdef}, text);
    cr_expect_str_eq(text, "00000000000000010000000000abcdef");
}
