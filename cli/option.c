#include "option.h"

#include "command.h"
#include "config/nearest.h"

#include <stdio.h>
#include <string.h>

static int print_help(const char *usage, const option *options, size_t count) {
    printf("hox %s\n\n", usage);
    for (size_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "--%s%s%s", options[i].name, options[i].argument ? " " : "",
                 options[i].argument ? options[i].argument : "");
        printf("  %-24s %s\n", name, options[i].help);
    }
    return EXIT_OK;
}

static int wrong(const char *command_name, const char *what, const char *word) {
    fprintf(stderr, "hox %s: %s%s; \"hox %s --help\" lists the options\n", command_name, what, word,
            command_name);
    return EXIT_USAGE;
}

static int unknown(const char *command_name, const option *options, size_t count,
                   const char *word) {
    char what[128];
    nearest search = nearest_start(word + 2);
    for (size_t i = 0; i < count; i++)
        nearest_offer(&search, options[i].name);
    if (!search.best) return wrong(command_name, "unknown option ", word);
    snprintf(what, sizeof what, "unknown option, did you mean --%s? ", search.best);
    return wrong(command_name, what, word);
}

static const option *find(const option *options, size_t count, const char *name, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(options[i].name) == length && strncmp(options[i].name, name, length) == 0)
            return &options[i];
    return NULL;
}

static bool add(option_values *values, const char *word) {
    if (values->count == OPTION_MOST_VALUES) return false;
    values->items[values->count++] = word;
    return true;
}

int option_parse(int argc, char **argv, const char *usage, const option *options,
                 size_t option_count, option_values *words) {
    bool is_over = false; // after --
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (is_over || word[0] != '-' || word[1] == 0) {
            if (!add(words, word)) return wrong(argv[0], "too many words: ", word);
            continue;
        }
        if (strcmp(word, "--") == 0) {
            is_over = true;
            continue;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            return print_help(usage, options, option_count);
        if (word[1] != '-') return wrong(argv[0], "unknown option ", word);
        const size_t length = strcspn(word + 2, "=");
        const option *found = find(options, option_count, word + 2, length);
        if (!found) return unknown(argv[0], options, option_count, word);
        const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
        if (!found->argument && value) return wrong(argv[0], "no value belongs to ", word);
        if (found->argument && !value && ++i < argc) value = argv[i];
        if (found->argument && !value) return wrong(argv[0], "a value is missing after ", word);
        if (!found->is_repeatable && found->values->count > 0)
            return wrong(argv[0], "given twice: ", word);
        if (!add(found->values, value ? value : word))
            return wrong(argv[0], "given too often: ", word);
    }
    return -1;
}
