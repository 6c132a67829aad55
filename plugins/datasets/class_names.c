// class_names.c - see class_names.h.
#include "class_names.h"

#include <stdio.h>
#include <string.h>

void class_names_number(const char **names, uint32_t count, char *text) {
    for (uint32_t i = 0; i < count; i++) {
        names[i] = text;
        text += sprintf(text, "%u", i) + 1;
    }
}

uint32_t class_names_cut(char *text, const char *separator, const char **names, uint32_t capacity) {
    uint32_t count = 0;
    char *rest = text;
    for (char *name; (name = strsep(&rest, separator)); count++)
        if (count < capacity) names[count] = name;
    return count;
}

// Bytes of the character at text, 0 where it is none (Unicode 15, table 3-7).
static size_t utf8_length(const char *text) {
    static const struct {
        unsigned char first, last; // of the lead byte
        unsigned char low, high;   // of the byte behind it
        size_t length;
    } rows[] = {
        {0x01, 0x7F, 0, 0xFF, 1},    {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (bytes[0] < rows[i].first || bytes[0] > rows[i].last) continue;
        if (bytes[1] < rows[i].low || bytes[1] > rows[i].high) return 0;
        for (size_t j = 2; j < rows[i].length; j++)
            if (bytes[j] < 0x80 || bytes[j] > 0xBF) return 0;
        return rows[i].length;
    }
    return 0;
}

static const char *name_trouble(const char *name) {
    if (*name == '\0') return "is empty";
    for (size_t length; *name; name += length) {
        length = utf8_length(name);
        if (length == 0) return "is not UTF-8";
        if ((unsigned char)*name < ' ' || *name == 0x7F) return "has a control character";
    }
    return NULL;
}

const char *class_names_trouble(const char *const *names, uint32_t count, uint32_t *index) {
    for (uint32_t i = 0; i < count; i++) {
        *index = i;
        const char *trouble = name_trouble(names[i]);
        if (trouble) return trouble;
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0) return "stands there twice";
    }
    return NULL;
}

XXH128_hash_t class_names_hash(const char *const *names, uint32_t count) {
    XXH128_hash_t hash = {0};
    for (uint32_t i = 0; i < count; i++)
        hash = XXH3_128bits_withSeed(names[i], strlen(names[i]), hash.low64 + i);
    return hash;
}
