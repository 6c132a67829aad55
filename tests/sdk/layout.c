// layout.c - holds the headers against layout.h while it compiles; read as C11, C17 and C++17.
#include "layout.h"

#ifdef __cplusplus
#define CLAIM    static_assert
#define LANGUAGE __cplusplus
#else
#define CLAIM    _Static_assert
#define LANGUAGE __STDC_VERSION__
#endif

CLAIM(LANGUAGE == STANDARD, "not compiled as the standard that the build file says");
CLAIM(sizeof(void *) == 8, "the tables are for 64 bits");
CLAIM(sizeof(hox_status) == 4, "a status is 32 bits");

// The members' claims live in a function, where the struct under check goes by one name.
#define MEMBER(member, offset, size)                                                               \
    CLAIM(offsetof(checked, member) == offset, #member " has moved");                              \
    CLAIM(sizeof(((checked *)0)->member) == size, #member " has another size");
#define PLUS_SIZE(member, offset, size) +size

#define STRUCT(type, layout, size)                                                                 \
    CLAIM(sizeof(type) == size, #type " has another size");                                        \
    CLAIM(size == 0 layout(PLUS_SIZE), #type " has padding, or a member that layout.h lacks");     \
    CLAIM(size % 8 == 0, #type " is no multiple of 8");                                            \
    static inline void check_##type(void) {                                                        \
        typedef type checked;                                                                      \
        layout(MEMBER)                                                                             \
    }

LAYOUT_MAP(STRUCT)
