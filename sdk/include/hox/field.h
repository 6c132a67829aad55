// field.h - describes the members of an options struct, so that defaults, JSON, bounds, --set, help
// and schema come from one table. The host fills the struct; a plugin never parses anything.
#pragma once

#include <stddef.h>
#include <stdint.h>

// What the member is in C, and what JSON may give.
enum {
    HOX_FIELD_INT = 1,    // int64_t              integer
    HOX_FIELD_REAL = 2,   // double               number
    HOX_FIELD_BOOL = 3,   // int32_t, 0 or 1      true or false
    HOX_FIELD_TEXT = 4,   // const char *         string; null where the default is NULL
    HOX_FIELD_PATH = 5,   // const char *         string; relative to the file that says it
    HOX_FIELD_CHOICE = 6, // int32_t, index       one of the strings in choices
    HOX_FIELD_LABEL = 7,  // const char *         string or integer (kept as its digits), or null
    HOX_FIELD_SEED = 8,   // uint64_t             integer from 0, or its digits in a string
    HOX_FIELD_INTS = 9,   // hox_int_list         array of integers
    HOX_FIELD_REALS = 10  // hox_real_list        array of numbers
};

enum { HOX_LIST_CAPACITY = 16 };

typedef struct hox_int_list {
    int64_t count;
    int64_t values[HOX_LIST_CAPACITY];
} hox_int_list;

typedef struct hox_real_list {
    int64_t count;
    double values[HOX_LIST_CAPACITY];
} hox_real_list;

// One row. Bounds are inclusive and hold for each element of a list.
typedef struct hox_field {
    const char *name;
    const char *help;
    uint32_t type;
    uint32_t offset; // of the member
    int64_t default_int, least_int, most_int;
    double default_real, least_real, most_real;
    const char *default_text;   // text, path, label; a choice's name; a list as JSON
    const char *const *choices; // choice: names, NULL at the end
} hox_field;

// offsetof, and a compile error where the member is not of the type its row says.
#define HOX_OFFSET_(struct_type, member, member_type)                                              \
    (uint32_t)(                                                                                    \
        offsetof(struct_type, member) +                                                            \
        0 * sizeof(char[sizeof(((struct_type *)0)->member) == sizeof(member_type) ? 1 : -1]))

#define HOX_FIELD_(struct_type, member, member_type, type, help, ...)                              \
    { #member, help, type, HOX_OFFSET_(struct_type, member, member_type), __VA_ARGS__ }

#define HOX_INT(struct_type, member, fallback, least, most, help)                                  \
    HOX_FIELD_(struct_type, member, int64_t, HOX_FIELD_INT, help, fallback, least, most, 0, 0, 0,  \
               NULL, NULL)
#define HOX_REAL(struct_type, member, fallback, least, most, help)                                 \
    HOX_FIELD_(struct_type, member, double, HOX_FIELD_REAL, help, 0, 0, 0, fallback, least, most,  \
               NULL, NULL)
#define HOX_RATE(struct_type, member, fallback, help)                                              \
    HOX_REAL(struct_type, member, fallback, 0.0, 1.0, help)
#define HOX_BOOL(struct_type, member, fallback, help)                                              \
    HOX_FIELD_(struct_type, member, int32_t, HOX_FIELD_BOOL, help, fallback, 0, 1, 0, 0, 0, NULL,  \
               NULL)
#define HOX_TEXT(struct_type, member, fallback, help)                                              \
    HOX_FIELD_(struct_type, member, const char *, HOX_FIELD_TEXT, help, 0, 0, 0, 0, 0, 0,          \
               fallback, NULL)
#define HOX_PATH(struct_type, member, fallback, help)                                              \
    HOX_FIELD_(struct_type, member, const char *, HOX_FIELD_PATH, help, 0, 0, 0, 0, 0, 0,          \
               fallback, NULL)
#define HOX_CHOICE(struct_type, member, fallback, names, help)                                     \
    HOX_FIELD_(struct_type, member, int32_t, HOX_FIELD_CHOICE, help, 0, 0, 0, 0, 0, 0, fallback,   \
               names)
#define HOX_LABEL(struct_type, member, fallback, help)                                             \
    HOX_FIELD_(struct_type, member, const char *, HOX_FIELD_LABEL, help, 0, 0, 0, 0, 0, 0,         \
               fallback, NULL)
#define HOX_SEED(struct_type, member, help)                                                        \
    HOX_FIELD_(struct_type, member, uint64_t, HOX_FIELD_SEED, help, 0, 0, 0, 0, 0, 0, NULL, NULL)
#define HOX_INTS(struct_type, member, fallback, least, most, help)                                 \
    HOX_FIELD_(struct_type, member, hox_int_list, HOX_FIELD_INTS, help, 0, least, most, 0, 0, 0,   \
               fallback, NULL)
#define HOX_REALS(struct_type, member, fallback, least, most, help)                                \
    HOX_FIELD_(struct_type, member, hox_real_list, HOX_FIELD_REALS, help, 0, 0, 0, 0, least, most, \
               fallback, NULL)

// Goes into a plugin's constant: where the options live and what they are.
#define HOX_OPTIONS(struct_type, table)                                                            \
    .fields = table, .field_count = sizeof(table) / sizeof *(table),                               \
    .field_size = sizeof *(table), .options_size = sizeof(struct_type)
