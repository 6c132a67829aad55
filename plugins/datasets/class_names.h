// class_names.h - the names of classes: cut from a text, made of numbers, checked, hashed.
#pragma once

#include <stdint.h>
#include <xxhash.h>

enum { CLASS_NUMBER_BYTES = sizeof "4294967295" };

// "0" "1" ..., written into text: count times CLASS_NUMBER_BYTES.
void class_names_number(const char **names, uint32_t count, char *text);

// Cuts text where separator stands. Returns how many names it has; the first capacity are set.
uint32_t class_names_cut(char *text, const char *separator, const char **names, uint32_t capacity);

// What is wrong with a name ("is empty"), and in *index which; NULL where all can be told apart and
// printed.
const char *class_names_trouble(const char *const *names, uint32_t count, uint32_t *index);

XXH128_hash_t class_names_hash(const char *const *names, uint32_t count);
