#include "option.h"

#include "config/nearest.h"

#include <stdio.h>
#include <string.h>

static int wrong(const command *c, const char *what, const char *word) {
    fprintf(stderr, "hox %s: %s%s; \"hox %s --help\" lists the options\n", c->name, what, word,
            c->name);
    return EXIT_USAGE;
}

static int unknown(const command *c, const char *word) {
    char what[128], name[64];
    const char *start = word + strspn(word, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "="), start);
    nearest search = nearest_start(name);
    for (size_t i = 0; command_option(c, i); i++)
        nearest_offer(&search, command_option(c, i)->name);
    if (!search.best) return wrong(c, "unknown option ", word);
    snprintf(what, sizeof what, "unknown option, did you mean --%s? ", search.best);
    return wrong(c, what, word);
}

// The index of the option a word names; -1 = none. *value: what stands behind = in the same word,
// or NULL.
static int find(const command *c, const char *word, const char **value) {
    const bool is_long = word[1] == '-';
    const size_t length = strcspn(word + 2, "=");
    *value = NULL;
    for (int i = 0; command_option(c, (size_t)i); i++) {
        const option *o = command_option(c, (size_t)i);
        if (!is_long && o->letter == word[1] && word[2] == 0) return i;
        if (!is_long || strlen(o->name) != length || strncmp(o->name, word + 2, length) != 0)
            continue;
        if (word[2 + length] == '=') *value = word + 3 + length;
        return i;
    }
    return -1;
}

static bool add(option_values *values, const char *word) {
    if (values->count == COMMAND_MOST_VALUES) return false;
    values->items[values->count++] = word;
    return true;
}

int option_parse(int argc, char **argv, command_line *line) {
    const command *c = line->command;
    bool is_over = false; // after --
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *value;
        if (!is_over && strcmp(word, "--") == 0) {
            is_over = true;
            continue;
        }
        if (is_over || word[0] != '-' || word[1] == 0) {
            if (!add(&line->words, word)) return wrong(c, "too many words: ", word);
            continue;
        }
        const int index = find(c, word, &value);
        if (index < 0) return unknown(c, word);
        const option *o = command_option(c, (size_t)index);
        if (!o->argument && value) return wrong(c, "no value belongs to ", word);
        if (o->argument && !value && ++i < argc) value = argv[i];
        if (o->argument && !value) return wrong(c, "a value is missing after ", word);
        if (o->argument && !o->is_repeatable && line->values[index].count > 0)
            return wrong(c, "given twice: ", word);
        if (!add(&line->values[index], value ? value : word))
            return wrong(c, "given too often: ", word);
    }
    return -1;
}
