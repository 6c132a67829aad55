#include "config/problem.h"

#include "base/array.h"

#include <stdlib.h>

void problem_list_deinit(problem_list *list) {
    arena_deinit(&list->memory);
    free(list->items);
    *list = (problem_list){0};
}

hox_status problem_add(problem_list *list, const char *pointer, const char *format, ...) {
    char text[HOX_ERROR_MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);

    problem *items = array_grow(list->items, &list->capacity, list->count + 1, sizeof *items, NULL);
    if (!items) return HOX_BAD_OPTION;
    list->items = items;
    const problem p = {arena_print(&list->memory, NULL, "%s", pointer),
                       arena_print(&list->memory, NULL, "%s", text)};
    if (p.pointer && p.text) items[list->count++] = p;
    return HOX_BAD_OPTION;
}
