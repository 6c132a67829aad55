#include "base/arena.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

enum { BLOCK_SIZE = 4096 };

struct arena_block {
    arena_block *older;
    size_t used, size;
    max_align_t bytes[];
};

void arena_deinit(arena *a) {
    while (a->blocks) {
        arena_block *older = a->blocks->older;
        free(a->blocks);
        a->blocks = older;
    }
}

void *arena_alloc(arena *a, size_t size, hox_error *error) {
    size = (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
    if (!a->blocks || a->blocks->size - a->blocks->used < size) {
        const size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        arena_block *block = calloc(1, sizeof *block + room);
        if (!block) {
            hox_error_set(error, HOX_OUT_OF_HOST_MEMORY, "out of memory: no room for %zu bytes",
                          room);
            return NULL;
        }
        *block = (arena_block){.older = a->blocks, .size = room};
        a->blocks = block;
    }
    void *start = (char *)a->blocks->bytes + a->blocks->used;
    a->blocks->used += size;
    return start;
}

char *arena_print(arena *a, hox_error *error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_alloc(a, (size_t)length + 1, error);
    if (!text) return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}
