// test_arena.c - zeroed, aligned, apart from each other, alive to the end.
#include "base/arena.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

Test(arena, gives_zeroed_room_that_nobody_else_has) {
    static const size_t sizes[] = {1, 7, 16, 100, 4095, 4096, 4097, 1, 100000, 3, 4000, 200};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    unsigned char *rooms[COUNT];
    arena a = {0};
    for (int i = 0; i < COUNT; i++) {
        rooms[i] = arena_alloc(&a, sizes[i], NULL);
        cr_assert_not_null(rooms[i]);
        cr_expect_eq((uintptr_t)rooms[i] % _Alignof(max_align_t), 0, "room %d", i);
        for (size_t k = 0; k < sizes[i]; k++)
            cr_assert_eq(rooms[i][k], 0, "room %d", i);
        memset(rooms[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < COUNT; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            cr_assert_eq(rooms[i][k], i + 1, "room %d", i);
    arena_deinit(&a);
    cr_expect_null(a.blocks);
    arena_deinit(&a);
}

Test(arena, prints_texts_of_any_length) {
    arena a = {0};
    char *first = arena_print(&a, NULL, "%s-%d", "one", 2);
    char *filled = arena_print(&a, NULL, "%*d", 10000, 7);
    char *empty = arena_print(&a, NULL, "%s", "");
    cr_expect_str_eq(first, "one-2");
    cr_assert_eq(strlen(filled), 10000);
    cr_expect_str_eq(filled + 9998, " 7");
    cr_expect_str_eq(empty, "");
    arena_deinit(&a);
}
