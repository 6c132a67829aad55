// arena.h - small things that die together.
#pragma once

#include <hox/status.h>

typedef struct arena_block arena_block;
typedef struct arena {
    arena_block *blocks; // newest first
} arena;

void arena_deinit(arena *a); // {0} is an empty arena

// Zeroed, aligned for any type, alive until arena_deinit; NULL and OUT_OF_HOST_MEMORY without
// memory.
void *arena_alloc(arena *a, size_t size, hox_error *error);
char *arena_print(arena *a, hox_error *error, const char *format, ...) HOX_PRINTF(3, 4);
