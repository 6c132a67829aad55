#include "command.h"

#include "help.h"
#include "option.h"

#include "base/memory_limit.h"
#include "config/nearest.h"

#include <assert.h>
#include <hox/plugin.h>
#include <hox/version.h>
#include <stdio.h>
#include <string.h>

#define SET_OPTION                                                                                 \
    { "set", 0, "KEY=VALUE", "a setting over the file's: evolution.population_size=64", true }
#define PLUGIN_PATH_OPTION                                                                         \
    { "plugin-path", 0, "DIRS", "folders to look for plugins in first, with : between", true }
#define EXPERIMENT_OPTION                                                                          \
    {                                                                                              \
        "experiment", 'e', "FILE", "the experiment, where GENOME does not lie in a run's folder",  \
            false                                                                                  \
    }
#define JSON_OPTION                                                                                \
    { "json", 0, NULL, "print the result as JSON", false }
#define END_OF_OPTIONS                                                                             \
    { NULL, 0, NULL, NULL, false }

static const option run_options[] = {
    SET_OPTION,
    {"out", 'o', "DIR", "the run's folder; it must not hold anything yet", false},
    {"smoke", 0, NULL, "two small generations on a few images: does everything work?", false},
    PLUGIN_PATH_OPTION,
    JSON_OPTION,
    END_OF_OPTIONS};
static const option resume_options[] = {
    SET_OPTION,
    {"force", 'f', NULL, "even if data, plugins, machine or settings that change results differ",
     false},
    PLUGIN_PATH_OPTION,
    JSON_OPTION,
    END_OF_OPTIONS};
static const option evaluate_options[] = {
    {"split", 's', "NAME", "refine, select, monitor or test (default: test)", false},
    EXPERIMENT_OPTION,
    SET_OPTION,
    PLUGIN_PATH_OPTION,
    JSON_OPTION,
    END_OF_OPTIONS};
static const option train_options[] = {
    {"out", 'o', "FILE",
     "the file of the trained genome; new (default: genome-ID-trained.json, in this folder)",
     false},
    EXPERIMENT_OPTION,
    SET_OPTION,
    PLUGIN_PATH_OPTION,
    JSON_OPTION,
    END_OF_OPTIONS};
static const option dataset_info_options[] = {
    {"sheet", 0, "FILE", "write a contact sheet: labelled images of each class, as PNG", false},
    SET_OPTION,
    PLUGIN_PATH_OPTION,
    JSON_OPTION,
    END_OF_OPTIONS};
static const option validate_options[] = {SET_OPTION, PLUGIN_PATH_OPTION, JSON_OPTION,
                                          END_OF_OPTIONS};
static const option schema_options[] = {
    {"markdown", 0, NULL, "the reference page of all settings instead", false},
    PLUGIN_PATH_OPTION,
    END_OF_OPTIONS};
static const option plugin_options[] = {PLUGIN_PATH_OPTION, JSON_OPTION, END_OF_OPTIONS};
static const option inspect_options[] = {
    {"memory", 'm', NULL, "of a run: what was decided about memory, and on which numbers", false},
    JSON_OPTION,
    END_OF_OPTIONS};
static const option bench_options[] = {
    {"runtime", 'r', "NAME", "a runtime to time (default: eager, graph and fused)", true},
    {"images", 0, "N", "images, made up (default: 1024)", false},
    {"batch", 0, "N", "images at once (default: 128)", false},
    {"lanes", 0, "N", "genomes or chunks beside each other (default: one per core, 2 on CUDA)",
     false},
    {"rounds", 0, "N", "rounds, of which the medians are told (default: 7)", false},
    PLUGIN_PATH_OPTION,
    JSON_OPTION,
    END_OF_OPTIONS};
static const option no_options[] = {END_OF_OPTIONS};

const option common_options[] = {
    {"quiet", 'q', NULL, "no log but warnings and errors, and no progress", false},
    {"verbose", 'v', NULL, "every detail", false},
    {"log-file", 0, "FILE", "append every line of the log, with its time, to FILE", false},
    {"help", 'h', NULL, "show this help and end", false},
    END_OF_OPTIONS};

const command commands[] = {
    {"run", "FILE", 1, 1, "evolve as an experiment file says", run_options, cmd_run},
    {"resume", "RUN", 1, 1, "go on with a run that was stopped, or is to be longer", resume_options,
     cmd_resume},
    {"train", "GENOME|RUN", 1, 1, "train a genome by gradient on its experiment's data",
     train_options, cmd_train},
    {"evaluate", "GENOME|RUN", 1, 1, "measure a genome on a split of its experiment's data",
     evaluate_options, cmd_evaluate},
    {"inspect", "GENOME|RUN", 1, 1, "show what a genome, or a run's champion, is made of",
     inspect_options, cmd_inspect},
    {"bench", "GENOME|RUN...", 1, COMMAND_MOST_VALUES, "time runtimes on genomes", bench_options,
     cmd_bench},
    {"validate", "FILE", 1, 1, "check an experiment file, but not its data", validate_options,
     cmd_validate},
    {"schema", "", 0, 0, "print the JSON Schema of experiment files", schema_options, cmd_schema},
    {"dataset info", "FILE", 1, 1, "show what an experiment's dataset holds", dataset_info_options,
     cmd_dataset_info},
    {"plugins list", "", 0, 0, "list every plugin file found, and why one is refused",
     plugin_options, cmd_plugins_list},
    {"plugins info", "NAME", 1, 1, "show a plugin's options", plugin_options, cmd_plugins_info},
    {"doctor", "", 0, 0, "show what this machine offers, and what is missing", plugin_options,
     cmd_doctor},
    {"completion", "bash|zsh|fish", 1, 1, "print a completion script for a shell", no_options,
     cmd_completion},
    {NULL, NULL, 0, 0, NULL, NULL, NULL}};

