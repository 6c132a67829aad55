#include "config/json_position.h"

#include <stdlib.h>
#include <string.h>

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *c) {
    while (c->at < c->end && strchr(" \t\r\n,:", *c->at))
        c->at++;
}

static void skip_string(cursor *c) {
    for (c->at++; c->at < c->end && *c->at != '"'; c->at++)
        if (*c->at == '\\') c->at++;
    if (c->at < c->end) c->at++;
}

// Past one value, however deep, without recursion.
static void skip_value(cursor *c) {
    size_t depth = 0;
    do {
        skip_space(c);
        if (c->at >= c->end) return;
        if (*c->at == '"') {
            skip_string(c);
        } else if (strchr("{[", *c->at)) {
            depth++;
            c->at++;
        } else if (strchr("}]", *c->at)) {
            depth--;
            c->at++;
        } else {
            while (c->at < c->end && !strchr(" \t\r\n,:]}", *c->at))
                c->at++;
        }
    } while (depth > 0);
}

// Compares a raw key (between quotes, escapes left alone) with a pointer's token (~0 and ~1
// undone).
static bool is_same(const char *key, size_t key_size, const char *token, size_t token_size) {
    size_t k = 0;
    for (size_t t = 0; t < token_size; t++, k++) {
        char letter = token[t];
        if (letter == '~' && t + 1 < token_size) letter = token[++t] == '1' ? '/' : '~';
        if (k >= key_size || key[k] != letter) return false;
    }
    return k == key_size;
}

// Moves from the start of a container to the named member; *key is where its key stands.
static bool enter(cursor *c, const char *token, size_t token_size, const char **key) {
    const bool is_object = *c->at == '{';
    if (!is_object && *c->at != '[') return false;
    size_t index = is_object ? 0 : strtoul(token, NULL, 10);
    c->at++;
    for (;;) {
        skip_space(c);
        if (c->at >= c->end || *c->at == '}' || *c->at == ']') return false;
        *key = c->at;
        if (is_object) {
            skip_string(c);
            const bool is_found = is_same(*key + 1, (size_t)(c->at - *key) - 2, token, token_size);
            skip_space(c);
            if (is_found) return true;
        } else if (index-- == 0) {
            return true;
        }
        skip_value(c);
    }
}

bool json_position_find(const char *text, size_t size, const char *pointer, int *line,
                        int *column) {
    cursor c = {text, text + size};
    skip_space(&c);
    const char *found = c.at;
    bool is_whole = true;
    while (*pointer == '/' && is_whole) {
        const char *token = pointer + 1;
        const size_t token_size = strcspn(token, "/");
        pointer = token + token_size;
        const char *key = c.at;
        is_whole = c.at < c.end && enter(&c, token, token_size, &key);
        if (is_whole) found = key;
    }
    *line = *column = 1;
    for (const char *p = text; p < found; p++) {
        *column += (*p & 0xC0) != 0x80; // UTF-8: a letter, not its further bytes
        if (*p == '\n') {
            (*line)++;
            *column = 1;
        }
    }
    return is_whole;
}
