// double.h - what every plugin here has in common. A double is an honest plugin in which one row of
// CMakeLists.txt overrides a member or two; these macros come from that row:
//   DOUBLE_NAME      the name in the file's name
//   DOUBLE_REFUSED   1 where the host must refuse it: then any call ends the process
//   ENTRY            the symbol it exports
//   PLUGIN_LIES      overrides in the constant
//   TABLE_LIES       overrides in the kind's table of functions
//   FIELD_LIES       overrides in the rows of the options
// Overriding an initialiser is the whole trick, hence -Wno-override-init.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include <hox/plugin.h>

// Stands where nobody may look: follow it and the process ends.
#define DOUBLE_POISON ((void *)(uintptr_t)0x10)

static void double_trap(void) {
    fputs("hox test double " DOUBLE_NAME ": called, though it was to be refused\n", stderr);
    abort();
}

// First line of every function of a double.
static inline void double_called(void) {
    if (DOUBLE_REFUSED) double_trap();
}

// What is accepted here need only load; a call says so in words.
static inline hox_status double_does_nothing(hox_error *error) {
    double_called();
    return hox_error_set(error, HOX_UNSUPPORTED, "%s", "a test double; it only loads");
}

typedef struct double_options {
    int64_t depth;
    double rate;
    int32_t mode;
    int32_t is_loud;
} double_options;

static const char *const double_modes[] = {"soft", "hard", NULL};
static const char *const double_no_modes[] = {NULL};

// Wider rows than the host knows, as a later header might have them.
typedef struct double_field {
    hox_field known;
    void (*later)(void);
} double_field;

static const double_field double_fields[] = {
    [0].known = HOX_INT(double_options, depth, 3, 1, 10, "an integer"),
    [1].known = HOX_RATE(double_options, rate, 0.5, "a number"),
    [2].known = HOX_CHOICE(double_options, mode, "soft", double_modes, "a name"),
    [0].later = double_trap,
    [1].later = double_trap,
    [2].later = double_trap,
    FIELD_LIES};

// The exported constant, with members behind the end that the host does not know of.
#define DOUBLE(kind_, ...)                                                                         \
    typedef struct double_plugin {                                                                 \
        hox_plugin known;                                                                          \
        void (*later[2])(void);                                                                    \
    } double_plugin;                                                                               \
    HOX_EXPORT extern const double_plugin ENTRY;                                                   \
    const double_plugin ENTRY = {.known = {.struct_size = sizeof(hox_plugin),                      \
                                           .abi_draft = HOX_ABI_DRAFT,                             \
                                           .magic = HOX_PLUGIN_MAGIC,                              \
                                           .kind = kind_,                                          \
                                           .name = DOUBLE_NAME,                                    \
                                           .fields = &double_fields[0].known,                      \
                                           .field_count = 3,                                       \
                                           .field_size = sizeof(double_field),                     \
                                           .options_size = sizeof(double_options),                 \
                                           __VA_ARGS__,                                            \
                                           PLUGIN_LIES},                                           \
                                 .later = {double_trap, double_trap}}