// ---- what was said ----

const option *command_option(const command *c, size_t index) {
    const option *o = c->options;
    for (; o->name && index > 0; index--)
        o++;
    if (o->name) return o;
    for (o = common_options; o->name && index > 0; index--)
        o++;
    return o->name ? o : NULL;
}

const option_values *command_line_values(const command_line *line, const char *name) {
    size_t index = 0;
    for (const option *o; (o = command_option(line->command, index)); index++)
        if (strcmp(o->name, name) == 0) return &line->values[index];
    assert(!"an option of this command");
    return NULL;
}

const char *command_line_value(const command_line *line, const char *name) {
    const option_values *values = command_line_values(line, name);
    return values->count > 0 ? values->items[0] : NULL;
}

bool command_line_has(const command_line *line, const char *name) {
    return command_line_values(line, name)->count > 0;
}

int command_exit_code(hox_status status, bool is_running) {
    switch (status) {
        case HOX_OK: return EXIT_OK;
        case HOX_OUT_OF_HOST_MEMORY:
        case HOX_OUT_OF_DEVICE_MEMORY:
        case HOX_DEVICE:
        case HOX_DEVICE_LOST: return EXIT_DEVICE;
        case HOX_VERSION:
        case HOX_NOT_FOUND: return EXIT_PLUGIN;
        case HOX_BAD_OPTION:
        case HOX_CORRUPT: return EXIT_CONFIGURATION;
        case HOX_IO: return is_running ? EXIT_RUN_FAILED : EXIT_CONFIGURATION;
        default: return EXIT_RUN_FAILED;
    }
}

// ---- dispatch ----

// How many of the words argv[1] .. are the command's name; 0 = not this one. The first command of a
// family also goes by the family's name alone: hox plugins.
static int match(const command *c, int argc, char **argv) {
    const size_t first = strcspn(c->name, " ");
    if (strlen(argv[1]) != first || strncmp(c->name, argv[1], first) != 0) return 0;
    if (c->name[first] == 0) return 1;
    if (argc > 2 && strcmp(argv[2], c->name + first + 1) == 0) return 2;
    const bool is_first = c == commands || strncmp(c[-1].name, c->name, first + 1) != 0;
    return is_first && (argc == 2 || argv[2][0] == '-') ? 1 : 0;
}

static int unknown_command(int argc, char **argv) {
    char said[128];
    snprintf(said, sizeof said, "%s", argv[1]);
    for (const command *c = commands; c->name; c++) // hox plugins lst
        if (argc > 2 && strncmp(c->name, argv[1], strlen(argv[1])) == 0 &&
            c->name[strlen(argv[1])] == ' ')
            snprintf(said, sizeof said, "%.60s %.60s", argv[1], argv[2]);
    nearest search = nearest_start(said);
    for (const command *c = commands; c->name; c++)
        nearest_offer(&search, c->name);
    if (argv[1][0] == '-') {
        fprintf(stderr, "hox: options stand behind the command: hox COMMAND %s\n", argv[1]);
        return EXIT_USAGE;
    }
    fprintf(stderr, "hox: there is no command \"%s\"", said);
    if (search.best) fprintf(stderr, "; did you mean \"%s\"?", search.best);
    fputs("; \"hox --help\" lists them\n", stderr);
    return EXIT_USAGE;
}

static int run_command(const command *c, int argc, char **argv) {
    static command_line line; // some tens of kilobytes
    line = (command_line){.command = c};
    const int code = option_parse(argc, argv, &line);
    if (code >= 0) return code;
    if (command_line_has(&line, "help")) return help_command(c);
    if (line.words.count > c->most) {
        fprintf(stderr, "hox %s: unexpected word \"%s\"; a setting is changed by --set key=value\n",
                c->name, line.words.items[c->most]);
        return EXIT_USAGE;
    }
    if (line.words.count < c->least) {
        fprintf(stderr, "hox %s: expected %s; \"hox %s --help\" says more\n", c->name,
                *c->words ? c->words : "no words", c->name);
        return EXIT_USAGE;
    }
    terminal t;
    if (!terminal_open(&t, command_line_has(&line, "quiet"), command_line_has(&line, "verbose"),
                       command_line_value(&line, "log-file")))
        return EXIT_USAGE;
    const int result = c->run(&line, &t);
    terminal_close(&t);
    return result;
}

// hox help COMMAND
static int help_about(int argc, char **argv) {
    if (argc == 2) return help_all(stdout);
    for (const command *c = commands; c->name; c++)
        if (match(c, argc - 1, argv + 1) > 0) return help_command(c);
    return unknown_command(argc - 1, argv + 1);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) return help_all(stderr);
    if (strcmp(argv[1], "help") == 0) return help_about(argc, argv);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return help_all(stdout);
    if (strcmp(argv[1], "--version") == 0) {
        printf("hox %s\nPlugin contract: draft %u.\n", HOX_VERSION_TEXT, HOX_ABI_DRAFT);
        return EXIT_OK;
    }
    for (const command *c = commands; c->name; c++) {
        const int words = match(c, argc, argv);
        if (words > 0) return run_command(c, argc - words - 1, argv + words + 1);
    }
    return unknown_command(argc, argv);
}

int command_main(int argc, char **argv) {
    if (!terminal_hold_streams()) return EXIT_RUN_FAILED;
    memory_return_large_blocks();
    const int code = dispatch(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    fputs("hox: the result could not be written to standard output\n", stderr);
    return code == EXIT_OK ? EXIT_RUN_FAILED : code;
}
