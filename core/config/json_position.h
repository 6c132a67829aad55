// json_position.h - where in a JSON text a value stands. Parsed values keep no place, so the text
// is read again, and only when there is something to say about it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Line and column (in letters), from 1, of what a JSON pointer (RFC 6901) names: an object's member
// by its key, an array's element by its value. A pointer to nothing gives the nearest thing above
// it, and false; so does a key written with escapes. The text is valid JSON.
bool json_position_find(const char *text, size_t size, const char *pointer, int *line, int *column);
