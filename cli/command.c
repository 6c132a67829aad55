#include "command.h"

#include "config/nearest.h"

#include <hox/plugin.h>
#include <hox/version.h>
#include <stdio.h>
#include <string.h>

const command commands[] = {
    {"run", "run FILE [--set key=value]... [--out DIR]", "evolve as an experiment file says",
     cmd_run},
    {"plugins", "plugins [list]", "every plugin file that is found, and why one is refused",
     cmd_plugins},
    {NULL, NULL, NULL, NULL},
};

static int print_usage(FILE *to) {
    fputs("hox evolves convolutional neural networks.\n\n", to);
    for (const command *c = commands; c->name; c++)
        fprintf(to, "  hox %-44s %s\n", c->usage, c->summary);
    fputs("  hox COMMAND --help                               the options of a command\n"
          "  hox --version\n",
          to);
    return to == stdout ? EXIT_OK : EXIT_USAGE;
}

static int print_version(void) {
    printf("hox %s (plugin contract draft %u)\n", HOX_VERSION_TEXT, HOX_ABI_DRAFT);
    return EXIT_OK;
}

static int unknown_command(const char *word) {
    nearest search = nearest_start(word);
    for (const command *c = commands; c->name; c++)
        nearest_offer(&search, c->name);
    fprintf(stderr, "hox: there is no command \"%s\"", word);
    if (search.best) fprintf(stderr, "; did you mean \"%s\"?", search.best);
    fputs("; \"hox --help\" lists them\n", stderr);
    return EXIT_USAGE;
}

int command_main(int argc, char **argv) {
    if (argc < 2) return print_usage(stderr);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_usage(stdout);
    if (strcmp(argv[1], "--version") == 0) return print_version();
    for (const command *c = commands; c->name; c++)
        if (strcmp(argv[1], c->name) == 0) return c->run(argc - 1, argv + 1);
    return unknown_command(argv[1]);
}
