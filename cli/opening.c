#include "opening.h"

#include "io/genome_json.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// Takes path as the run, if it is one.
static void take_run(opening *o, const char *path) {
    char config[PATH_MAX + 32];
    snprintf(config, sizeof config, "%s/config.resolved.json", path);
    if (access(config, R_OK) != 0 || strlen(config) >= PATH_MAX) return;
    strcpy(o->experiment_path, config);
    snprintf(o->run_path, sizeof o->run_path, "%s", path);
}

// RUN/champion/genome.json -> RUN
static void find_run_of(opening *o, const char *file) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", file);
    char *slash = strrchr(path, '/');
    snprintf(path, sizeof path, "%.*s/..", slash ? (int)(slash - path) : 1, slash ? file : ".");
    take_run(o, path);
}

int opening_open(opening *o, const char *word, terminal *t) {
    *o = (opening){0};
    char inside[PATH_MAX];
    if (is_folder(word) && snprintf(inside, PATH_MAX, "%s/genome.json", word) < PATH_MAX &&
        access(inside, R_OK) == 0) { // the champion folder of a run
        strcpy(o->genome_path, inside);
        find_run_of(o, inside);
    } else if (is_folder(word)) {
        take_run(o, word);
        if (!*o->run_path) {
            terminal_error(t, "%s: not a run's folder: it holds no config.resolved.json", word);
            return EXIT_CONFIGURATION;
        }
        if (snprintf(o->genome_path, PATH_MAX, "%s/champion/genome.json", word) >= PATH_MAX)
            return EXIT_CONFIGURATION;
        if (access(o->genome_path, F_OK) != 0) {
            terminal_error(t, "%s: this run has no champion yet", word);
            return EXIT_CONFIGURATION;
        }
    } else {
        snprintf(o->genome_path, sizeof o->genome_path, "%s", word);
        find_run_of(o, word);
    }
    hox_error error = HOX_ERROR_INIT;
    const hox_status status = genome_json_load(o->genome_path, 0, 0, &t->log, &o->genome, &error);
    if (status != HOX_OK) terminal_error(t, "%s", error.message);
    return command_exit_code(status, false);
}

void opening_close(opening *o) {
    genome_destroy(o->genome);
    o->genome = NULL;
}

int opening_find_experiment(const opening *o, const command_line *line, terminal *t,
                            const char **path) {
    *path = command_line_value(line, "experiment");
    if (*path) return EXIT_OK;
    *path = o->experiment_path;
    if (**path) return EXIT_OK;
    terminal_error(t, "%s lies in no run's folder: name its experiment with --experiment FILE",
                   o->genome_path);
    return EXIT_USAGE;
}

// A genome of other images would fail in the runtime; this says it in the user's words.
int opening_check_size(const opening *o, const hox_dataset_info *info, terminal *t) {
    const map_size size = genome_find_node(o->genome, GENOME_INPUT)->size;
    const map_size images = {info->channels, info->height, info->width};
    if (map_size_equals(size, images)) return EXIT_OK;
    terminal_error(t, "the genome takes images of %u x %u x %u, the dataset has %u x %u x %u",
                   size.channels, size.height, size.width, images.channels, images.height,
                   images.width);
    return EXIT_CONFIGURATION;
}
