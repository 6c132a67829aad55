// json_position.h - where in a JSON text a value stands. Parsed values keep no place, so the text
// is read again, and only when there is something to say about it.
#pragma once

#include <stddef.h>

// Line and column, from 1, of what a JSON pointer (RFC 6901) names: an object's member by its key,
// an array's element by its value. A pointer to nothing gives the nearest thing above it. The text
// is valid JSON.
void json_position_find(const char *text, size_t size, const char *pointer, int *line, int *column);
